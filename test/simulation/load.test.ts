/** The shipped forecast and climb beside the fixed policy, on days that neither was tried with. All seeds: `npm run soak -- load`. */
import { expect, test } from "vitest";
import { steeredPolicy } from "./load/steered-policy.ts";
import { fixedPolicy, meanFigures, simulateLoad, TRACES } from "./load/world.ts";

const HELD_OUT = [101, 102, 103];

test("jobs are done sooner on every trace, on no more machines in all, and machines are not given back to be rented again", () => {
  const both = TRACES.map((trace) => ({
    fixed: meanFigures(HELD_OUT.map((seed) => simulateLoad(trace, seed, fixedPolicy()))),
    steered: meanFigures(HELD_OUT.map((seed) => simulateLoad(trace, seed, steeredPolicy().policy))),
  }));
  const sum = (policy: "fixed" | "steered", of: "machineHours" | "regretted" | "rented") =>
    both.reduce((all, day) => all + day[policy][of], 0);
  for (const { fixed, steered } of both) {
    expect(steered.meanSeconds).toBeLessThan(fixed.meanSeconds);
    expect(steered.machineHours).toBeLessThan(1.1 * fixed.machineHours);
    // No machine is tried with another number of jobs more than a few times an hour.
    expect(steered.slotChanges).toBeLessThan(3);
  }
  expect(sum("steered", "machineHours")).toBeLessThan(sum("fixed", "machineHours"));
  expect(sum("steered", "regretted")).toBeLessThan(0.7 * sum("fixed", "regretted"));
  expect(sum("steered", "rented")).toBeLessThan(sum("fixed", "rented"));
});
