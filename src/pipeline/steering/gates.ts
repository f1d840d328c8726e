/** The gates of a config as steering reads them. They follow from plan, iteration and content: every run of a seed sees the same. */
import type { Store } from "../../router/index.ts";
import { gateVerdicts } from "../evaluation/index.ts";
import { judgeGrowth, type MeasuredGrowth, type TrendVerdict } from "../statistics/index.ts";
import { TREND_WINDOW } from "./limits.ts";

/** A measured value as people know it, and when it was measured (milliseconds). */
export interface Measured {
  readonly iteration: number;
  readonly value: number;
  /** Standard error; 0 where nobody knows it. */
  readonly error: number;
  readonly at: number;
}

/** What steering reads of a gate. */
export interface GateWord {
  readonly iteration: number;
  readonly attempt: number;
  readonly candidate: string;
  readonly opponent: string;
  readonly verdict: "promote" | "reject" | "inconclusive";
  readonly elo: number;
  readonly elo_low: number;
  readonly elo_high: number;
  /** The gain that the gate was to tell from none. */
  readonly elo1: number;
  readonly games: number;
  readonly at: number;
}

/** Half the width of a 95 % interval in standard errors. */
const REACH = 1.959964;
/** No gate is surer than this, in Elo. */
const LEAST_ERROR = 1;

/** The last word on each iteration, oldest first: a stage that was tried again has said it twice. */
export const oneAnIteration = <T extends { readonly iteration: number; readonly attempt: number }>(
  all: readonly T[],
): T[] => {
  const last = new Map<number, T>();
  for (const each of all) {
    const known = last.get(each.iteration);
    if (known === undefined || known.attempt < each.attempt) last.set(each.iteration, each);
  }
  return [...last.values()].sort((a, b) => a.iteration - b.iteration);
};

/** A gate that has numbers. Gates follow from plan, iteration and content, so that every run of a seed sees the same. */
const readable = (gates: readonly GateWord[]): GateWord[] =>
  oneAnIteration(gates).filter(({ elo, elo_low, elo_high }) => [elo, elo_low, elo_high].every(Number.isFinite));
const errorOf = ({ elo_low, elo_high }: GateWord): number => Math.max(LEAST_ERROR, (elo_high - elo_low) / (2 * REACH));

/** How strong the candidates were, one after the other: each by its own gate, upon what the champions before it gained. */
export function strengths(gates: readonly GateWord[]): Measured[] {
  let champion = 0;
  return readable(gates).map((gate) => {
    const { iteration, verdict, elo, at } = gate;
    const measured = { iteration, value: champion + elo, error: errorOf(gate), at };
    if (verdict === "promote") champion += elo;
    return measured;
  });
}

/**
 * What each candidate gained, and over how many iterations: since its champion was the candidate. One that no gate knows is the first, or came
 * by hand: it counts as old as the last promotion before it, or the beginning.
 */
function growthIn(gates: readonly GateWord[]): MeasuredGrowth[] {
  const made = new Map<string, number>();
  let last = 0;
  return readable(gates).flatMap((gate) => {
    const { iteration, candidate, opponent, verdict, elo } = gate;
    if (!made.has(opponent)) made.set(opponent, last);
    const lag = iteration - made.get(opponent)!;
    const kept = verdict === "promote";
    made.set(candidate, iteration);
    if (kept) last = iteration;
    return lag > 0 ? [{ lag, gain: elo, error: errorOf(gate), kept }] : [];
  });
}

/** Candidates that gain less than this an iteration stand still: it is what 12 gates can tell from nothing. */
const LEAST_ELO = 8;

/** Whether candidates get stronger; undefined before four gates have ended. */
export const growthOf = (gates: readonly GateWord[]): TrendVerdict | undefined =>
  judgeGrowth(growthIn(gates), { window: TREND_WINDOW, least: LEAST_ELO, confidence: 0.95 });

export type GateStrength = "strong" | "weak" | "even";

/** What steering makes of one gate, as it was when the gate ended. */
export interface JudgedGate {
  readonly iteration: number;
  readonly at: number;
  /** Strong: promoted, with at least the gain that it was to tell. Weak: rejected. */
  readonly strength: GateStrength;
  /** Weak gates in a row, up to this one. */
  readonly weakInARow: number;
  /** Whether the config stood on a plateau. */
  readonly isPlateau: boolean;
  /** Plateaus that were found up to this one: each moves the config to a harder tier. */
  readonly tier: number;
  readonly candidate: string;
  readonly isPromoted: boolean;
  readonly elo: number;
  readonly games: number;
}

/** Every gate as it was judged in its time: what comes later changes no word on what was before. Oldest first. */
export function judgeGates(gates: readonly GateWord[]): JudgedGate[] {
  const all = readable(gates);
  let [weakInARow, tier, wasPlateau] = [0, 0, false];
  return all.map((gate, n) => {
    const { iteration, at, verdict, elo, elo1, candidate, games } = gate;
    const strength = verdict === "promote" ? (elo >= elo1 ? "strong" : "even") : verdict === "reject" ? "weak" : "even";
    weakInARow = strength === "weak" ? weakInARow + 1 : verdict === "promote" ? 0 : weakInARow;
    const isPlateau = growthOf(all.slice(0, n + 1))?.plateau === true;
    if (isPlateau && !wasPlateau) tier += 1;
    wasPlateau = isPlateau;
    const isPromoted = verdict === "promote";
    return { iteration, at, strength, weakInARow, isPlateau, tier, candidate, isPromoted, elo, games };
  });
}

/** Gates that steering looks back on. */
const GATES_READ = 200;

/** The gates of a config before an iteration, as far as steering looks back. */
export const gatesBefore = (
  store: Pick<Store, "read">,
  configKey: string,
  iteration = Number.POSITIVE_INFINITY,
): GateWord[] =>
  gateVerdicts(store, configKey, GATES_READ)
    .filter((gate) => gate.iteration < iteration)
    .reverse();
