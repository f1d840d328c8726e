import { sumOf } from "../../kernel/index.ts";

/** One measured gain with its 95 % interval. */
export interface MeasuredGain {
  readonly elo: number;
  readonly low: number;
  readonly high: number;
}

export interface Stability {
  /** 0 for gains that differ by no more than their intervals explain, to 1. */
  readonly volatility: number;
  readonly level: "stable" | "developing" | "volatile";
  /** How much one verdict counts, from 0.5 to 1. */
  readonly weight: number;
  readonly gates: number;
}

/** Fewer gains say nothing of how much they scatter; older ones are of another time. */
const LEAST_GAINS = 4;
const WINDOW = 10;
/** Half the width of a 95 % interval in standard errors. */
const REACH = 1.959964;
/** Scatter, and a jump from one gain to the next, that count as a whole. */
const WHOLE_SCATTER = 50;
const WHOLE_SWING = 200;
const WEIGHTS = { scatter: 0.4, swing: 0.3, turns: 0.2, falls: 0.1 } as const;
const LEVELS = { stable: 0.3, developing: 0.6 } as const;
/** The least that a verdict counts. */
const LEAST_WEIGHT = 0.5;

const share = (value: number): number => Math.min(1, Math.max(0, value));

/**
 * How steady the gains of a config are, oldest first: their scatter beyond what their intervals explain, the largest jump
 * between neighbours, how often they turn, and how many are losses for sure. Where they jump about, the next verdict may be
 * one more jump: it counts less. Undefined while there are too few.
 */
export function stabilityOf(gains: readonly MeasuredGain[]): Stability | undefined {
  const recent = gains.slice(-WINDOW);
  if (recent.length < LEAST_GAINS) return undefined;
  const errors = recent.map(({ low, high }) => Math.max(0, high - low) / 2 / REACH);
  const mean = sumOf(recent, ({ elo }) => elo) / recent.length;
  const variance = sumOf(recent, ({ elo }) => (elo - mean) ** 2) / (recent.length - 1);
  const scatter = Math.sqrt(Math.max(0, variance - sumOf(errors, (error) => error ** 2) / errors.length));
  // A difference counts as far as it is more than chance.
  const jumps = recent.slice(1).map(({ elo }, i) => {
    const change = elo - recent[i]!.elo;
    const noise = REACH * Math.hypot(errors[i]!, errors[i + 1]!);
    return Math.sign(change) * Math.max(0, Math.abs(change) - noise);
  });
  const turns = jumps.slice(1).filter((jump, i) => jump * jumps[i]! < 0).length / (jumps.length - 1);
  const falls = recent.filter(({ high }) => high < 0).length / recent.length;
  const volatility =
    WEIGHTS.scatter * share(scatter / WHOLE_SCATTER) +
    WEIGHTS.swing * share(Math.max(...jumps.map(Math.abs)) / WHOLE_SWING) +
    WEIGHTS.turns * turns +
    WEIGHTS.falls * falls;
  const over = share((volatility - LEVELS.stable) / (1 - LEVELS.stable));
  return {
    volatility,
    level: volatility < LEVELS.stable ? "stable" : volatility < LEVELS.developing ? "developing" : "volatile",
    weight: 1 - (1 - LEAST_WEIGHT) * over,
    gates: recent.length,
  };
}
