/**
 * Backpropagation and Adam. The tables are huge and a batch touches a sliver of them, so gradients and moments are
 * kept for whole rows and only the touched rows are visited; the few thousand dense weights are updated every time.
 */
import type { Random } from "../../../kernel/index.ts";
import type { Symmetry } from "../games/game.ts";
import { exp, log } from "../numerics/exp-log.ts";
import { createForward, type Network } from "./network.ts";
import type { Samples } from "./samples.ts";

export interface TrainerConfig {
  readonly batch: number;
  readonly rate: number;
  /** The share of the search's own expectation in the value target; the rest is the outcome of the game. */
  readonly searchShare: number;
  /** How much the value loss counts beside the policy loss. */
  readonly valueWeight: number;
}

export const DEFAULT_TRAINER: TrainerConfig = { batch: 128, rate: 0.002, searchShare: 0.5, valueWeight: 1 };

export interface Losses {
  /** Mean cross-entropy of the policy and of the value, in nats. */
  readonly policy: number;
  readonly value: number;
}

export interface Measure extends Losses {
  /** The share of rows whose most visited move is also the one that the network likes best. */
  readonly accuracy: number;
}

/** What Adam remembers: with it and the network, training goes on elsewhere as if it had never stopped. */
export interface Momentum {
  readonly first: Float32Array;
  readonly second: Float32Array;
  readonly steps: number;
}

export interface Trainer {
  readonly network: Network;
  /** Live views, with the batches done so far; copy them to keep them. */
  readonly momentum: Momentum;
  /** One batch of rows drawn by `draw`, each seen through a random symmetry. */
  step(samples: Samples, draw: (i: number) => number, random: Random): Losses;
  /** The mean losses on a range of rows, and how often the best move is found; changes nothing. */
  measure(samples: Samples, start: number, count: number): Measure;
  /** The gradient of the summed loss of one row, as a dense array; for tests and curiosity, not for speed. */
  gradientOf(samples: Samples, row: number): Float64Array;
}

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

