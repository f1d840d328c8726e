import { describe, expect, it, vi } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { faultOfGame } from "../files/games-content.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import { isOver, OUTCOME, PLY, TURN } from "../games/game.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch, DEFAULT_SEARCH } from "../search/puct.ts";
import { type Beside, DEFAULT_SELF_PLAY, selfPlay } from "./self-play.ts";

// Real work on a busy machine; the limit is there for what hangs, not for what is slow.
vi.setConfig({ testTimeout: 60_000 });

const searchOf = (configKey: string, seed: number) => {
  const game = createGame(configKey);
  const network = createNetwork(shapeOf(game, 8, 8), seededRandom(seed));
  return createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 16 });
};

const play = (configKey: string, seeds: readonly number[], changes = {}, beside: Beside = {}) => {
  const game = createGame(configKey);
  const search = searchOf(configKey, 1);
  return { game, ...selfPlay(game, search, { ...DEFAULT_SELF_PLAY, ...changes }, seeds, beside) };
};

describe("self-play", () => {
  it.each(CONFIG_KEYS)("of %s records the positions of its games as their movers saw them", (configKey) => {
    const { game, games, samples } = play(configKey, [1, 2, 3]);
    const state = game.newState();
    const moves = new Int32Array(game.moves);
    const codes = new Uint8Array(game.cells);
    let row = 0;
    games.forEach((record, index) => {
      game.reset(state);
      for (const move of record.moves) {
        expect(game.isLegal(state, move)).toBe(true);
        if (row < samples.count && samples.game[row] === index && samples.ply[row] === state[PLY]) {
          game.encode(state, codes, 0);
          expect(samples.codes.slice(row * game.cells, (row + 1) * game.cells)).toEqual(codes);
          const view = game.views[state[TURN]!]!;
          const legal = new Uint8Array(game.moves);
          for (const m of moves.subarray(0, game.legalMoves(state, moves))) legal[view[m]!] = 1;
          expect(samples.legal.slice(row * game.moves, (row + 1) * game.moves)).toEqual(legal);
          // The move that was played had visits.
          expect(samples.policy[row * game.moves + view[move]!]).toBeGreaterThan(0);
          for (let k = 0; k < game.players; k += 1) {
            const seat = (state[TURN]! + k) % game.players;
            const share = record.outcome === game.players ? 1 / game.players : record.outcome === seat ? 1 : 0;
            expect(samples.outcome[row * game.players + k]).toBeCloseTo(share, 6);
          }
          row += 1;
        }
        game.play(state, move);
      }
      expect(isOver(state)).toBe(true);
      expect(state[OUTCOME]).toBe(record.outcome);
    });
    expect(row).toBe(samples.count);
  });

  it("plays a game from its seed alone, whatever was played before it", () => {
    const together = play("othello6_2p", [7, 8, 9]);
    const alone = play("othello6_2p", [8]);
    expect(together.games[1]).toEqual(alone.games[0]);
    expect(together.games[0]).not.toEqual(together.games[2]);
  });

  it("starts from the opening position when no random plies are wanted", () => {
    const { samples } = play("othello6_2p", [1, 2, 3, 4], { randomPlies: 0 });
    expect(samples.ply.filter((ply) => ply === 0)).toHaveLength(4);
  });

  it("plays the favourite more often as the temperature falls", () => {
    const seeds = Array.from({ length: 30 }, (_, i) => i);
    const favourites = (temperature: number) => {
      const { game, games, samples } = play("connect4_7x6_2p", seeds, {
        temperature,
        lateTemperature: temperature,
        randomPlies: 0,
      });
      let hits = 0;
      for (let row = 0; row < samples.count; row += 1) {
        const policy = samples.policy.subarray(row * game.moves, (row + 1) * game.moves);
        if (policy[games[samples.game[row]!]!.moves[samples.ply[row]!]!] === Math.max(...policy)) hits += 1;
      }
      return hits / samples.count;
    };
    expect(favourites(0.1)).toBeGreaterThan(0.95);
    expect(favourites(1)).toBeLessThan(0.8);
  });
});

