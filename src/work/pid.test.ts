import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../kernel/index.ts";
import { pidPolicyDefaults, pidStart, steer } from "./pid.ts";

interface Machine {
  /** Jobs that would use all of it. */
  readonly jobsToFull: number;
  /** How fast the figure follows the jobs: 1 at once. */
  readonly follows: number;
  readonly noise: number;
}

/** A machine whose use follows the number of its jobs, late and with noise, looked at every 30 s. */
function run({ jobsToFull, follows, noise }: Machine, looks: number, start: number, seed = 1, most = 1_000) {
  const random = seededRandom(seed);
  const bounds = { least: 1, most };
  let slots = start;
  let use = 0;
  let state = pidStart;
  const history: { use: number; slots: number }[] = [];
  for (let n = 0; n < looks; n += 1) {
    use += follows * (Math.min(1, slots / jobsToFull) - use);
    const seen = Math.max(0, Math.min(1, use + noise * (random.next() - 0.5)));
    const answer = steer(state, seen, slots, 30, bounds);
    state = answer.state;
    slots = answer.slots;
    history.push({ use, slots });
  }
  return history;
}
/** How often the number of jobs turned round. */
const turns = (history: readonly { slots: number }[]) => {
  const steps = history
    .slice(1)
    .map(({ slots }, i) => Math.sign(slots - history[i]!.slots))
    .filter((sign) => sign !== 0);
  return steps.slice(1).filter((sign, i) => sign !== steps[i]).length;
};

describe("steering a node's use", () => {
  test("brings machines of any size to their target and holds them there, without swinging", () => {
    fc.assert(
      fc.property(
        fc.record({
          jobsToFull: fc.integer({ min: 12, max: 120 }),
          follows: fc.double({ min: 0.3, max: 1, noNaN: true }),
          noise: fc.double({ min: 0, max: 0.06, noNaN: true }),
        }),
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        (machine, start, seed) => {
          const history = run(machine, 400, start, seed);
          const late = history.slice(200);
          const mean = late.reduce((sum, { use }) => sum + use, 0) / late.length;
          // As near as whole jobs allow.
          const grain = 1 / machine.jobsToFull;
          expect(Math.abs(mean - pidPolicyDefaults.target)).toBeLessThan(0.06 + grain);
          for (const { use } of late) expect(Math.abs(use - pidPolicyDefaults.target)).toBeLessThan(0.12 + 2 * grain);
          expect(turns(late)).toBeLessThanOrEqual(12);
        },
      ),
      { seed: 11, numRuns: 150 },
    );
  });

  test("never leaves its bounds, and has nothing to work off after a long shortage", () => {
    const bounds = { least: 1, most: 8 };
    let state = pidStart;
    let slots = 4;
    for (let n = 0; n < 500; n += 1) {
      const answer = steer(state, 0, slots, 30, bounds);
      state = answer.state;
      slots = answer.slots;
      expect(slots).toBeLessThanOrEqual(8);
    }
    expect(slots).toBe(8);
    let looks = 0;
    while (slots > 6 && looks < 50) {
      const answer = steer(state, 1, slots, 30, bounds);
      state = answer.state;
      slots = answer.slots;
      looks += 1;
    }
    expect(looks).toBeLessThan(12);
  });

  test("a figure within the band changes nothing", () => {
    expect(steer(pidStart, 0.72, 10, 30, { least: 1, most: 20 }).slots).toBe(10);
  });

  test("one wild figure is smoothed away", () => {
    const calm = steer(pidStart, 0.7, 10, 30, { least: 1, most: 20 });
    const shaken = steer(calm.state, 1, calm.slots, 30, { least: 1, most: 20 });
    expect(Math.abs(shaken.slots - 10)).toBeLessThanOrEqual(1);
  });
});
