import { describe, expect, test } from "vitest";
import { pick, seededRandom } from "../../../kernel/index.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { isOver } from "../games/game.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { boardOf, networkViews } from "./board.ts";

describe.each(CONFIG_KEYS)("the board of %s", (configKey) => {
  const game = createGame(configKey);

  test("puts each stone where its move says, to the end of the game", () => {
    const random = seededRandom(7);
    const state = game.newState();
    while (!isOver(state)) {
      const before = boardOf(game, state);
      const move = before.legal[pick(random, before.legal.length)]!;
      if (move.cell !== null) expect(before.cells[move.cell]).toBe(0);
      else expect(move.text).toBe("swap");
      game.play(state, game.parseMove(move.text));
      const after = boardOf(game, state);
      if (move.cell !== null) expect(after.cells[move.cell]).toBe(before.turn + 1);
    }
    const end = boardOf(game, state);
    expect([end.legal, end.isOver]).toEqual([[], true]);
  });

  test("is seen by a network as shares that sum to 1", () => {
    const see = networkViews(game, createNetwork(shapeOf(game, 8, 8), seededRandom(1)));
    const state = game.newState();
    const { policy, values } = see(state)!;
    const sum = (shares: readonly number[]) => shares.reduce((total, share) => total + share, 0);
    expect(policy).toHaveLength(boardOf(game, state).legal.length);
    expect(sum(policy)).toBeCloseTo(1, 5);
    expect(sum(values)).toBeCloseTo(1, 9);
  });
});
