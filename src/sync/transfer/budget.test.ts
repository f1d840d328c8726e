import fc from "fast-check";
import { expect, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { TRANSFER_PRIORITIES, type TransferPriority } from "../transport.port.ts";
import { createBudget } from "./budget.ts";

/** Spenders that each want to move one piece after the other, until the time is over. */
async function spent(
  bytesPerSecond: number,
  seconds: number,
  spenders: readonly { priority: TransferPriority; piece: number }[],
) {
  const clock = virtualClock();
  const budget = createBudget({ bytesPerSecond, clock });
  const moved = spenders.map(() => 0);
  const ended = new AbortController();
  const running = spenders.map(async ({ priority, piece }, i) => {
    for (;;) {
      await budget.spend(piece, priority, ended.signal);
      moved[i]! += piece;
    }
  });
  for (const each of running) each.catch(() => undefined);
  while (clock.monotonic() < seconds * 1_000) {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.step();
  }
  ended.abort(new Error("over"));
  return { moved, seconds: clock.monotonic() / 1_000 };
}

test("all transfers together keep to the rate, whatever they are", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          priority: fc.constantFrom(...TRANSFER_PRIORITIES),
          piece: fc.integer({ min: 1_000, max: 60_000 }),
        }),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
      async (spenders) => {
        const { moved, seconds } = await spent(100_000, 20, spenders);
        const total = moved.reduce((sum, each) => sum + each, 0);
        // What may go at once after a pause, and one piece that was begun.
        expect(total).toBeLessThanOrEqual(100_000 * (seconds + 0.25) + 60_000);
        expect(total).toBeGreaterThan(100_000 * (seconds - 1));
      },
    ),
    { numRuns: 50 },
  );
});

test("who is more urgent gets more, and nobody gets nothing", async () => {
  const {
    moved: [low = 0, normal = 0, critical = 0],
  } = await spent(1_000_000, 30, [
    { priority: "low", piece: 10_000 },
    { priority: "normal", piece: 10_000 },
    { priority: "critical", piece: 10_000 },
  ]);
  expect(low).toBeGreaterThan(0);
  expect(normal / low).toBeCloseTo(4, 0);
  expect(critical / low).toBeCloseTo(16, -1);
});

test("two of one priority share alike", async () => {
  const {
    moved: [one = 0, other = 0],
  } = await spent(1_000_000, 30, [
    { priority: "normal", piece: 10_000 },
    { priority: "normal", piece: 10_000 },
  ]);
  expect(one / other).toBeCloseTo(1, 1);
});

test("who is ended while it waits leaves the line, and the rest goes on", async () => {
  const clock = virtualClock();
  const budget = createBudget({ bytesPerSecond: 1_000, clock });
  await budget.spend(1_000, "normal");
  const ended = new AbortController();
  const waits = budget.spend(1_000, "normal", ended.signal);
  let came = false;
  const other = budget.spend(1_000, "normal").then(() => {
    came = true;
  });
  ended.abort(new Error("no more"));
  await expect(waits).rejects.toThrow("no more");
  while (!came && clock.step()) await Promise.resolve();
  await other;
  expect(clock.monotonic()).toBeLessThan(1_500);
});
