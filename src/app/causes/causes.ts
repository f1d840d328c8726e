/** Everything that is wrong, as one list: what `why`, `status`, `health` and the live view read. */
import { isIll, type NodeView, type SystemHealth } from "../../cluster/index.ts";
import { type Cause, causeOf, isWell, rootCauses } from "../../daemons/index.ts";
import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/index.ts";
import { causeOfDaemon, causeOfFault, diagnose, type statusOf } from "../../surfaces/index.ts";
import type { JobView } from "../../work/index.ts";
import { configCause } from "./config-cause.ts";
import type { WorkFacts } from "./facts.ts";
import { illNodeCause } from "./job-cause.ts";
import { namedCause, namedConfig } from "./named.ts";

type Status = ReturnType<typeof statusOf>;
type DaemonRow = Status["daemons"][number];

export interface CauseSources {
  now(): number;
  /** A text in which nodes stand by their names. */
  named(text: string): string;
  /** The pipeline as it stands on disk. */
  pipeline(): PipelineSnapshot;
  /** The jobs of the stage at which a config is. */
  jobsOf(configKey: string): readonly JobView[];
  work(): WorkFacts;
  daemons(): readonly DaemonRow[];
  fault(): Status["fault"];
  status(): Status;
  openAlerts(): Readonly<Record<"critical" | "error" | "warning", number>>;
  /** All nodes. */
  nodes(): readonly NodeView[];
  /** Undefined where nobody is meant to judge it. */
  health(): SystemHealth | undefined;
}

/** So long after a start nobody need have judged the whole. */
const YOUNG_SECONDS = 30;

/** The judgement of the whole as a cause, so that nobody is well while it is not. */
function healthCause(health: SystemHealth | undefined, uptimeSeconds: number): Cause[] {
  if (health === undefined || health.status === "healthy") return [];
  const [reason = "its parts say why"] = health.reasons;
  const what = `the system is ${health.status}: ${reason}`;
  const isComing = health.parts.length === 0 && uptimeSeconds < YOUNG_SECONDS;
  const level = isComing ? "note" : health.status === "unhealthy" ? "bad" : "warn";
  const { since, score } = health;
  const advice = { action: "health", subject: "" } as const;
  return [causeOf(level, "health", "system", what, { actual: Math.round(score), required: "healthy", since, advice })];
}

/** Nodes that are meant to be there and do not do well. One that left in order is nobody's trouble. */
const illNodes = (nodes: readonly NodeView[]): Cause[] =>
  nodes
    .filter(({ state, health }) => isIll(health.condition) && state !== "left" && state !== "joined")
    .map(illNodeCause);

/** What `/health` says: never better than the causes that are known. */
export const healthWith = (health: SystemHealth, causes: readonly Cause[]) => ({
  ...health,
  status: health.status === "healthy" && !isWell(causes) ? ("degraded" as const) : health.status,
  reasons: [
    ...causes.filter(({ level, code }) => level !== "note" && code !== "health").map(({ what }) => what),
    ...health.reasons,
  ],
  causes,
});

export function createCauses(sources: CauseSources) {
  /** What keeps a unit from running: its own cause, or that of the one it waits for. */
  const unitCauses = (now: number) => {
    const rows = new Map(sources.daemons().map((row) => [row.name, row]));
    return (name: string): Cause | undefined => {
      const row = rows.get(rows.get(name)?.waits_for ?? name);
      if (row === undefined || row.state === "running" || row.state === "degraded") return undefined;
      return causeOfDaemon(row, now);
    };
  };
  const judged = (): PipelineSnapshot => {
    const found = sources.pipeline();
    const { named } = sources;
    const now = sources.now();
    const [work, unitCause, fault] = [sources.work(), unitCauses(now), causeOfFault(sources.fault(), now)];
    const withCause = (config: ConfigSnapshot): ConfigSnapshot => {
      const cause = configCause({ config, jobs: sources.jobsOf(config.config_key), work, unitCause, fault });
      return { ...config, cause: cause && namedCause(cause, named) };
    };
    return { ...found, configs: found.configs.map((config) => withCause(namedConfig(config, named))) };
  };
  /** Each root once, worst first. */
  const all = (): Cause[] => {
    const now = sources.now();
    const { critical, error, warning } = sources.openAlerts();
    const status = sources.status();
    return rootCauses([
      ...diagnose(status, now, { critical, error, warning }),
      ...judged().configs.flatMap(({ cause }) => (cause == null ? [] : [cause])),
      ...illNodes(sources.nodes()),
      ...healthCause(sources.health(), status.uptime_seconds),
    ]).map((cause) => namedCause(cause, sources.named));
  };
  return {
    /** The pipeline, and for each config why it stands still. */
    snapshot: judged,
    all,
  };
}
