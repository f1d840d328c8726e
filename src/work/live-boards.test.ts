import { describe, expect, test } from "vitest";
import { LIVE_BOARD_LIMITS } from "./limits.ts";
import { createLiveBoards, type ToldBoard } from "./live-boards.ts";

const at = () => {
  let now = 0;
  return {
    monotonic: () => now,
    pass(ms: number) {
      now += ms;
    },
  };
};
const board = (node_id: string, work_id = "w1"): ToldBoard => ({
  work_id,
  work_type: "selfplay",
  config_key: "hex7_2p",
  node_id,
  lines: ["..", "X."],
  at: 0,
});

describe("boards of games that are played now", () => {
  test("are told only while somebody looks", () => {
    const clock = at();
    const boards = createLiveBoards(clock);
    expect(boards.isWanted("a")).toBe(false);
    expect(boards.tell("a", [board("a")])).toBe(false);
    expect(boards.look()).toEqual([]);
    expect(boards.isWanted("a")).toBe(true);
    expect(boards.tell("a", [board("a")])).toBe(true);
    expect(boards.look()).toEqual([board("a")]);
    clock.pass(16_000);
    expect(boards.isWanted("a")).toBe(false);
    expect(boards.tell("a", [board("a")])).toBe(false);
  });

  test("come from a few nodes, however many there are, and each tells a few", () => {
    const boards = createLiveBoards(at());
    boards.look();
    const names = Array.from({ length: 100 }, (_, i) => `node-${i}`);
    for (const name of names)
      boards.tell(
        name,
        Array.from({ length: 50 }, (_, i) => board(name, `w${i}`)),
      );
    expect(new Set(boards.look().map(({ node_id }) => node_id)).size).toBe(LIVE_BOARD_LIMITS.nodes);
    expect(boards.look()).toHaveLength(LIVE_BOARD_LIMITS.nodes * LIVE_BOARD_LIMITS.boardsOfNode);
    expect(boards.isWanted("node-0")).toBe(true);
    expect(boards.isWanted("node-99")).toBe(false);
  });

  test("are forgotten when their node falls silent, which gives its place to another", () => {
    const clock = at();
    const boards = createLiveBoards(clock);
    for (let i = 0; i < LIVE_BOARD_LIMITS.nodes; i += 1) {
      boards.look();
      boards.tell(`node-${i}`, [board(`node-${i}`)]);
    }
    expect(boards.isWanted("late")).toBe(false);
    clock.pass(11_000);
    expect(boards.look()).toEqual([]);
    expect(boards.tell("late", [board("late")])).toBe(true);
  });
});
