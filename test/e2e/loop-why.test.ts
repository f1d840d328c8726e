/** Every refusal of every stage shows where people look: in `why`, with what is there and what must be. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { systemClock } from "../../src/kernel/index.ts";
import { type RunningLoop, startLoop, ticking, unitErrors } from "../support/loop.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { REFUSALS, SHARED_REFUSALS, sceneOf } from "./parts/loop-refusals.ts";

const clock = systemClock();
const own = owned();
let loop: RunningLoop;

beforeAll(async () => {
  loop = await startLoop(own, {
    plans: [],
    slots: 0,
    // What the test says of the pressure holds: nobody measures the queue meanwhile.
    wrapUnit: (unit) => (unit.name === "work_queue_monitor" ? { ...unit, everyMs: 3_600_000 } : ticking(50)(unit)),
  });
});
afterAll(async () => {
  await loop.end();
  await own.end();
});

interface Gate {
  readonly gate: string;
  readonly passed: boolean;
  readonly actual: string;
  readonly required: string;
  readonly since: number | null;
}

test.each([...REFUSALS, ...SHARED_REFUSALS].map((refusal, i) => ({ ...refusal, key: `case${i}_2p` })))(
  "$about",
  async ({ key, unit, for: what, actual, stage }) => {
    const { router, api } = loop.main;
    await router.transact({ source: "test" }, ({ rows }) => stage(sceneOf(key, rows, clock.now(), loop.dataDir)));
    const found = await vi.waitFor(async () => {
      const { json } = await ask({ socketPath: api.socketPath }, `/v1/why/${key}`);
      const closed = (json.gates as Gate[]).filter(({ passed }) => !passed);
      const gate = closed.find(
        (each) => each.gate.startsWith(`${unit}: `) && what.test(each.gate.slice(unit.length + 2)),
      );
      if (gate === undefined) throw new Error(`'why ${key}' says nothing of it: ${JSON.stringify(json, null, 2)}`);
      return gate;
    }, PATIENT);
    if (actual !== undefined) expect(found.actual).toMatch(actual);
    expect(found.required).not.toBe("");
    expect(found.since).toBeGreaterThan(0);
  },
);

test("nobody has thrown on the way: a refusal is an answer, not a fault", () => {
  expect(unitErrors(loop)).toEqual([]);
  const { pending, retrying } = loop.main.router.deadLetters.counts();
  expect(pending + retrying).toBe(0);
});
