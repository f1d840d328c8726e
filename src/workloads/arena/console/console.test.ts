import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { encodeModel } from "../files/model-file.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { createArenaConsole } from "./console.ts";
import type { Table } from "./table.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const arena = createArenaConsole();

/** Plays a table to its end, the person always taking the first legal move. */
const playOut = (table: Table): void => {
  while (!table.isOver()) {
    if (table.turn() === table.seat) expect(table.play(table.legalMoves()[0]!)).toBe(true);
    else table.reply();
  }
};

describe("the console of the arena", () => {
  it("lists every game and shows each in detail", () => {
    expect(arena.list().map(({ config_key }) => config_key)).toEqual(CONFIG_KEYS);
    expect(arena.list().filter(({ is_default }) => is_default)).toHaveLength(1);
    const details = arena.show("othello6_2p");
    expect(details).toMatchObject({ players: 2, board: "6x6", moves: 36, most_plies: 32 });
    expect(details.symmetries).toHaveLength(8);
    expect(details.example_moves).toEqual(["c2", "b3", "e4", "d5"]);
    expect(details.drawing).toContain("a b c d e f");
    expect(() => arena.show("chess")).toThrow(/no built-in game/);
  });

  it("counts ways to play", () => {
    expect(arena.perft("othello8_2p", 6)).toBe(8200);
  });

  it.each(CONFIG_KEYS)("seats a person at %s in every seat, to the end of the game", async (configKey) => {
    for (let seat = 0; seat < createGame(configKey).players; seat += 1) {
      const table = await arena.open({ configKey, seat, baseline: "random", seed: 3 });
      playOut(table);
      expect(table.legalMoves()).toEqual([]);
      expect(table.play("a1")).toBe(false);
    }
  });

  it("refuses a seat that is not there, and an opponent that nobody knows", async () => {
    await expect(arena.open({ configKey: "othello6_2p", seat: 2, seed: 1 })).rejects.toMatchObject({
      code: "INVALID_SEAT",
    });
    await expect(arena.open({ configKey: "othello6_2p", seat: 0, baseline: "gnu", seed: 1 })).rejects.toMatchObject({
      code: "UNKNOWN_BASELINE",
    });
    await expect(
      arena.open({ configKey: "othello6_2p", seat: 0, modelPath: "no-such-file", seed: 1 }),
    ).rejects.toMatchObject({
      code: "ARENA_FILE_NOT_FOUND",
    });
  });

  it("plays a model from its file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "arena-console-"));
    try {
      const game = createGame("connect4_8x7_3p");
      const modelPath = join(folder, "model");
      await writeFile(modelPath, encodeModel(createNetwork(shapeOf(game, 8, 8), seededRandom(1))).bytes);
      const table = await arena.open({ configKey: game.configKey, seat: 1, modelPath, simulations: 10, seed: 1 });
      playOut(table);
      expect(table.isOver()).toBe(true);
      await expect(arena.open({ configKey: "hex7_2p", seat: 0, modelPath, seed: 1 })).rejects.toMatchObject({
        code: "ARENA_FILE_KIND",
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a table", () => {
  it("takes back to the person's last turn, and the opponent answers the same move in the same way", async () => {
    const table = await arena.open({ configKey: "othello6_2p", seat: 0, baseline: "alphabeta-2", seed: 5 });
    const start = table.draw();
    expect(table.undo()).toBe(false);
    expect(table.play("c2")).toBe(true);
    const answer = table.reply();
    const before = table.draw();
    expect(table.play(table.legalMoves()[0]!)).toBe(true);
    expect(table.undo()).toBe(true);
    expect(table.draw()).toBe(before);
    expect(table.undo()).toBe(true);
    expect(table.draw()).toBe(start);
    expect(table.moves()).toEqual([]);
    table.play("c2");
    expect(table.reply()).toBe(answer);
    expect(table.moves()).toEqual(["c2", answer]);
  });

  it("refuses a move that is illegal, unreadable or out of turn, and changes nothing", async () => {
    const table = await arena.open({ configKey: "othello6_2p", seat: 1, baseline: "random", seed: 5 });
    const start = table.draw();
    expect(table.play("c2")).toBe(false);
    table.reply();
    const after = table.draw();
    for (const text of ["c3", "nonsense", "", "z9"]) expect(table.play(text)).toBe(false);
    expect(table.draw()).toBe(after);
    expect(after).not.toBe(start);
  });
});
