/**
 * Whether a training run may start, as a pure function of what is known. Each gate says what is there and what it asks for.
 * A gate that only time can open has the run wait; one that nothing in this iteration can open has the round go on without a
 * run, so that new games get their chance.
 */
import type { Wait } from "../../../stage/index.ts";
import { GATE_POLICY } from "../../limits.ts";

export interface GateFacts {
  readonly now: number;
  /** Since when the stage is at this attempt. */
  readonly stageSince: number;
  /** Rows of the window that the run would see. */
  readonly rows: number;
  readonly leastRows: number;
  /** Null while the data was never scored. */
  readonly quality: { readonly score: number; readonly band: string } | null;
  /** Whether somebody scores this config's data at all. */
  readonly isScored: boolean;
  /** Segments of this iteration whose games were not replayed. */
  readonly uncheckedSegments: number;
  readonly allowPending: boolean;
  /** Milliseconds since the newest file of the window was made; null if there is none. */
  readonly dataAgeMs: number | null;
  /** What the best of the nodes that train lacks of the window; null if one of them has it all. */
  readonly lag: {
    readonly state: "stale" | "relaxed";
    readonly node: string;
    readonly missing: number;
    readonly wanted: number;
  } | null;
  /** Evaluation holds training back. */
  readonly pressure: { readonly on: boolean; readonly depth: number } | null;
  /** Failures of the stage in a row. */
  readonly failuresInARow: number;
  /** The undertaking that holds the config's lock; null if it is free. */
  readonly running: string | null;
  /** Whether gates have been read for the architecture of this iteration; missing where there is only one. */
  readonly architecture?: { readonly judged: boolean };
}

export type GateName =
  | "rows"
  | "quality"
  | "parity"
  | "data_age"
  | "node_data"
  | "evaluation_pressure"
  | "breaker"
  | "no_other_run"
  | "architecture";

export type GateResult = {
  readonly gate: GateName;
  readonly passed: boolean;
  readonly actual: string | number;
  readonly required: string | number;
  /** What becomes of the run when it does not pass. */
  readonly otherwise: "wait" | "skip";
};

export interface GateVerdict {
  readonly verdict: "go" | "wait" | "skip";
  readonly gates: readonly GateResult[];
}

/** How long the stage has been at it. */
const waitedMs = ({ now, stageSince }: GateFacts): number => now - stageSince;
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

function qualityGate(facts: GateFacts): GateResult {
  const { quality, isScored } = facts;
  const otherwise = waitedMs(facts) >= GATE_POLICY.qualityPatienceMs ? "skip" : "wait";
  const required = GATE_POLICY.minQuality;
  if (quality === null)
    return {
      gate: "quality",
      passed: !isScored,
      actual: isScored ? "not scored yet" : "nobody scores it",
      required,
      otherwise,
    };
  return { gate: "quality", passed: quality.score >= required, actual: quality.score, required, otherwise };
}

function ageGate(facts: GateFacts): GateResult {
  const { dataAgeMs } = facts;
  const patience = waitedMs(facts) >= GATE_POLICY.stalePatienceMs;
  const fresh = dataAgeMs === null || dataAgeMs <= GATE_POLICY.maxDataAgeMs;
  const told = dataAgeMs === null ? "unknown" : seconds(dataAgeMs);
  return {
    gate: "data_age",
    passed: fresh || patience,
    actual: !fresh && patience ? `${told}; nothing newer came in ${seconds(GATE_POLICY.stalePatienceMs)}` : told,
    required: `at most ${seconds(GATE_POLICY.maxDataAgeMs)}`,
    otherwise: "wait",
  };
}

function nodeDataGate({ lag }: GateFacts): GateResult {
  const lacks = lag && `${lag.node} lacks ${lag.missing} of ${lag.wanted} files`;
  return {
    gate: "node_data",
    passed: lag?.state !== "stale",
    actual:
      lacks === null ? "all there" : lag?.state === "relaxed" ? `${lacks}; it fetches them when it begins` : lacks,
    required: "all files of the window at a node that trains",
    otherwise: "wait",
  };
}

/** Which network is trained follows from the gates before this iteration. Where nobody reads them, it stays the one of now. */
function architectureGate(facts: GateFacts): GateResult[] {
  const { architecture } = facts;
  if (architecture === undefined) return [];
  const patience = waitedMs(facts) >= GATE_POLICY.architecturePatienceMs;
  return [
    {
      gate: "architecture",
      passed: architecture.judged || patience,
      actual: architecture.judged ? "chosen" : "not chosen yet",
      required: "chosen by the gates before it",
      otherwise: "wait",
    },
  ];
}

export function judgeGates(facts: GateFacts): GateVerdict {
  const { rows, leastRows, uncheckedSegments, allowPending, pressure, failuresInARow, running } = facts;
  const gates: GateResult[] = [
    { gate: "rows", passed: rows >= leastRows, actual: rows, required: leastRows, otherwise: "skip" },
    qualityGate(facts),
    {
      gate: "parity",
      passed: uncheckedSegments === 0 || allowPending,
      actual: uncheckedSegments === 0 ? "all checked" : `${uncheckedSegments} segments are not checked`,
      required: allowPending ? "any, as RINGRIFT_ALLOW_PENDING_GATE is set" : "all checked",
      otherwise: waitedMs(facts) >= GATE_POLICY.qualityPatienceMs ? "skip" : "wait",
    },
    ageGate(facts),
    nodeDataGate(facts),
    {
      gate: "evaluation_pressure",
      passed: pressure?.on !== true,
      actual: pressure?.depth ?? 0,
      required: pressure?.on === true ? "fewer evaluation jobs under way" : "no pressure",
      otherwise: "wait",
    },
    // While the breaker is open it is not this stage's turn; what gets here is its trial.
    {
      gate: "breaker",
      passed: true,
      actual: `${failuresInARow} failures in a row`,
      required: "not open",
      otherwise: "wait",
    },
    {
      gate: "no_other_run",
      passed: running === null,
      actual: running ?? "none",
      required: "none",
      otherwise: "wait",
    },
    ...architectureGate(facts),
  ];
  const closed = gates.filter(({ passed }) => !passed);
  const verdict = closed.length === 0 ? "go" : closed.some(({ otherwise }) => otherwise === "skip") ? "skip" : "wait";
  return { verdict, gates };
}

/** The closed gates, as `why` prints them. */
export const waitsOf = (gates: readonly GateResult[]): Omit<Wait, "since">[] =>
  gates.filter(({ passed }) => !passed).map(({ gate, actual, required }) => ({ for: gate, actual, required }));

/** Runs that are looked at to see whether training still learns anything. */
export const STILL_RUNS = 12;
/** A best loss that is lower by less than this part is none. */
const LEAST_GAIN = 0.01;

/** Why training learns nothing more from its games, by the losses of its last runs, oldest first; undefined while it does, or too few are known. */
export function standsStill(losses: readonly (number | null)[]): string | undefined {
  const known = losses.filter((loss): loss is number => loss !== null && Number.isFinite(loss) && loss > 0);
  if (known.length < STILL_RUNS) return undefined;
  const last = known.slice(-STILL_RUNS);
  const [before, after] = [Math.min(...last.slice(0, STILL_RUNS / 2)), Math.min(...last.slice(STILL_RUNS / 2))];
  if (after < (1 - LEAST_GAIN) * before) return undefined;
  return `the best loss of the last ${STILL_RUNS / 2} runs is ${after.toPrecision(4)}, and of those before them ${before.toPrecision(4)}`;
}
