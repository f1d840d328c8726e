import { describe, expect, test } from "vitest";
import { sideBySide } from "../../../test/fixtures/pipeline-snapshots.ts";
import { otherRun } from "./other-run.ts";
import { pipelineOnTheWire } from "./wire.ts";

const printed = pipelineOnTheWire(sideBySide);
const [first] = printed.configs;
const key = first!.config_key;

describe("another run", () => {
  test("is read from what 'pipeline --json' prints, of all configs or of one", () => {
    const all = otherRun(JSON.stringify(printed), key);
    expect(all).toMatchObject({ config_key: key, iteration: first!.iteration, games: first!.games });
    expect(otherRun(JSON.stringify({ config: first }), key)).toEqual(all);
  });

  test("of another config is none", () => {
    expect(otherRun(JSON.stringify(printed), "chess_2p")).toEqual({ problem: "it holds no run of chess_2p" });
  });

  test.each([
    ["no JSON", "it is no JSON", "{"],
    ["a list", "its 'answer' is not what it should be", "[]"],
    ["something else", "its 'configs' is not what it should be", "{}"],
    [
      "a number too large",
      "its 'games' is not what it should be",
      JSON.stringify({ config: { ...first, games: "1e999" } }),
    ],
    [
      "a champion that is none",
      "its 'champions' is not what it should be",
      JSON.stringify({ config: { ...first, champions: [7] } }),
    ],
    [
      "a gate of another shape",
      "its 'estimate' is not what it should be",
      JSON.stringify({ config: { ...first, gates: [{ candidate: "a", opponent: "b", verdict: null, elo: {} }] } }),
    ],
  ])("in a file with %s is refused with what is wrong", (_, problem, content) => {
    expect(otherRun(content, key)).toEqual({ problem });
  });

  test("takes every field away once, and never throws", () => {
    for (const name of Object.keys(first!)) {
      const { [name as "games"]: _, ...rest } = first!;
      expect(() => otherRun(JSON.stringify({ config: rest }), key)).not.toThrow();
    }
  });
});
