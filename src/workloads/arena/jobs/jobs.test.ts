/** The built-in games behind the protocol: real child processes, and the bare loop as the yardstick of every number. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bareLoop, type RoundReport } from "../../../../test/support/bare-loop/bare-loop.ts";
import { createPool } from "../../../../test/support/bare-loop/pool.ts";
import { openBench, PATIENT, type WorkloadBench } from "../../../../test/unit/workloads/bench.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { createRunner, type JobOutcome, type JobRequest, type PairsMessage, type Runner } from "../../process/index.ts";
import { decodeGames } from "../files/games-file.ts";
import { encodeModel } from "../files/model-file.ts";
import { decodeNpz } from "../files/npz.ts";
import { createGame } from "../games/catalog.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork } from "../net/network.ts";
import { mixSeed } from "../numerics/samplers.ts";
import { DEFAULT_LOOP, type LoopConfig } from "../play/defaults.ts";
import { createTally } from "../play/match.ts";
import { arenaDeclaration } from "./declaration.ts";

let bench: WorkloadBench;
let runner: Runner;
beforeAll(() => {
  bench = openBench();
  const place = { folder: join(bench.folder, "arena"), inputFolders: [bench.folder] };
  runner = createRunner(arenaDeclaration({ limits: PATIENT }), place, bench.edges);
});
afterAll(async () => {
  await runner.close();
  await bench.close();
});

const CONFIG_KEY = "connect4_7x6_2p";
const SMALL = { wide: 8, narrow: 8 };
type Input = JobRequest["inputs"][number];

const run = async (changes: Partial<JobRequest>) => {
  const pairs: PairsMessage[] = [];
  const outcome = await runner.runJob(bench.job({ config_key: CONFIG_KEY, ...changes }), {
    pairs: (message) => pairs.push(message),
  });
  return { outcome, blocks: pairs.flatMap(({ blocks }) => blocks) };
};

const done = (outcome: JobOutcome): JobOutcome => {
  expect(outcome, outcome.stderr_tail).toMatchObject({ status: "completed" });
  return outcome;
};

/** An artifact of one job as an input of the next. */
const inputOf = (outcome: JobOutcome, kind: string, name = kind): Input => {
  const { file, sha256 } = outcome.artifacts.find((each) => each.kind === kind)!;
  return { name, path: file, sha256 };
};

test("a loop of jobs is the bare loop, number for number", async () => {
  const game = createGame(CONFIG_KEY);
  const simulations = 6;
  const config: LoopConfig = {
    ...DEFAULT_LOOP,
    ...SMALL,
    seed: 11,
    gamesPerRound: 5,
    search: { ...DEFAULT_LOOP.search, simulations },
    gateSearch: { ...DEFAULT_LOOP.gateSearch, simulations },
    gateBatchBlocks: 3,
    replay: { base: 100, share: 0.4, most: 1_000 },
  };
  const pool = createPool(CONFIG_KEY, 1);
  const reports: RoundReport[] = [];
  try {
    await bareLoop(game, config, {
      pool,
      gate: (counts) => (counts.reduce((a, b) => a + b, 0) < 6 ? "continue" : "promote"),
      nowMs: () => 0,
      stop: (rounds) => rounds >= 2,
      onRound: (report) => reports.push(report),
    });
  } finally {
    await pool.close();
  }

  const { outcome: fresh } = await run({
    kind: "training",
    parameters: { ...SMALL, network_seed: config.seed, fresh: true },
  });
  expect(done(fresh).metrics).toEqual({ fresh: 1, steps: 0, rows: 0 });
  let champion = inputOf(fresh, "model");
  let checkpoint = [inputOf(fresh, "checkpoint")];
  const samples: Input[] = [];
  let rows = 0;
  for (const round of [1, 2]) {
    let newRows = 0;
    // Two jobs share the games of a round, unevenly.
    for (const [first_game, games] of [
      [0, 2],
      [2, 3],
    ] as const) {
      const { outcome } = await run({
        seed: mixSeed(config.seed, round),
        parameters: { games, first_game, simulations, format: round === 1 ? "npz" : "arena" },
        inputs: [champion],
      });
      newRows += done(outcome).metrics.rows!;
      samples.push(inputOf(outcome, "samples", `samples-${samples.length}`));
    }
    rows += newRows;
    const trained = await run({
      kind: "training",
      seed: mixSeed(config.seed ^ 0x5bd1e995, round),
      parameters: {
        ...SMALL,
        network_seed: config.seed,
        new_rows: newRows,
        total_rows: rows,
        window_base: 100,
        window_share: 0.4,
        window_most: 1_000,
      },
      inputs: [...samples, ...checkpoint],
    });
    const report = reports[round - 1]!;
    expect(done(trained.outcome).metrics).toMatchObject({
      policy_loss: report.policyLoss,
      value_loss: report.valueLoss,
      rows: report.rows,
    });
    checkpoint = [inputOf(trained.outcome, "checkpoint")];
    const candidate = inputOf(trained.outcome, "model", "candidate");

    const tally = createTally(game.players);
    for (const first_block of [0, 3]) {
      const { outcome, blocks } = await run({
        kind: "evaluation",
        seed: mixSeed(config.seed ^ 0x27d4eb2f, round),
        parameters: { blocks: 3, first_block, simulations, opening_plies: config.gateOpeningPlies },
        inputs: [candidate, { ...champion, name: "opponent" }],
      });
      done(outcome);
      tally.add(blocks.map(({ scores }) => ({ scores, positions: [] })));
    }
    expect([...tally.counts]).toEqual(report.gateCounts);
    champion = { ...candidate, name: "model" };
  }
});

