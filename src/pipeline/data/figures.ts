import { sumOf } from "../../kernel/index.ts";
import type { Evidence } from "../../work/index.ts";
import { type Sums, sumsOf } from "../statistics/index.ts";

/** What a validation job found in one segment. What its workload does not measure is null. */
export type Figures = {
  readonly games: number;
  readonly rows: number;
  /** Games that were played again, and those of them that came out otherwise. */
  readonly parity_checked: number;
  readonly parity_failed: number;
  /** Rows that contradict their game, and games that break the rules. */
  readonly label_errors: number;
  readonly illegal_games: number;
  /** Games won by each seat; drawn ones last. */
  readonly outcomes: readonly number[];
  readonly plies: Sums | null;
  readonly positions: { readonly total: number; readonly repeated: number } | null;
  /** Of the policy targets, in nats, summed over rows. */
  readonly entropy_sum: number | null;
  /** Real less predicted score, once for each game. */
  readonly surprises: Sums | null;
};

const MAX_SEATS = 8;

/** Whole numbers come as counts and others beside them; which is which depends on the value. */
export function figuresOf(evidence: Evidence): Figures {
  const at = (name: string): number | undefined => {
    const found = evidence.counts[name] ?? evidence.summary?.[name];
    return typeof found === "number" && Number.isFinite(found) ? found : undefined;
  };
  const count = (name: string): number => Math.max(0, Math.trunc(at(name) ?? 0));
  const games = count("games");
  const [plies, pliesSquares] = [at("plies_sum"), at("plies_squares")];
  const [surprise, surpriseSquares] = [at("surprise_sum"), at("surprise_squares")];
  const positions = count("positions_total");
  const outcomes: number[] = [];
  for (let seat = 0; seat <= MAX_SEATS && at(`outcome_${seat}`) !== undefined; seat += 1)
    outcomes.push(count(`outcome_${seat}`));
  return {
    games,
    rows: count("rows"),
    parity_checked: count("parity_checked"),
    parity_failed: count("parity_failed"),
    label_errors: count("label_errors"),
    illegal_games: count("illegal_games"),
    outcomes,
    plies:
      plies === undefined || pliesSquares === undefined
        ? null
        : { count: sumOf(outcomes) || games, sum: plies, squares: pliesSquares },
    positions:
      positions === 0 ? null : { total: positions, repeated: Math.min(positions, count("positions_repeated")) },
    entropy_sum: at("entropy_sum") ?? null,
    surprises:
      surprise === undefined || surpriseSquares === undefined
        ? null
        : { count: count("surprise_count"), sum: surprise, squares: surpriseSquares },
  };
}

const addSums = (a: Sums | null, b: Sums | null): Sums | null => (a === null || b === null ? (a ?? b) : sumsOf([a, b]));

/** The figures of several segments as of one. */
export function addFigures(all: readonly Figures[]): Figures | undefined {
  const [first, ...rest] = all;
  if (first === undefined) return undefined;
  return rest.reduce<Figures>((sum, one) => {
    const seats = Math.max(sum.outcomes.length, one.outcomes.length);
    const [a, b] = [sum.positions, one.positions];
    return {
      games: sum.games + one.games,
      rows: sum.rows + one.rows,
      parity_checked: sum.parity_checked + one.parity_checked,
      parity_failed: sum.parity_failed + one.parity_failed,
      label_errors: sum.label_errors + one.label_errors,
      illegal_games: sum.illegal_games + one.illegal_games,
      outcomes: Array.from({ length: seats }, (_, seat) => (sum.outcomes[seat] ?? 0) + (one.outcomes[seat] ?? 0)),
      plies: addSums(sum.plies, one.plies),
      positions: a === null || b === null ? (a ?? b) : { total: a.total + b.total, repeated: a.repeated + b.repeated },
      entropy_sum:
        sum.entropy_sum === null || one.entropy_sum === null
          ? (sum.entropy_sum ?? one.entropy_sum)
          : sum.entropy_sum + one.entropy_sum,
      surprises: addSums(sum.surprises, one.surprises),
    };
  }, first);
}
