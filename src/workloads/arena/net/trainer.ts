/**
 * Backpropagation and Adam. The tables are huge and a batch touches a sliver of them, so gradients and moments are
 * kept for whole rows and only the touched rows are visited; the few thousand dense weights are updated every time.
 */
import type { Random } from "../../../kernel/index.ts";
import type { Symmetry } from "../games/game.ts";
import { createAdam, type Momentum } from "./adam.ts";
import { createJudge, type Targets } from "./judge.ts";
import type { Network } from "./network.ts";
import type { Samples } from "./samples.ts";

export interface TrainerConfig extends Targets {
  readonly batch: number;
  readonly rate: number;
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

export function createTrainer(
  network: Network,
  symmetries: readonly Symmetry[],
  config: TrainerConfig,
  resume?: Momentum,
) {
  const { layout, weights } = network;
  const { shape, inputs } = layout;
  const { wide: wideSize, narrow: narrowSize, moves, players } = shape;
  const { narrowWeights, narrowBias, policyWeights, policyBias, valueWeights, valueBias } = layout;
  const tableEnd = layout.wideBias;
  const { forward, policyDelta, valueDelta, lossSums, judge, findsBest } = createJudge(network, config);
  const { rows, wide, narrow } = forward;

  const gradients = new Float32Array(layout.length);
  const adam = createAdam(weights, gradients, resume);
  const touched = new Int32Array(config.batch * inputs);
  const stamps = new Int32Array(layout.rows);

  const narrowDelta = new Float64Array(narrowSize);
  const wideDelta = new Float64Array(wideSize);
  let touchedCount = 0;
  /** Rows that bear this number are among the touched ones. */
  let round = 0;
  const begin = (): void => {
    lossSums.fill(0);
    touchedCount = 0;
    round += 1;
  };

  const headBackward = (delta: number, bias: number, row: number): void => {
    gradients[bias] = gradients[bias]! + delta;
    for (let k = 0; k < narrowSize; k += 1) {
      gradients[row + k] = gradients[row + k]! + delta * narrow[k]!;
      narrowDelta[k] = narrowDelta[k]! + delta * weights[row + k]!;
    }
  };

  const scaleErrors = (weight: number): void => {
    for (let m = 0; m < moves; m += 1) policyDelta[m] = policyDelta[m]! * weight;
    for (let k = 0; k < players; k += 1) valueDelta[k] = valueDelta[k]! * weight;
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
      if (stamps[index]! !== round) {
        stamps[index] = round;
        touched[touchedCount] = row;
        touchedCount += 1;
      }
      for (let j = 0; j < wideSize; j += 1) gradients[row + j] = gradients[row + j]! + wideDelta[j]!;
    }
  };

  return {
    network,
    /** Live views, with the batches done so far; copy them to keep them. */
    get momentum(): Momentum {
      return adam.momentum;
    },

    /** One batch of rows drawn by `draw`, each seen through a random symmetry and, where `weigh` says so, counted for less. */
    step(samples: Samples, draw: (i: number) => number, random: Random, weigh?: (row: number) => number): Losses {
      begin();
      for (let i = 0; i < config.batch; i += 1) {
        const symmetry = symmetries[Math.floor(random.next() * symmetries.length)]!;
        const row = draw(i);
        judge(samples, row, symmetry);
        if (weigh !== undefined) scaleErrors(weigh(row));
        backward();
      }
      const scale = 1 / config.batch;
      adam.begin(config.rate, scale);
      for (let i = 0; i < touchedCount; i += 1) adam.update(touched[i]!, touched[i]! + wideSize);
      adam.update(tableEnd, layout.length);
      return { policy: lossSums[0]! * scale, value: lossSums[1]! * scale };
    },

    /** The mean losses on a range of rows, and how often the best move is found; changes nothing. */
    measure(samples: Samples, start: number, count: number): Measure {
      lossSums.fill(0);
      let found = 0;
      for (let row = start; row < start + count; row += 1) {
        judge(samples, row, symmetries[0]!);
        if (findsBest(samples, row)) found += 1;
      }
      return { policy: lossSums[0]! / count, value: lossSums[1]! / count, accuracy: found / count };
    },

    /** The gradient of the summed loss of one row, as a dense array; for tests and curiosity, not for speed. */
    gradientOf(samples: Samples, row: number): Float64Array {
      begin();
      judge(samples, row, symmetries[0]!);
      backward();
      const dense = Float64Array.from(gradients);
      gradients.fill(0);
      return dense;
    },
  };
}

export type Trainer = ReturnType<typeof createTrainer>;
