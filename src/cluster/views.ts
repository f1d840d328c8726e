/** What `/health` says: the last judgement, and never more than it is worth. Times are milliseconds since the epoch. */
import type { DaemonManager, UnitRuntime } from "../daemons/index.ts";
import { OperatingError } from "../kernel/index.ts";
import { createWriteSet, defineTable, type Store } from "../router/index.ts";
import type { ComponentVerdict } from "./health/components.ts";
import type { Gate, SystemStatus } from "./health/gates.ts";
import type { RecoveryCounts } from "./health/health-rows.ts";
import type { HealthPart } from "./health/score.ts";

export interface SystemHealth {
  readonly status: SystemStatus;
  readonly score: number;
  /** Jobs are handed out: what health finds is told, and stops nobody. */
  readonly accepts_new_work: true;
  readonly reasons: readonly string[];
  readonly parts: readonly HealthPart[];
  readonly components: readonly Omit<ComponentVerdict, "critical" | "bad" | "because">[];
  readonly recoveries: RecoveryCounts;
  /** Since when its status is what it is. */
  readonly since: number | null;
}

/** A judgement as it is stored. */
export interface StoredVerdict extends Omit<SystemHealth, "since"> {
  readonly since: number;
  /** Milliseconds since the epoch, like all that follows. */
  readonly judged_at: number;
  readonly gates: readonly Gate[];
  /** The status that operators were told, and since when it has been better than that. */
  readonly told_status: SystemHealth["status"];
  readonly better_since: number | null;
  /** Components that operators were told are bad. */
  readonly told_components: readonly string[];
  /** Whether a person was called since it is unhealthy. */
  readonly escalated: boolean;
}

/** Under the key `system`. */
// biome-ignore lint/suspicious/noExplicitAny: its JSON is the verdict; the index signature that Json asks for would hide its fields.
export const verdicts = defineTable<any>("health_verdict");

/** A judgement older than this says nothing: whoever should have renewed it is dead. */
const VERDICT_GOOD_FOR_MS = 120_000;

export const storedVerdict = (store: Pick<Store, "read">): StoredVerdict | undefined =>
  createWriteSet(store).get(verdicts, "system") as StoredVerdict | undefined;

const unjudged = (reason: string): SystemHealth => ({
  status: "unhealthy",
  score: 0,
  accepts_new_work: true,
  reasons: [reason],
  parts: [],
  components: [],
  recoveries: { succeeded: 0, failed: 0, under_way: 0 },
  since: null,
});

/** The health of the system, from rows alone. A judge that died does not leave a good word behind. */
export function systemHealth(store: Pick<Store, "read">, now: number): SystemHealth {
  const verdict = storedVerdict(store);
  if (verdict === undefined) return unjudged("nobody has judged the health of the system yet");
  const ageMs = now - verdict.judged_at;
  const { status, score, reasons, parts, recoveries, since } = verdict;
  // As it is stored, the time of an error is in seconds.
  const components = verdict.components.map(({ last_error_at: at, ...component }) => ({
    ...component,
    last_error_at: at === null ? null : Math.round(at * 1_000),
  }));
  const shown = { status, score, accepts_new_work: true, reasons, parts, components, recoveries, since } as const;
  if (ageMs <= VERDICT_GOOD_FOR_MS) return shown;
  const reason = `health was last judged ${Math.round(ageMs / 1_000)} s ago: health_manager does not do its work`;
  return { ...shown, status: "unhealthy", score: 0, reasons: [reason, ...reasons] };
}

/** The health of the system, where there is somebody to judge it. Where nobody is meant to, silence is no bad sign. */
export function judgedHealth(
  store: Store,
  now: number,
  units: Pick<UnitRuntime, "outcomes">,
  daemons: Pick<DaemonManager, "isRunning">,
): SystemHealth {
  const isMeant = units.outcomes().some(({ name }) => name === "health_manager");
  if (!isMeant && !daemons.isRunning("health_manager"))
    throw OperatingError.notFound("HEALTH_NOT_FOUND", "this process does not check the health of the system", {
      hint: "health_manager does, in the profile coordinator. 'ringrift status' shows the state of this process.",
    });
  return systemHealth(store, now);
}

/** The chain of conditions behind the verdict, for `ringrift why`. */
export const healthGates = (store: Pick<Store, "read">): readonly Gate[] => storedVerdict(store)?.gates ?? [];
