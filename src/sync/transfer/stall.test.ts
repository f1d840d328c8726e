import { expect, test } from "vitest";
import { listeningTime, virtualClock } from "../../kernel/index.ts";
import { watchStall } from "./stall.ts";

function world() {
  const clock = virtualClock();
  const listening = listeningTime(clock);
  const watch = watchStall({ clock, listening, stallMs: 10_000, place: "node n1" });
  return { clock, listening, watch };
}

/** Some bytes, and then nothing for ever. */
async function* silent(pieces: number): AsyncIterable<Uint8Array> {
  for (let i = 0; i < pieces; i += 1) yield Buffer.from([i]);
  await new Promise(() => {});
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let count = 0;
  for await (const piece of bytes) count += piece.length;
  return count;
}

const stepping = async (clock: ReturnType<typeof virtualClock>, until: () => boolean): Promise<void> => {
  while (!until()) {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    if (!until()) clock.step();
  }
};

test("one that falls silent is ended after so much listening time, and not before", async () => {
  const { clock, watch } = world();
  let thrown: unknown;
  drain(watch.over(silent(3), new AbortController().signal)).catch((error: unknown) => {
    thrown = error;
  });
  await stepping(clock, () => thrown !== undefined);
  expect(thrown).toMatchObject({
    code: "TRANSFER_STALLED",
    message: expect.stringContaining("node n1"),
    retryable: true,
  });
  expect(clock.monotonic()).toBeGreaterThanOrEqual(10_000);
  expect(clock.monotonic()).toBeLessThan(12_000);
});

test("a machine that slept has not listened, so that nobody was silent to it", async () => {
  const { clock, watch } = world();
  let thrown: unknown;
  drain(watch.over(silent(1), new AbortController().signal)).catch((error: unknown) => {
    thrown = error;
  });
  await stepping(clock, () => clock.monotonic() > 5_000);
  clock.standStill(3_600_000);
  const woke = clock.monotonic();
  await stepping(clock, () => thrown !== undefined);
  expect(clock.monotonic() - woke).toBeGreaterThan(2_500);
});

test("time in which nobody waits for bytes is not the other side's", async () => {
  const { clock, watch } = world();
  const from = watch.over(silent(2), new AbortController().signal)[Symbol.asyncIterator]();
  await from.next();
  await stepping(clock, () => clock.monotonic() > 60_000);
  expect(await from.next()).toMatchObject({ done: false });
  await from.return?.();
});

test("an abort ends it at once, though the source does not listen", async () => {
  const { watch } = world();
  const ended = new AbortController();
  const drained = drain(watch.over(silent(0), ended.signal));
  ended.abort(new Error("no more"));
  await expect(drained).rejects.toThrow("no more");
});
