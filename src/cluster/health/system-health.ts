/** What `/health` says: the last judgement, and never more than it is worth. */
import { createWriteSet, defineTable, type Store } from "../../router/index.ts";
import type { Gate } from "./pause.ts";
import type { HealthPart } from "./score.ts";

export interface SystemHealth {
  readonly status: "healthy" | "degraded" | "unhealthy";
  readonly score: number;
  readonly accepts_new_work: boolean;
  readonly reasons: readonly string[];
  readonly parts: readonly HealthPart[];
  readonly components: readonly {
    readonly component: string;
    readonly breaker: "closed" | "open" | "half_open";
    readonly errors: number;
    readonly last_error: string | null;
    /** Unix seconds. */
    readonly last_error_at: number | null;
  }[];
  readonly recoveries: { readonly succeeded: number; readonly failed: number; readonly under_way: number };
  /** Since when it accepts new work or does not, in Unix seconds. */
  readonly since: number | null;
}

/** A judgement as it is stored. */
export interface StoredVerdict extends Omit<SystemHealth, "since"> {
  readonly since: number;
  /** Milliseconds since the epoch, like all that follows. */
  readonly judged_at: number;
  readonly well_since: number | null;
  readonly gates: readonly Gate[];
  /** The status that operators were told, and since when it has been better than that. */
  readonly told_status: SystemHealth["status"];
  readonly better_since: number | null;
  /** Components that operators were told are bad. */
  readonly told_components: readonly string[];
  /** Whether a person was called since work was paused. */
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
  accepts_new_work: false,
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
  const { status, score, accepts_new_work, reasons, parts, components, recoveries, since } = verdict;
  const told = { status, score, accepts_new_work, reasons, parts, components, recoveries, since: since / 1_000 };
  if (ageMs <= VERDICT_GOOD_FOR_MS) return told;
  const reason = `health was last judged ${Math.round(ageMs / 1_000)} s ago: health_manager does not do its work`;
  return { ...told, status: "unhealthy", score: 0, accepts_new_work: false, reasons: [reason, ...reasons] };
}

/** The chain of conditions behind the verdict, for `ringrift why`. */
export const healthGates = (store: Pick<Store, "read">): readonly Gate[] => storedVerdict(store)?.gates ?? [];
