/** Which network architecture deserves the next runs, by the gates that its candidates went through. */
import type { TrainingTuning } from "../stage/index.ts";
import type { GateWord } from "./gates.ts";
import { ARCHITECTURE_GATES } from "./limits.ts";

/** The architecture of the plan, as people read it. */
const OF_PLAN = "plan";

export interface ArchitectureVerdict {
  /** Share of the work that each should have; they add up to 1. Empty while there is only one. */
  readonly weights: { readonly [architecture: string]: number };
  /** Of the iteration that was asked for. */
  readonly architecture: string;
  /** Whether the line of training goes back to the champion in this very iteration. */
  readonly back: boolean;
}

/** An architecture with less than this part of an equal share is left out of the next search. */
const LEAST_PART = 0.9;

/**
 * The shapes that the next search tries: not those whose candidates went through gates and came to less than the others. Two are always left, since
 * a search over one shape finds nothing.
 */
export function shapesToTry<T>(
  shapes: { readonly [name: string]: T },
  weights: { readonly [architecture: string]: number } = {},
): { readonly [name: string]: T } {
  const equal = 1 / Math.max(1, Object.keys(weights).length);
  const kept = Object.entries(shapes).filter(([name]) => (weights[name] ?? equal) >= LEAST_PART * equal);
  return kept.length < 2 ? shapes : Object.fromEntries(kept);
}

/** Gates without a gain that an architecture is taken to have had before its first. */
const PRIOR_GATES = 2;
/** A mean gain of so many Elo makes e times the weight. */
const SCALE = 100;

/**
 * What gates say of the architectures up to an iteration. A network that a search found is tried for some gates. If none of its candidates becomes
 * champion, the line goes back to the champion. It follows from the gates before the iteration alone: each run of a seed sees the same.
 */
export function judgeArchitectures(
  tuning: TrainingTuning | undefined,
  gates: readonly GateWord[],
  iteration: number,
): ArchitectureVerdict {
  const starts = (tuning?.steps ?? []).flatMap(({ start, from_iteration }) =>
    start !== null && from_iteration <= iteration ? [{ name: start.architecture, from: from_iteration }] : [],
  );
  const seen = new Map<string, { sum: number; gates: number }>([[OF_PLAN, { sum: 0, gates: 0 }]]);
  // What is kept is the architecture of the champion; what is tried may be another.
  let [kept, tried, failed, back] = [OF_PLAN, OF_PLAN, 0, false];
  const first = Math.min(iteration, ...gates.map((gate) => gate.iteration), ...starts.map(({ from }) => from));
  for (let at = first; at <= iteration; at += 1) {
    const start = starts.findLast(({ from }) => from === at);
    if (start !== undefined) [tried, failed] = [start.name, 0];
    back = tried !== kept && failed >= ARCHITECTURE_GATES;
    if (back) [tried, failed] = [kept, 0];
    const own = seen.get(tried) ?? { sum: 0, gates: 0 };
    const gate = at < iteration ? gates.findLast((each) => each.iteration === at) : undefined;
    seen.set(tried, gate === undefined ? own : { sum: own.sum + gate.elo, gates: own.gates + 1 });
    if (gate === undefined) continue;
    if (gate.verdict === "promote") [kept, failed] = [tried, 0];
    else failed += 1;
  }
  if (starts.length === 0) return { weights: {}, architecture: tried, back };
  const marks = [...seen].map(
    ([name, { sum, gates: count }]) => [name, Math.exp(sum / (count + PRIOR_GATES) / SCALE)] as const,
  );
  const total = marks.reduce((all, [, mark]) => all + mark, 0);
  return { weights: Object.fromEntries(marks.map(([name, mark]) => [name, mark / total])), architecture: tried, back };
}
