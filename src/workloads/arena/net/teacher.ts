import { exp } from "../numerics/exp-log.ts";
import { createForward, type Network } from "./network.ts";
import type { Samples } from "./samples.ts";

/**
 * Puts what a network says of rows into their targets, in place: its policy over the legal moves and its values. With a share below 1 the
 * rest stays what search and game said.
 */
export function createTeacher(teacher: Network, share: number) {
  const { cells, moves, players } = teacher.layout.shape;
  const forward = createForward(teacher);
  const codes = new Uint8Array(cells);
  const shares = new Float64Array(Math.max(moves, players));

  /** Shares of the first numbers from their logits; those at minus infinity get none. */
  const softmax = (count: number): void => {
    let largest = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < count; i += 1) if (shares[i]! > largest) largest = shares[i]!;
    let sum = 0;
    for (let i = 0; i < count; i += 1) {
      shares[i] = shares[i] === Number.NEGATIVE_INFINITY ? 0 : exp(shares[i]! - largest);
      sum += shares[i]!;
    }
    for (let i = 0; i < count; i += 1) shares[i] = shares[i]! / sum;
  };

  return (samples: Samples, start: number, end: number): void => {
    for (let row = start; row < end; row += 1) {
      codes.set(samples.codes.subarray(row * cells, (row + 1) * cells));
      forward.run(codes, 0);
      const at = row * moves;
      for (let m = 0; m < moves; m += 1)
        shares[m] = samples.legal[at + m] === 0 ? Number.NEGATIVE_INFINITY : forward.policyLogit(m);
      softmax(moves);
      for (let m = 0; m < moves; m += 1)
        samples.policy[at + m] = share * shares[m]! + (1 - share) * samples.policy[at + m]!;
      const seat = row * players;
      for (let k = 0; k < players; k += 1) shares[k] = forward.valueLogit(k);
      softmax(players);
      for (let k = 0; k < players; k += 1) {
        samples.search[seat + k] = share * shares[k]! + (1 - share) * samples.search[seat + k]!;
        samples.outcome[seat + k] = share * shares[k]! + (1 - share) * samples.outcome[seat + k]!;
      }
    }
  };
}
