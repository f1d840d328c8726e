import { describe, expect, it } from "vitest";
import { randomPlayer } from "../baselines/random.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { isOver, PLY } from "../games/game.ts";
import { createTally, distinctOpenings, playBlock, playOpening } from "./match.ts";

describe("openings", () => {
  it.each(CONFIG_KEYS)("of %s are playable, follow from their seed and differ from each other", (configKey) => {
    const game = createGame(configKey);
    const seeds = distinctOpenings(game, 6, 5, 60);
    expect(new Set(seeds).size).toBe(60);
    expect(distinctOpenings(game, 6, 5, 60)).toEqual(seeds);
    const boards = new Set<string>();
    const state = game.newState();
    for (const seed of seeds) {
      playOpening(game, 6, seed, state, new Int32Array(game.moves));
      expect(isOver(state)).toBe(false);
      expect(state[PLY]).toBe(6);
      boards.add(game.draw(state));
    }
    expect(boards.size).toBe(60);
  });

  it("repeat themselves rather than never end, where a game has too few of them", () => {
    expect(distinctOpenings(createGame("connect4_7x6_2p"), 1, 5, 20)).toHaveLength(20);
  });
});

describe("a block", () => {
  it("seats the candidate once everywhere, and scores it by seat", () => {
    const game = createGame("connect4_9x7_4p");
    const seen: number[] = [];
    const candidate = randomPlayer(game);
    const watching = {
      ...candidate,
      choose(state: Int32Array) {
        seen.push(state[0]!);
        return candidate.choose(state);
      },
    };
    const opponents = Array.from({ length: 3 }, () => randomPlayer(game));
    const result = playBlock(game, watching, opponents, 3, 8);
    expect(new Set(seen)).toEqual(new Set([0, 1, 2, 3]));
    expect(result.scores).toHaveLength(4);
    for (const score of result.scores) expect([0, 0.25, 1]).toContain(score);
  });
});

describe("a tally", () => {
  it("counts pairs as LL, LD, DD or WL, WD, WW", () => {
    const tally = createTally(2);
    const pair = (a: number, b: number, positions: number[]) => ({ scores: [a, b], positions });
    tally.add([pair(0, 0, [1, 2]), pair(0.5, 0, [3]), pair(0, 1, [1]), pair(0.5, 0.5, [4])]);
    tally.add([pair(1, 0.5, [5]), pair(1, 1, [6, 6])]);
    expect(tally.counts).toEqual([1, 1, 2, 1, 1]);
    expect([tally.blocks, tally.games, tally.score]).toEqual([6, 12, 0.5]);
    expect([tally.wins, tally.draws, tally.losses]).toEqual([4, 4, 4]);
    expect(tally.redundancy).toBeCloseTo(2 / 8, 12);
  });

  it("counts blocks of three in thirds", () => {
    const tally = createTally(3);
    tally.add([
      { scores: [1, 1 / 3, 0], positions: [] },
      { scores: [1, 1, 1], positions: [] },
    ]);
    expect(tally.counts).toEqual([0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
  });
});