describe("playout-cap randomisation", () => {
  it("learns from the share of moves that it searches in full, and plays all others fast", () => {
    const all = play("othello6_2p", [1, 2, 3, 4, 5, 6]);
    const some = play("othello6_2p", [1, 2, 3, 4, 5, 6], { fullShare: 0.25, fastSimulations: 4 });
    const share = some.samples.count / all.samples.count;
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.45);
    const policies = (samples: typeof all.samples) =>
      Array.from({ length: samples.count }, (_, row) =>
        samples.policy.slice(row * samples.moves, (row + 1) * samples.moves).reduce((sum, each) => sum + each, 0),
      );
    for (const sum of policies(some.samples)) expect(sum).toBeCloseTo(1, 5);
    expect(some.games.every(({ outcome }) => outcome <= 2)).toBe(true);
  });

  it("is the same game for the same seed, and another without it", () => {
    const changes = { fullShare: 0.5, fastSimulations: 4 };
    expect(play("hex7_2p", [3], changes).games).toEqual(play("hex7_2p", [3], changes).games);
    expect(play("hex7_2p", [3], changes).games).not.toEqual(play("hex7_2p", [3]).games);
    // What is off draws no number.
    expect(play("hex7_2p", [3], { fastSimulations: 4 }).games).toEqual(play("hex7_2p", [3]).games);
  });
});

describe("games that draw on more than their network", () => {
  const KEY = "connect4_7x6_2p";
  const SEEDS = [11, 12, 13, 14, 15, 16];

  it("begin at positions of the archive, are whole games, and are learned from there on", () => {
    const archive = play(KEY, [1, 2]).games;
    const { game, games, samples } = play(KEY, SEEDS, { archiveShare: 1 }, { archive });
    // Without an archive the first row of a game stands at ply 4 at the latest.
    const firsts = games.flatMap((_, n) => samples.ply[samples.game.indexOf(n)] ?? []);
    const late = firsts.findIndex((ply) => ply > 4);
    const until = firsts[late]!;
    const begun = archive.filter(
      ({ moves }) => moves.slice(0, until).join() === games[late]!.moves.slice(0, until).join(),
    );
    expect(begun).not.toEqual([]);
    const state = game.newState();
    for (const record of games) expect(faultOfGame(game, record, state)).toBeUndefined();
    expect(play(KEY, SEEDS, { archiveShare: 1 }, { archive }).games).toEqual(games);
  });

  it("begin at harder positions the more of them they may choose from", () => {
    const archive = play(KEY, [1, 2, 3, 4]).games;
    const many = Array.from({ length: 40 }, (_, n) => 100 + n);
    const judge = searchOf(KEY, 1);
    const certainty = (archiveChoices: number) => {
      const { game, games, samples } = play(KEY, many, { archiveShare: 1, archiveChoices }, { archive });
      const sure = games.flatMap(({ moves }, n) => {
        const row = samples.game.indexOf(n);
        if (row < 0) return [];
        const state = game.newState();
        for (const move of moves.subarray(0, samples.ply[row]!)) game.play(state, move);
        judge.reset();
        judge.run(state, undefined, 8);
        return [Math.max(...judge.values)];
      });
      return sure.reduce((sum, each) => sum + each, 0) / sure.length;
    };
    expect(certainty(4)).toBeLessThan(certainty(1));
    const hard = { archiveShare: 1, archiveChoices: 4 };
    expect(play(KEY, SEEDS, hard, { archive }).games).toEqual(play(KEY, SEEDS, hard, { archive }).games);
    expect(play(KEY, SEEDS, { archiveChoices: 4 }).games).toEqual(play(KEY, SEEDS).games);
  });

  it("let another network play one seat, and learn nothing from its moves", () => {
    const opponent = searchOf(KEY, 9);
    const met = play(KEY, SEEDS, { opponentShare: 1, randomPlies: 0 }, { opponent });
    const seats = (index: number) =>
      new Set(Array.from(met.samples.ply).flatMap((ply, row) => (met.samples.game[row] === index ? [ply % 2] : [])));
    for (const index of SEEDS.keys()) expect(seats(index).size).toBe(1);
    expect(new Set(SEEDS.map((_, index) => [...seats(index)][0])).size).toBe(2);
    expect(play(KEY, SEEDS, { opponentShare: 1, randomPlies: 0 }, { opponent }).games).toEqual(met.games);
  });

  it("are the games they always were where the plan asks for nothing of it", () => {
    const plain = play(KEY, SEEDS).games;
    const archive = play(KEY, [1]).games;
    expect(play(KEY, SEEDS, {}, { archive, opponent: searchOf(KEY, 9) }).games).toEqual(plain);
    expect(play(KEY, SEEDS, { archiveShare: 1, opponentShare: 1 }).games).toEqual(plain);
  });
});
