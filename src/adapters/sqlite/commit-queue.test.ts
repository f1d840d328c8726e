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

test("a disk that refuses some commits and takes others is one fault, since its first refusal, until it has refused none for a while", async () => {
  const clock = virtualClock();
  const full = OperatingError.unavailable("STORE_FULL", "the disk is full");
  let isFull = true;
  const queue = createCommitQueue(clock, (batch) => {
    const outcome = isFull ? { ok: false as const, error: full } : { ok: true as const, results: [] };
    setImmediate(() => queue.settle(batch.map(() => outcome)));
  });
  const told: (number | null)[] = [];
  queue.onFault((fault) => void told.push(fault === null ? null : fault.since));
  const commits = async (...refusals: boolean[]) => {
    for (const refusal of refusals) {
      isFull = refusal;
      await queue.commit(say(1)).catch(() => undefined);
      clock.standStill(1_000);
    }
  };
  const began = clock.now();
  await commits(true, false, true, false, false, false, true, false, false, false, false);
  expect([told, queue.fault?.since]).toEqual([[began], began]);
  await commits(false);
  expect([told, queue.fault]).toEqual([[began, null], null]);
});
