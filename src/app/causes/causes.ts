/** Everything that is wrong, as one list: what `why`, `status`, `health` and the live view read. */
import { isIll, type NodeView, type SystemHealth } from "../../cluster/index.ts";
import { type Cause, causeOf, isWell, rootCauses } from "../../daemons/index.ts";
import type { ConfigStanding, PipelineSnapshot } from "../../pipeline/index.ts";
import { causeOfDaemon, causeOfFault, diagnose, type troubleFacts } from "../../surfaces/index.ts";
import type { JobView } from "../../work/index.ts";
import { configCause } from "./config-cause.ts";
import type { WorkFacts } from "./facts.ts";
import { illNodeCause } from "./job-cause.ts";
import { namedCause, namedStanding, namedSuspects } from "./named.ts";

type DaemonRow = ReturnType<typeof troubleFacts>["daemons"][number];

export interface CauseSources {
  now(): number;
  /** A text in which nodes stand by their names. */
  named(text: string): string;
  /** The pipeline as it stands on disk: all configs, or the one that is named. */
  pipeline(only?: string): PipelineSnapshot;
  /** Where every config stands, without its history. */
  standings(): readonly ConfigStanding[];
  /** The jobs of the stage at which a config is. */
  jobsOf(configKey: string): readonly JobView[];
  work(): WorkFacts;
  daemons(): readonly DaemonRow[];
  fault(): ReturnType<typeof troubleFacts>["fault"];
  troubles(): ReturnType<typeof troubleFacts>;
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

/** What `/health` says: never better than the causes that are known, and since they are there. */
export function healthWith(health: SystemHealth, causes: readonly Cause[]) {
  const troubles = causes.filter(({ level, code }) => level !== "note" && code !== "health");
  const isWorse = health.status === "healthy" && !isWell(causes);
  const times = troubles.flatMap(({ since }) => since ?? []);
  return {
    ...health,
    ...(isWorse ? { status: "degraded" as const, since: times.length === 0 ? null : Math.min(...times) } : {}),
    reasons: [...troubles.map(({ what }) => what), ...health.reasons],
    causes,
  };
}

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
  /** Why a config stands still, said with the names that people use. */
  const judge = () => {
    const { named } = sources;
    const now = sources.now();
    const [work, unitCause, fault] = [sources.work(), unitCauses(now), causeOfFault(sources.fault(), now)];
    return (given: ConfigStanding): ReturnType<typeof namedStanding> & { readonly cause: Cause | null } => {
      const config = namedStanding(given, named);
      const cause = configCause({ config, jobs: sources.jobsOf(config.config_key), work, unitCause, fault });
      return { ...config, cause: cause && namedCause(cause, named) };
    };
  };
  const snapshot = (only?: string): PipelineSnapshot => {
    const found = sources.pipeline(only);
    const judged = judge();
    const configs = found.configs.map((config) => ({
      ...config,
      ...judged(config),
      suspects: namedSuspects(config.suspects, sources.named),
    }));
    return { ...found, configs };
  };
  const causesOf = (standings: readonly ConfigStanding[]): Cause[] => {
    if (standings.length === 0) return [];
    const judged = judge();
    return standings.flatMap((standing) => judged(standing).cause ?? []);
  };
  /** Each root once, worst first. */
  const all = (): Cause[] => {
    const now = sources.now();
    const { critical, error, warning } = sources.openAlerts();
    const facts = sources.troubles();
    return rootCauses([
      ...diagnose(facts, now, { critical, error, warning }),
      ...causesOf(sources.standings()),
      ...illNodes(sources.nodes()),
      ...healthCause(sources.health(), facts.uptime_seconds),
    ]).map((cause) => namedCause(cause, sources.named));
  };
  return {
    /** The pipeline, and for each config why it stands still. */
    snapshot,
    all,
  };
}
