/** What the judge of games finds, and that it finds nothing where there is nothing. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ArenaBench, type Input, made, openArenaBench } from "../../../../test/unit/workloads/arena-bench.ts";
import type { JobRequest } from "../../process/index.ts";
import { decodeGames, encodeGames } from "../files/games-file.ts";
import { decodeNpz, encodeNpz } from "../files/npz.ts";
import { createGame } from "../games/catalog.ts";
import type { Samples } from "../net/samples.ts";
import type { GameRecord } from "../play/self-play.ts";
import { pickRows } from "./export-rows.ts";
import { chosenGames } from "./parity.ts";

const GAMES = 6;
const SEED = 2 ** 35 + 7;
const PLAYED = { wide: 8, narrow: 8, simulations: 6, first_game: 40, random_plies: 3 };

interface Segment {
  readonly configKey: string;
  readonly games: readonly GameRecord[];
  readonly samples: Samples;
  readonly inputs: readonly [Input, Input];
}

let arena: ArenaBench;

const play = async (configKey: string, more: JobRequest["parameters"] = {}): Promise<Segment> => {
  const parameters = { ...PLAYED, games: GAMES, format: "npz", ...more };
  const played = await arena.done({ config_key: configKey, seed: SEED, parameters });
  const inputs = [made(played, "games"), made(played, "samples")] as const;
  return {
    configKey,
    games: decodeGames(readFileSync(inputs[0].path)).games,
    samples: decodeNpz(readFileSync(inputs[1].path)).samples,
    inputs,
  };
};

const validate = (segment: Segment, inputs: readonly Input[], parameters: JobRequest["parameters"] = {}) =>
  arena.run({
    kind: "validation",
    config_key: segment.configKey,
    parameters: { ...PLAYED, games: GAMES, game_seed: SEED, parity_share: 1, ...parameters },
    inputs: [...inputs],
  });

let honest: Segment;
beforeAll(async () => {
  arena = openArenaBench();
  honest = await play("connect4_7x6_2p");
});
afterAll(() => arena.close());

const CLEAN = { label_errors: 0, illegal_games: 0, parity_failed: 0 };

describe("a segment of honest games", () => {
  test("is clean with playout-cap randomisation and forced playouts, and not without the words for them", async () => {
    const options = { full_share: 0.5, fast_simulations: 3, forced_playouts: 2, simulations: 16 };
    const segment = await play("othello6_2p", options);
    expect((await validate(segment, segment.inputs, options)).metrics).toMatchObject(CLEAN);
    const other = await validate(segment, segment.inputs, { ...options, forced_playouts: 0 });
    expect(other.metrics.parity_failed).toBeGreaterThan(0);
  });

  for (const configKey of ["connect4_7x6_2p", "othello6_2p", "hex7_2p", "connect4_8x7_3p"])
    test(`of ${configKey} is clean, and its figures are those of the games`, async () => {
      const segment = await play(configKey);
      const { status, metrics, artifacts } = await validate(segment, segment.inputs);
      expect(status).toBe("completed");
      expect(artifacts).toEqual([]);
      const plies = segment.games.map(({ moves }) => moves.length);
      const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
      const { players } = segment.samples;
      expect(metrics).toMatchObject({
        ...CLEAN,
        games: GAMES,
        rows: segment.samples.count,
        parity_checked: GAMES,
        plies_sum: sum(plies),
        plies_squares: sum(plies.map((n) => n * n)),
        positions_total: sum(plies),
        surprise_count: GAMES,
      });
      for (let outcome = 0; outcome <= players; outcome += 1)
        expect(metrics[`outcome_${outcome}`]).toBe(segment.games.filter((each) => each.outcome === outcome).length);
      expect(metrics.positions_repeated).toBeLessThan(sum(plies) / 2);
      expect(metrics.entropy_sum).toBeGreaterThan(0);
      expect(metrics.surprise_squares).toBeGreaterThan(0);
      expect(Math.abs(metrics.surprise_sum!)).toBeLessThanOrEqual(GAMES);
    });

  test("gives the same findings in another process, and plays a share of the games again, at least one", async () => {
    const parameters = { ...PLAYED, games: GAMES, game_seed: SEED, parity_share: 0 };
    const job = { kind: "validation", config_key: honest.configKey, parameters, inputs: [...honest.inputs] };
    const [here, there] = [await arena.done(job), await arena.done({ ...job, seed: 99 }, arena.child())];
    expect(there.metrics).toEqual(here.metrics);
    expect(here.metrics).toMatchObject({ ...CLEAN, parity_checked: 1 });
  });
});

describe("a segment with", () => {
  const withSamples = (change: (samples: Samples) => void): Input => {
    const changed = structuredClone(honest.samples);
    change(changed);
    return arena.put("samples", encodeNpz(changed).bytes);
  };
  const withGames = (change: (games: GameRecord[]) => void): Input => {
    const changed = structuredClone([...honest.games]);
    change(changed);
    return arena.put("games", encodeGames(honest.configKey, changed).bytes);
  };

  test("turned value targets has an error in each row", async () => {
    const decided = honest.games.findIndex(({ outcome }) => outcome < 2);
    const rows = [...honest.samples.game].filter((index) => index === decided).length;
    const samples = withSamples(({ outcome, game }) => {
      game.forEach((index, row) => {
        if (index === decided) outcome.subarray(row * 2, row * 2 + 2).reverse();
      });
    });
    const { metrics } = await validate(honest, [honest.inputs[0], samples]);
    expect(metrics).toMatchObject({ label_errors: rows, illegal_games: 0, parity_failed: 1 });
  });

  test("another position, other legal moves, a move without a share, or a row too many has one error each", async () => {
    const changes: readonly ((samples: Samples) => void)[] = [
      ({ codes }) => {
        const at = codes.indexOf(1);
        codes[at] = 2;
      },
      ({ legal, policy }) => {
        const at = policy.findIndex((share, i) => share === 0 && legal[i] === 1);
        legal[at] = 0;
      },
      ({ ply }) => {
        ply[ply.length - 1] = 41;
      },
      ({ game }) => {
        game[game.length - 1] = GAMES;
      },
    ];
    for (const change of changes) {
      const { metrics } = await validate(honest, [honest.inputs[0], withSamples(change)]);
      expect(metrics).toMatchObject({ label_errors: 1, illegal_games: 0, parity_failed: 1 });
    }
  });

  test("targets that only the search can tell is found by playing again", async () => {
    const samples = withSamples(({ search }) => {
      for (let i = 0; i < search.length; i += 2) search.subarray(i, i + 2).reverse();
    });
    const { metrics } = await validate(honest, [honest.inputs[0], samples]);
    expect(metrics.label_errors).toBe(0);
    expect(metrics.parity_failed).toBeGreaterThan(0);
  });

  test("games that break the rules, lie about their end, or are missing has so many illegal ones", async () => {
    const wrong: readonly [(games: GameRecord[]) => void, number][] = [
      [(games) => games[2]!.moves.fill(0), 1],
      [(games) => games[3]!.moves.fill(255), 1],
      [(games) => games.splice(1, 1, { ...games[1]!, outcome: games[1]!.outcome === 0 ? 1 : 0 }), 1],
      [(games) => games.splice(0, 1, { ...games[0]!, moves: games[0]!.moves.slice(0, 3) }), 1],
      [(games) => games.splice(4), 2],
    ];
    for (const [change, illegal] of wrong) {
      const { status, metrics } = await validate(honest, [withGames(change), honest.inputs[1]]);
      expect(status).toBe("completed");
      expect(metrics.illegal_games).toBe(illegal);
    }
  });

  test("games of other seeds than were asked for fails parity without being chosen for it", async () => {
    const { metrics } = await validate(honest, honest.inputs, { first_game: 41, parity_share: 0 });
    expect(metrics).toMatchObject({ parity_checked: GAMES, parity_failed: GAMES, label_errors: 0 });
  });

  test("other parameters than it was played with fails parity", async () => {
    const { metrics } = await validate(honest, honest.inputs, { simulations: 7 });
    expect(metrics).toMatchObject({ label_errors: 0, illegal_games: 0, parity_checked: GAMES });
    expect(metrics.parity_failed).toBeGreaterThan(0);
  });

  test("a file that cannot be read, or holds nothing, is a failure that names it", async () => {
    const broken = Buffer.from("no file");
    const none = encodeNpz(pickRows(honest.samples, [], createGame(honest.configKey))).bytes;
    const [games, samples] = honest.inputs;
    const cases: readonly [readonly Input[], string, RegExp][] = [
      [[arena.put("games", broken), samples], "ARENA_FILE_CORRUPT", /Input "games"/],
      [[games, arena.put("samples", broken)], "ARENA_FILE_CORRUPT", /Input "samples"/],
      [[arena.put("games", encodeGames(honest.configKey, []).bytes), samples], "ARENA_NOTHING_MADE", /no games/],
      [[games, arena.put("samples", none)], "ARENA_NOTHING_MADE", /no rows/],
      [[samples], "WORKLOAD_BAD_INPUT", /no input "games"; it has: samples/],
    ];
    for (const [inputs, code, reason] of cases) {
      const outcome = await validate(honest, inputs);
      expect(outcome).toMatchObject({ status: "failed", error: { class: "bad_input", code } });
      expect(outcome.reason).toMatch(reason);
    }
  });
});

test("games are chosen by hash: a share of them, at least one, the same ones every time", () => {
  expect(chosenGames(100, 0.1, "a")).toEqual(chosenGames(100, 0.1, "a"));
  expect(chosenGames(100, 0.1, "a")).toHaveLength(10);
  expect(chosenGames(100, 0.1, "a")).not.toEqual(chosenGames(100, 0.1, "b"));
  expect(chosenGames(3, 0, "a")).toHaveLength(1);
  expect(chosenGames(3, 1, "a")).toEqual([0, 1, 2]);
});
