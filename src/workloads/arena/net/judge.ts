import type { Symmetry } from "../games/game.ts";
import { exp, log } from "../numerics/exp-log.ts";
import { createForward, type Network } from "./network.ts";
import type { Samples } from "./samples.ts";

export interface Targets {
  /** The share of the search's own expectation in the value target; the rest is the outcome of the game. */
  readonly searchShare: number;
  /** How much the value loss counts beside the policy loss. */
  readonly valueWeight: number;
}

/** Compares what a network says of a row with what it should: leaves the errors of its outputs, and sums the losses. */
export function createJudge(network: Network, config: Targets) {
  const { cells, moves, players } = network.layout.shape;
  const forward = createForward(network);
  const codes = new Uint8Array(cells);
  const policyDelta = new Float64Array(moves);
  const valueDelta = new Float64Array(players);
  const lossSums = new Float64Array(2);

  /** Runs one row forward through a symmetry; leaves the output errors and adds to the loss sums. */
  const judge = (samples: Samples, row: number, symmetry: Symmetry): void => {
    const board = row * cells;
    for (let i = 0; i < cells; i += 1) codes[symmetry.cells[i]!] = samples.codes[board + i]!;
    forward.run(codes, 0);

    const at = row * moves;
    let largest = Number.NEGATIVE_INFINITY;
    for (let m = 0; m < moves; m += 1) {
      if (samples.legal[at + m]! === 0) continue;
      const logit = forward.policyLogit(symmetry.moves[m]!);
      policyDelta[symmetry.moves[m]!] = logit;
      if (logit > largest) largest = logit;
    }
    let sum = 0;
    for (let m = 0; m < moves; m += 1)
      if (samples.legal[at + m]! !== 0) sum += exp(policyDelta[symmetry.moves[m]!]! - largest);
    const logSum = largest + log(sum);
    let loss = 0;
    for (let m = 0; m < moves; m += 1) {
      const to = symmetry.moves[m]!;
      if (samples.legal[at + m]! === 0) {
        policyDelta[to] = 0;
        continue;
      }
      const target = samples.policy[at + m]!;
      const logShare = policyDelta[to]! - logSum;
      loss -= target * logShare;
      policyDelta[to] = exp(logShare) - target;
    }
    lossSums[0] = lossSums[0]! + loss;

    const seat = row * players;
    largest = Number.NEGATIVE_INFINITY;
    for (let k = 0; k < players; k += 1) {
      const logit = forward.valueLogit(k);
      valueDelta[k] = logit;
      if (logit > largest) largest = logit;
    }
    sum = 0;
    for (let k = 0; k < players; k += 1) sum += exp(valueDelta[k]! - largest);
    const valueLogSum = largest + log(sum);
    loss = 0;
    for (let k = 0; k < players; k += 1) {
      const target =
        config.searchShare * samples.search[seat + k]! + (1 - config.searchShare) * samples.outcome[seat + k]!;
      const logShare = valueDelta[k]! - valueLogSum;
      loss -= target * logShare;
      valueDelta[k] = config.valueWeight * (exp(logShare) - target);
    }
    lossSums[1] = lossSums[1]! + loss;
  };

  /** Whether the row that `judge` has just seen through the identity has the same best move in target and network. */
  const findsBest = (samples: Samples, row: number): boolean => {
    const at = row * moves;
    let liked = -1;
    let wanted = -1;
    let best = Number.NEGATIVE_INFINITY;
    for (let m = 0; m < moves; m += 1) {
      if (samples.legal[at + m]! === 0) continue;
      const target = samples.policy[at + m]!;
      if (wanted < 0 || target > samples.policy[at + wanted]!) wanted = m;
      // The error that `judge` left is the network's share less the target.
      if (policyDelta[m]! + target > best) {
        best = policyDelta[m]! + target;
        liked = m;
      }
    }
    return liked === wanted;
  };

  return { forward, policyDelta, valueDelta, lossSums, judge, findsBest };
}
