import { describe, expect, it, vi } from "vitest";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { createTally, distinctOpenings, playBlock, playGame } from "../play/match.ts";
import { BASELINES, createBaseline } from "./catalog.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const scoreOf = (configKey: string, candidate: string, opponent: string, blocks: number) => {
  const game = createGame(configKey);
  const opponents = Array.from({ length: game.players - 1 }, () => createBaseline(opponent, game));
  const tally = createTally(game.players);
  const player = createBaseline(candidate, game);
  tally.add(distinctOpenings(game, 4, 17, blocks).map((seed) => playBlock(game, player, opponents, 4, seed)));
  return tally.score;
};

describe("the baselines", () => {
  it("are the six that never change", () => {
    expect(BASELINES).toEqual(["random", "mcts-100", "mcts-1000", "mcts-5000", "alphabeta-2", "alphabeta-4"]);
    for (const name of BASELINES) expect(createBaseline(name, createGame("othello6_2p")).name).toBe(name);
  });

  it("suggest the nearest name for a wrong one", () => {
    expect(() => createBaseline("mcts-10000", createGame("othello6_2p"))).toThrow(/Did you mean/);
  });

  it.each(CONFIG_KEYS)("play %s legally, and beat random play when they think", (configKey) => {
    const players = createGame(configKey).players;
    for (const name of ["mcts-100", "alphabeta-2"])
      expect(scoreOf(configKey, name, "random", 10)).toBeGreaterThan(1.4 / players);
  });

  it("grow stronger with the effort they spend", () => {
    expect(scoreOf("othello6_2p", "mcts-1000", "mcts-100", 12)).toBeGreaterThan(0.6);
    expect(scoreOf("connect4_7x6_2p", "alphabeta-4", "alphabeta-2", 12)).toBeGreaterThan(0.55);
  });

  it("play the same game again from the same seed, and another from another", () => {
    const game = createGame("connect4_7x6_2p");
    const play = (seed: number) =>
      playGame(game, [createBaseline("mcts-100", game), createBaseline("alphabeta-2", game)], 2, seed).positions;
    expect(play(3)).toEqual(play(3));
    expect(play(3)).not.toEqual(play(4));
  });

  it("take a win at hand and stop a loss", () => {
    const game = createGame("connect4_7x6_2p");
    for (const name of ["mcts-1000", "alphabeta-2", "alphabeta-4"]) {
      const player = createBaseline(name, game);
      player.newGame(1);
      const state = game.newState();
      for (const text of ["4", "1", "4", "1", "4"]) game.play(state, game.parseMove(text));
      expect(game.formatMove(player.choose(state))).toBe("4");
      game.play(state, game.parseMove("7"));
      expect(game.formatMove(player.choose(state))).toBe("4");
    }
  });
});
