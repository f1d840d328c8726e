/** The state of Adam over one flat array of weights, updated range by range. */

/** What Adam remembers: with it and the network, training goes on elsewhere as if it had never stopped. */
export interface Momentum {
  readonly first: Float32Array;
  readonly second: Float32Array;
  readonly steps: number;
}

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

export function createAdam(weights: Float32Array, gradients: Float32Array, resume?: Momentum) {
  const firstMoments = resume ? resume.first.slice() : new Float32Array(weights.length);
  const secondMoments = resume ? resume.second.slice() : new Float32Array(weights.length);
  // The powers of both betas, by one multiplication a step, so that a resumed trainer has the very same ones.
  let steps = 0;
  let power1 = 1;
  let power2 = 1;
  let rate = 0;
  let scale = 0;
  const count = (): void => {
    steps += 1;
    power1 *= BETA1;
    power2 *= BETA2;
  };
  while (resume && steps < resume.steps) count();

  return {
    get momentum(): Momentum {
      return { first: firstMoments, second: secondMoments, steps };
    },

    /** Counts one step, whose gradients are sums that `share` makes means. */
    begin(stepRate: number, share: number): void {
      count();
      rate = stepRate / (1 - power1);
      scale = share;
    },

    /** Updates a range in this step; clears its gradients. */
    update(start: number, end: number): void {
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
    },
  };
}
