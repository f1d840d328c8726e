import { describe, expect, test } from "vitest";
import { look, quiet, type Turn } from "./silence.ts";

const rules = { everyMs: 250, blockedAfterMs: 1_000 };

/** Looks at these times; `beats` says when the loop beat last, at each. */
const watch = (looks: readonly (readonly [now: number, beatAt: number])[]): (Turn | null)[] => {
  let state = quiet(0, 0);
  return looks.map(([now, beatAt]) => {
    const { next, turn } = look(state, { now, beatAt }, rules);
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
});
