import { type Game, type State, TURN } from "../games/game.ts";
import { createForward, type Network } from "../net/network.ts";
import { exp } from "../numerics/exp-log.ts";

/** What a search asks of a leaf: how good each legal move looks, and what each seat may expect. */
export interface Evaluator {
  /** Writes the priors of the given moves from `offset` on, and the expected share of each seat; both sum to 1. */
  evaluate(
    state: State,
    moves: Int32Array,
    count: number,
    priors: Float32Array,
    offset: number,
    values: Float64Array,
  ): void;
}

/** Turns the first `count` logits into shares that sum to 1. */
function softmax(logits: Float64Array, count: number): void {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i += 1) if (logits[i]! > largest) largest = logits[i]!;
  let sum = 0;
  for (let i = 0; i < count; i += 1) {
    const weight = exp(logits[i]! - largest);
    logits[i] = weight;
    sum += weight;
  }
  for (let i = 0; i < count; i += 1) logits[i] = logits[i]! / sum;
}

/** Asks a network; reads its weights afresh each time, so a trainer may change them in between. */
export function networkEvaluator(game: Game, network: Network): Evaluator {
  const forward = createForward(network);
  const codes = new Uint8Array(game.cells);
  const logits = new Float64Array(Math.max(game.moves, game.players));
  const { players } = game;
  return {
    evaluate(state, moves, count, priors, offset, values) {
      const turn = state[TURN]!;
      const view = game.views[turn]!;
      game.encode(state, codes, 0);
      forward.run(codes, 0);
      for (let i = 0; i < count; i += 1) logits[i] = forward.policyLogit(view[moves[i]!]!);
      softmax(logits, count);
      for (let i = 0; i < count; i += 1) priors[offset + i] = logits[i]!;
      for (let k = 0; k < players; k += 1) logits[k] = forward.valueLogit(k);
      softmax(logits, players);
      for (let k = 0; k < players; k += 1) values[turn + k < players ? turn + k : turn + k - players] = logits[k]!;
    },
  };
}
