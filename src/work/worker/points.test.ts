import { expect, test } from "vitest";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import { CURVE_LIMITS } from "../limits.ts";
import type { Held } from "./held-leases.ts";
import { createPoints } from "./points.ts";
import type { QueuePort } from "./ports.ts";
import { thinned } from "./thinned.ts";

type Told = Parameters<NonNullable<QueuePort["curves"]>>[0];

function world(curves: QueuePort["curves"]) {
  const clock = virtualClock();
  const one = {
    ref: { work_id: "w1", node_id: "a", fence: 1 },
    progress: {},
    points: thinned(CURVE_LIMITS.told),
  } as unknown as Held;
  const queue = { ...(curves === undefined ? {} : { curves }) } as QueuePort;
  const points = createPoints({ queue, clock, log: silentLog() }, { all: () => [one] });
  const say = (progress: number) => {
    one.progress = { progress };
    points.add(one, { loss: 1 - progress });
  };
  const pass = async (ms: number) => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    while (!isOver) clock.step();
    await Promise.resolve();
  };
  return { points, one, say, pass };
}

test("what a job says goes together every 2 s, and the rest when it ends", async () => {
  const told: Told[] = [];
  const { points, one, say, pass } = world(async (all) => {
    told.push(all);
    return true;
  });
  say(0.1);
  say(0.2);
  await pass(1_999);
  expect(told).toEqual([]);
  await pass(1);
  expect(told.map(([curve]) => curve!.points.map(({ progress }) => progress))).toEqual([[0.1, 0.2]]);
  say(0.9);
  points.end(one);
  expect(told[1]).toMatchObject([{ ref: { work_id: "w1" }, points: [{ progress: 0.9, metrics: { loss: 1 - 0.9 } }] }]);
  await pass(10_000);
  expect(told).toHaveLength(2);
});

test("one that says a lot at once sends a bounded number, from its beginning to its newest", async () => {
  const told: Told[] = [];
  const { say, pass } = world(async (all) => {
    told.push(all);
    return true;
  });
  for (let n = 1; n <= 1_000; n += 1) say(n / 1_000);
  await pass(2_000);
  const sent = told[0]![0]!.points.map(({ progress }) => progress!);
  expect(sent.length).toBeLessThanOrEqual(CURVE_LIMITS.told);
  expect(sent[0]).toBeLessThan(0.1);
  expect(sent.at(-1)).toBe(1);
});

test("a queue that cannot hear it is not told again, and one that is away for a moment is", async () => {
  let calls = 0;
  const deaf = world(async () => {
    calls += 1;
    return false;
  });
  deaf.say(0.1);
  await deaf.pass(2_000);
  deaf.say(0.2);
  await deaf.pass(2_000);
  expect(calls).toBe(1);
  let tries = 0;
  const away = world(async () => {
    tries += 1;
    throw new Error("nobody answers");
  });
  for (const share of [0.1, 0.2]) {
    away.say(share);
    await away.pass(2_000);
  }
  expect(tries).toBe(2);
  const without = world(undefined);
  without.say(0.1);
  expect(without.one.points.take()).toEqual([]);
});
