import { expect, test } from "vitest";
import { OperatingError, virtualClock } from "../../kernel/index.ts";
import type { Operation } from "../../router/index.ts";
import { createCommitQueue } from "./commit-queue.ts";

const say = (args: unknown): Operation[] => [{ op: "say", args } as unknown as Operation];

test("a commit that cannot travel to the writer is refused alone, and the others get their own answers", async () => {
  const queue = createCommitQueue(virtualClock(), (batch) => {
    const arrived = structuredClone(batch) as unknown as { args: unknown }[][];
    setImmediate(() => queue.settle(arrived.map(([one]) => ({ ok: true, results: [one!.args] }))));
  });
  const outcomes = await Promise.allSettled([
    queue.commit(say(1)),
    queue.commit(say(() => "no")),
    queue.commit(say(3)),
    queue.commit(say(4)),
  ]);
  expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : "refused"))).toEqual([
    [1],
    "refused",
    [3],
    [4],
  ]);
  await queue.drained();
});

test("who waits for the queue to drain does not wait for a writer that is gone", async () => {
  const queue = createCommitQueue(virtualClock(), () => {});
  const lost = queue.commit(say(1)).catch((error: unknown) => error);
  await Promise.resolve();
  const drained = queue.drained();
  queue.close(OperatingError.internal("STORE_GONE", "gone", { status: 503 }));
  await drained;
  expect(await lost).toMatchObject({ code: "STORE_GONE" });
});
