import { expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { seededRandom } from "./random.ts";
import { retry } from "./retry.ts";

const world = { clock: systemClock(), random: seededRandom(1), policy: { firstMs: 1, maxMs: 2, jitter: 0 } };

test("tries until it succeeds, and counts the tries", async () => {
  const seen: number[] = [];
  const again = (_: unknown, tries: number) => seen.push(tries) > 0;
  let left = 3;
  const attempt = async () => {
    left -= 1;
    if (left > 0) throw new Error("not yet");
    return "there";
  };
  expect(await retry(attempt, { ...world, again })).toBe("there");
  expect(seen).toEqual([1, 2]);
});

test("what another try would not help is thrown", async () => {
  const attempt = () => Promise.reject(new Error("never"));
  await expect(retry(attempt, { ...world, again: (_, tries) => tries < 3 })).rejects.toThrow("never");
});

test("an abort ends the wait with its reason", async () => {
  const stopping = new AbortController();
  const policy = { firstMs: 3_600_000, maxMs: 3_600_000, jitter: 0 };
  const again = () => {
    queueMicrotask(() => stopping.abort(new Error("stopped")));
    return true;
  };
  const attempt = () => Promise.reject(new Error("down"));
  await expect(retry(attempt, { ...world, policy, signal: stopping.signal, again })).rejects.toThrow("stopped");
});
