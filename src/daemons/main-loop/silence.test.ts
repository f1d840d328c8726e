import { describe, expect, test } from "vitest";
import { look, quiet, type Turn } from "./silence.ts";

const rules = { everyMs: 250, blockedAfterMs: 1_000 };

/** Looks at these times; `beats` says when the loop beat last, at each. */
const watch = (looks: readonly (readonly [now: number, beatAt: number, waitedMs?: number])[]): (Turn | null)[] => {
  let state = quiet(0, 0);
  return looks.map(([now, beatAt, waitedMs = 0]) => {
    const { next, turn } = look(state, { now, beatAt, waitedMs }, rules);
    state = next;
    return turn;
  });
};

describe("a watched loop", () => {
  test("that beats raises nothing", () => {
    expect(
      watch([
        [250, 240],
        [500, 490],
        [750, 740],
      ]),
    ).toEqual([null, null, null]);
  });

  test("that is silent raises one alarm at its time, and answers once with how long it was blocked", () => {
    const turns = watch([
      [250, 200],
      [500, 200],
      [750, 200],
      [1_000, 200],
      [1_250, 200],
      [1_500, 200],
      [3_250, 3_200],
      [3_500, 3_450],
    ]);
    expect(turns).toEqual([
      null,
      null,
      null,
      null,
      { kind: "alarm", silentMs: 1_000 },
      null,
      { kind: "answers", blockedMs: 3_000 },
      null,
    ]);
  });

  test("is not blamed for time in which the watcher was stopped too", () => {
    expect(
      watch([
        [250, 200],
        [3_600_000, 200],
        [3_600_250, 3_600_200],
      ]),
    ).toEqual([null, null, null]);
  });

  test("is not blamed for time in which other programs had the processors", () => {
    const starved = [250, 500, 750, 1_000, 1_250, 1_500, 1_750].map((now) => [now, 200, now - 220] as const);
    expect(watch([...starved, [2_000, 1_990, 1_700]])).toEqual(Array(8).fill(null));
  });

  test("that has them for a part of the time is blocked once it had them for long enough", () => {
    const halved = Array.from({ length: 12 }, (_, i) => [(i + 1) * 250, 200, (i + 1) * 125] as const);
    const turns = watch([...halved, [3_250, 3_200, 1_600]]);
    expect(turns.findIndex((turn) => turn?.kind === "alarm")).toBe(8);
    expect(turns.at(-1)).toEqual({ kind: "answers", blockedMs: 1_525 });
  });
});
