import { expect, test } from "vitest";
import { driver } from "../../../test/support/virtual-time.ts";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import { createLeaving, sendHome } from "./node-leaving.ts";

const LIMITS = { limitMs: 20_000, unansweredMs: 1_000 };

test.each([
  ["ends at once when nothing lies here alone", 0, 0, 200],
  ["goes on while the main process answers and files lie here alone", 2, 2, 20_100],
  ["does not wait long for a main process that is gone", undefined, 0, 1_100],
])("%s", async (_, alone, left, withinMs) => {
  const clock = virtualClock();
  const leaving = createLeaving();
  leaving.alone = alone;
  const began = clock.monotonic();
  const ports = { clock, log: silentLog(), signal: new AbortController().signal };
  expect(await driver(clock)(sendHome(leaving, LIMITS, ports))).toBe(left);
  expect(clock.monotonic() - began).toBeLessThanOrEqual(withinMs);
  expect(leaving).toMatchObject({ isLeaving: true });
  expect(leaving.hurry.signal.aborted).toBe(true);
});
