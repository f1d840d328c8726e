/** The union of segments from anywhere: every game once. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONFIG, playedGames } from "../../../../test/support/played-games.ts";
import { type ArenaBench, type Input, made, openArenaBench } from "../../../../test/unit/workloads/arena-bench.ts";
import { decodeGames, encodeGames } from "../files/games-file.ts";
import { decodeNpz, encodeNpz } from "../files/npz.ts";
import { createGame } from "../games/catalog.ts";
import { rowsOfGames } from "../play/rows-of-games.ts";

let arena: ArenaBench;
beforeAll(() => {
  arena = openArenaBench();
});
afterAll(() => arena.close());

const game = createGame(CONFIG);
const input = (name: string, seed: number, count = 5): Input =>
  arena.put(name, encodeGames(CONFIG, playedGames(count, seed)).bytes);
const union = (inputs: readonly Input[]) =>
  arena.done({ kind: "export", config_key: CONFIG, parameters: { mode: "union" }, inputs: [...inputs] });
const movesOf = (path: string) =>
  decodeGames(readFileSync(path)).games.map(({ moves }) => Buffer.from(moves).toString("hex"));

test("holds every game once, whoever brought it, and says how many came twice", async () => {
  const shared = playedGames(3, 9);
  const one = arena.put("games-0000", encodeGames(CONFIG, [...playedGames(5, 1), ...shared]).bytes);
  const two = arena.put("games-0001", encodeGames(CONFIG, [...shared, ...playedGames(5, 2)]).bytes);
  const done = await union([one, two]);
  expect(done.metrics).toMatchObject({ games: 13, new_games: 13, duplicates: 3 });
  const moves = movesOf(made(done, "game_set").path);
  expect(new Set(moves).size).toBe(13);
  expect(moves).toEqual([...movesOf(one.path), ...movesOf(two.path).slice(3)]);
});

test("with the set so far only what it did not have is fresh, and nothing of it is lost", async () => {
  const first = await union([input("games-0000", 1), input("games-0001", 2)]);
  const set = [
    { ...made(first, "game_set"), name: "set-games" },
    { ...made(first, "sample_set"), name: "set-samples" },
  ];
  const again = await union([...set, input("games-0000", 2), input("games-0001", 3)]);
  expect(again.metrics).toMatchObject({ games: 15, new_games: 5, duplicates: 5 });
  const { samples } = decodeNpz(readFileSync(made(again, "fresh_rows").path));
  expect(samples.count).toBe(again.metrics.new_rows);
  expect(samples.count).toBe(rowsOfGames(game, playedGames(5, 3)).count);
  expect(movesOf(made(again, "game_set").path).slice(0, 10)).toEqual(movesOf(made(first, "game_set").path));
});

test("rows of a segment stay with its games, and rows without games are kept behind them, each once", async () => {
  const games = playedGames(4, 5);
  const rows = rowsOfGames(game, games);
  const alone = arena.put("rows-0000", encodeNpz(rowsOfGames(game, playedGames(2, 6))).bytes);
  const inputs = [
    arena.put("games-0000", encodeGames(CONFIG, games).bytes),
    arena.put("samples-0000", encodeNpz(rows).bytes),
    alone,
    { ...alone, name: "rows-0001" },
  ];
  const done = await union(inputs);
  expect(done.metrics).toMatchObject({ games: 6, duplicates: 2 });
  const { samples } = decodeNpz(readFileSync(made(done, "sample_set").path));
  expect([...new Set(samples.game)]).toEqual([0, 1, 2, 3, 4, 5]);
  expect([...samples.codes.subarray(0, rows.codes.length)]).toEqual([...rows.codes]);
});

test("the rows of games that came without any are true to them", async () => {
  const games = playedGames(4, 7);
  const segment = [
    arena.put("games", encodeGames(CONFIG, games).bytes),
    arena.put("samples", encodeNpz(rowsOfGames(game, games)).bytes),
  ];
  const parameters = { wide: 8, narrow: 8, simulations: 4, parity_share: 0 };
  const { metrics } = await arena.run({ kind: "validation", config_key: CONFIG, parameters, inputs: segment });
  expect(metrics).toMatchObject({ label_errors: 0, illegal_games: 0 });
});

test("a file with a game that breaks the rules fails the job and is named", async () => {
  const [first, ...rest] = playedGames(3, 8);
  const lie = arena.put("games-0000", encodeGames(CONFIG, [{ ...first!, outcome: 2 }, ...rest]).bytes);
  const job = { kind: "export", config_key: CONFIG, parameters: { mode: "union" }, inputs: [lie] };
  const outcome = await arena.run(job);
  expect(outcome).toMatchObject({ status: "failed", error: { code: "ARENA_FILE_CORRUPT" } });
  expect(outcome.reason).toContain("games-0000");
});
