/**
 * Where everything lies in the one flat array of a network's weights.
 *
 * A network is: n-tuple tables summed into a first hidden layer, a second hidden layer, a policy over the moves, and a
 * value for each seat counted from the mover. Looking up a row for each tuple replaces the multiplication of a large
 * sparse input: a position touches a few dozen rows out of many thousands.
 */
import type { Game } from "../games/game.ts";

export interface NetworkShape {
  readonly configKey: string;
  readonly cells: number;
  readonly codes: number;
  readonly moves: number;
  readonly players: number;
  readonly tuples: readonly (readonly number[])[];
  /** The row of each content of a tuple, where contents share rows. */
  readonly sharedRows?: Int32Array;
  /** Widths of the two hidden layers, multiples of 8. */
  readonly wide: number;
  readonly narrow: number;
}

export const DEFAULT_WIDE = 48;
export const DEFAULT_NARROW = 32;

export const shapeOf = (game: Game, wide = DEFAULT_WIDE, narrow = DEFAULT_NARROW): NetworkShape => ({
  configKey: game.configKey,
  cells: game.cells,
  codes: game.codes,
  moves: game.moves,
  players: game.players,
  tuples: game.tuples,
  ...(game.sharedRows ? { sharedRows: game.sharedRows } : {}),
  wide,
  narrow,
});

export function layoutOf(shape: NetworkShape) {
  const tupleStarts = new Int32Array(shape.tuples.length + 1);
  const tupleRows = new Int32Array(shape.tuples.length + 1);
  const sharedCount = shape.sharedRows?.reduce((max, row) => Math.max(max, row + 1), 0);
  shape.tuples.forEach((tuple, i) => {
    tupleStarts[i + 1] = tupleStarts[i]! + tuple.length;
    tupleRows[i + 1] = tupleRows[i]! + (sharedCount ?? tuple.reduce((rows) => rows * shape.codes, 1));
  });
  const rows = tupleRows[shape.tuples.length]! + shape.cells + 1;
  const wideBias = rows * shape.wide;
  const narrowWeights = wideBias + shape.wide;
  const narrowBias = narrowWeights + shape.wide * shape.narrow;
  const policyWeights = narrowBias + shape.narrow;
  const policyBias = policyWeights + shape.moves * shape.narrow;
  const valueWeights = policyBias + shape.moves;
  const valueBias = valueWeights + shape.players * shape.narrow;
  return {
    shape,
    /** Rows looked up for a position: one for each tuple, and one for how full the board is. */
    inputs: shape.tuples.length + 1,
    rows,
    /** Offsets into the weights. Tables come first; everything behind them is dense. */
    wideBias,
    narrowWeights,
    narrowBias,
    policyWeights,
    policyBias,
    valueWeights,
    valueBias,
    length: valueBias + shape.players,
    /** The cells of all tuples on end, where each tuple starts in that list, and its first row. */
    tupleCells: Int32Array.from(shape.tuples.flat()),
    tupleStarts,
    tupleRows,
  };
}

export type Layout = Readonly<ReturnType<typeof layoutOf>>;
