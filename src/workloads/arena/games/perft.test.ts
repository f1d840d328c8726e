import { describe, expect, it, vi } from "vitest";
import { createGame } from "./catalog.ts";
import { perft } from "./perft.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const counts = (configKey: string, depth: number) => {
  const game = createGame(configKey);
  return Array.from({ length: depth }, (_, i) => perft(game, i + 1));
};

describe("perft", () => {
  it("meets the published counts for Othello 8x8", () => {
    expect(counts("othello8_2p", 9)).toEqual([4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]);
  });

  it("meets the published counts for Connect Four 7x6", () => {
    expect(counts("connect4_7x6_2p", 8)).toEqual([7, 49, 343, 2401, 16807, 117649, 823536, 5673234]);
  });

  it("meets the counts that follow from the rules of Hex: a free cell a ply, and one swap", () => {
    // After the swap one stone is on the board again, after any other answer two.
    expect(counts("hex7_2p", 3)).toEqual([49, 49 * 49, 49 * (48 * 47 + 48)]);
  });

  it("meets the counts that follow from the rules while nobody can have four in a row", () => {
    // The first win of three players comes with the tenth stone, so every column is open until one is full.
    expect(counts("connect4_8x7_3p", 7)).toEqual([1, 2, 3, 4, 5, 6, 7].map((d) => 8 ** d));
    expect(perft(createGame("connect4_8x7_3p"), 8)).toBe(8 ** 8 - 8);
    expect(counts("connect4_9x7_4p", 7)).toEqual([1, 2, 3, 4, 5, 6, 7].map((d) => 9 ** d));
  });

  it("counts one way to play nothing", () => {
    expect(perft(createGame("othello6_2p"), 0)).toBe(1);
  });
});