test("what it writes can be read: games play through, rows are in the archive", async () => {
  const { outcome } = await run({
    seed: 2 ** 40 + 5,
    parameters: { ...SMALL, games: 3, simulations: 4, format: "npz" },
  });
  const { artifacts } = done(outcome);
  const bytesOf = (kind: string) => readFileSync(artifacts.find((each) => each.kind === kind)!.file);
  expect(decodeGames(bytesOf("games")).games).toHaveLength(3);
  const { samples } = decodeNpz(bytesOf("samples"));
  expect(samples.count).toBe(outcome.metrics.rows);
  expect(new Set(samples.game)).toEqual(new Set([0, 1, 2]));
});

test("a job that is wrong is wrong for ever, and says why", async () => {
  const wrong: readonly [Partial<JobRequest>, RegExp][] = [
    [{ config_key: "chess_2p" }, /no built-in game "chess_2p"/],
    [{ parameters: { gmaes: 3 } }, /gmaes/],
    [{ parameters: { games: 0 } }, /games/],
    [{ parameters: { wide: 9 } }, /multiples of 8/],
    [{ kind: "training", parameters: {} }, /nothing to train on/],
    [{ kind: "evaluation", parameters: { candidate: "random", opponent: "nobody" } }, /nor a baseline "nobody"/],
  ];
  for (const [changes, reason] of wrong) {
    const { outcome } = await run(changes);
    expect(outcome).toMatchObject({ status: "failed", error: { class: "bad_input" } });
    expect(outcome.reason).toMatch(reason);
  }
  expect(runner.child?.usable).toBe(true);
});

test("a model of another game is refused with the file's own error", async () => {
  const other = encodeModel(createNetwork(shapeOf(createGame("hex7_2p"), 8, 8), seededRandom(1)));
  const file = join(bench.folder, "hex.arena");
  writeFileSync(file, other.bytes);
  const { outcome } = await run({ inputs: [{ name: "model", path: file, sha256: other.hash }] });
  expect(outcome).toMatchObject({ error: { class: "bad_input", code: "ARENA_FILE_KIND" } });
});

test("one side of a match may search with parameters of its own", async () => {
  const game = createGame("connect4_7x6_2p");
  const model = encodeModel(createNetwork(shapeOf(game, 8, 8), seededRandom(1)));
  const file = join(bench.folder, "own-side.arena");
  writeFileSync(file, model.bytes);
  const inputs = ["candidate", "opponent"].map((name) => ({ name, path: file, sha256: model.hash }));
  const score = async (own: object) => {
    const parameters = { blocks: 12, simulations: 24, opening_plies: 4, ...own };
    const { outcome } = await run({ kind: "evaluation", seed: 3, parameters, inputs });
    return done(outcome).metrics.score!;
  };
  expect(await score({})).toBe(0.5);
  expect(await score({ candidate_search: { exploration: 0.6 }, opponent_search: {} })).toBe(0.5);
  const weak = await score({ candidate_search: { simulations: 1 } });
  expect(weak).toBeLessThan(0.35);
  expect(await score({ opponent_search: { simulations: 1 } })).toBeCloseTo(1 - weak, 10);
  const { outcome } = await run({ kind: "evaluation", parameters: { candidate_search: { exploration: -1 } }, inputs });
  expect(outcome.reason).toMatch(/candidate_search/);
});