export function createTrainer(
  network: Network,
  symmetries: readonly Symmetry[],
  config: TrainerConfig,
  resume?: Momentum,
): Trainer {
  const { layout, weights } = network;
  const { shape, inputs } = layout;
  const { wide: wideSize, narrow: narrowSize, cells, moves, players } = shape;
  const { narrowWeights, narrowBias, policyWeights, policyBias, valueWeights, valueBias } = layout;
  const tableEnd = layout.wideBias;
  const forward = createForward(network);
  const { rows, wide, narrow } = forward;

  const gradients = new Float32Array(layout.length);
  const firstMoments = resume ? resume.first.slice() : new Float32Array(layout.length);
  const secondMoments = resume ? resume.second.slice() : new Float32Array(layout.length);
  const touched = new Int32Array(config.batch * inputs);
  const stamps = new Int32Array(layout.rows);

  const codes = new Uint8Array(cells);
  const policyDelta = new Float64Array(moves);
  const valueDelta = new Float64Array(players);
  const narrowDelta = new Float64Array(narrowSize);
  const wideDelta = new Float64Array(wideSize);
  const lossSums = new Float64Array(2);
  let touchedCount = 0;
  // The powers of both betas, by one multiplication a step, so that a resumed trainer has the very same ones.
  let steps = 0;
  let power1 = 1;
  let power2 = 1;
  const count = (): void => {
    steps += 1;
    power1 *= BETA1;
    power2 *= BETA2;
  };
  while (resume && steps < resume.steps) count();

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
    let most = Number.NEGATIVE_INFINITY;
    for (let m = 0; m < moves; m += 1) {
      if (samples.legal[at + m]! === 0) continue;
      const target = samples.policy[at + m]!;
      if (wanted < 0 || target > samples.policy[at + wanted]!) wanted = m;
      // The error that `judge` left is the network's share less the target.
      if (policyDelta[m]! + target > most) {
        most = policyDelta[m]! + target;
        liked = m;
      }
    }
    return liked === wanted;
  };

  const headBackward = (delta: number, bias: number, row: number): void => {
    gradients[bias] = gradients[bias]! + delta;
    for (let k = 0; k < narrowSize; k += 1) {
      gradients[row + k] = gradients[row + k]! + delta * narrow[k]!;
      narrowDelta[k] = narrowDelta[k]! + delta * weights[row + k]!;
    }
  };

  /** Adds the gradient of the row that `judge` has just seen. */
  const backward = (): void => {
    narrowDelta.fill(0);
    for (let m = 0; m < moves; m += 1)
      if (policyDelta[m]! !== 0) headBackward(policyDelta[m]!, policyBias + m, policyWeights + m * narrowSize);
    for (let k = 0; k < players; k += 1) headBackward(valueDelta[k]!, valueBias + k, valueWeights + k * narrowSize);
    for (let k = 0; k < narrowSize; k += 1) {
      if (narrow[k]! === 0) narrowDelta[k] = 0;
      else gradients[narrowBias + k] = gradients[narrowBias + k]! + narrowDelta[k]!;
    }
    for (let j = 0; j < wideSize; j += 1) {
      const x = wide[j]!;
      let delta = 0;
      if (x !== 0) {
        const row = narrowWeights + j * narrowSize;
        for (let k = 0; k < narrowSize; k += 1) {
          const error = narrowDelta[k]!;
          gradients[row + k] = gradients[row + k]! + x * error;
          delta += error * weights[row + k]!;
        }
        gradients[tableEnd + j] = gradients[tableEnd + j]! + delta;
      }
      wideDelta[j] = delta;
    }
    for (let t = 0; t < inputs; t += 1) {
      const row = rows[t]!;
      const index = row / wideSize;
      if (stamps[index]! !== steps + 1) {
        stamps[index] = steps + 1;
        touched[touchedCount] = row;
        touchedCount += 1;
      }
      for (let j = 0; j < wideSize; j += 1) gradients[row + j] = gradients[row + j]! + wideDelta[j]!;
    }
  };

  /** One Adam update of a range; clears its gradients. */
  const update = (start: number, end: number, scale: number, rate: number): void => {
    const correction = 1 - power2;
    for (let i = start; i < end; i += 1) {
      const gradient = gradients[i]! * scale;
      gradients[i] = 0;
      const first = BETA1 * firstMoments[i]! + (1 - BETA1) * gradient;
      const second = BETA2 * secondMoments[i]! + (1 - BETA2) * gradient * gradient;
      firstMoments[i] = first;
      secondMoments[i] = second;
      weights[i] = weights[i]! - (rate * first) / (Math.sqrt(second / correction) + EPSILON);
    }
  };

  return {
    network,
    get momentum() {
      return { first: firstMoments, second: secondMoments, steps };
    },

    step(samples, draw, random) {
      lossSums.fill(0);
      touchedCount = 0;
      for (let i = 0; i < config.batch; i += 1) {
        const symmetry = symmetries[Math.floor(random.next() * symmetries.length)]!;
        judge(samples, draw(i), symmetry);
        backward();
      }
      count();
      const rate = config.rate / (1 - power1);
      const scale = 1 / config.batch;
      for (let i = 0; i < touchedCount; i += 1) update(touched[i]!, touched[i]! + wideSize, scale, rate);
      update(tableEnd, layout.length, scale, rate);
      return { policy: lossSums[0]! * scale, value: lossSums[1]! * scale };
    },

    measure(samples, start, count) {
      lossSums.fill(0);
      let found = 0;
      for (let row = start; row < start + count; row += 1) {
        judge(samples, row, symmetries[0]!);
        if (findsBest(samples, row)) found += 1;
      }
      return { policy: lossSums[0]! / count, value: lossSums[1]! / count, accuracy: found / count };
    },

    gradientOf(samples, row) {
      lossSums.fill(0);
      touchedCount = 0;
      judge(samples, row, symmetries[0]!);
      backward();
      const dense = Float64Array.from(gradients);
      gradients.fill(0);
      stamps.fill(0);
      return dense;
    },
  };
}
