/** A workload in another language runs its own config through the whole loop, beside the built-in games. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../src/app/cli.ts";
import { seededRandom, systemClock } from "../../src/kernel/index.ts";
import { stageHistory } from "../../src/pipeline/tables.ts";
import { CONFIG, planned, QUICK, SOUND, soundness, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";

const NIM = "nim21_2p";
const PROGRAM = fileURLToPath(new URL("../../examples/workloads/nim.py", import.meta.url));

/** A command of ours with lines on its standard input. */
async function cli(args: readonly string[], lines: readonly string[]) {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: "1" },
    cwd: "/",
    stdin: Readable.from([lines.map((line) => `${line}\n`).join("")]),
    isTerminal: false,
    columns: 100,
    signal: new AbortController().signal,
  };
  const code = await runCli(args, io, { clock: systemClock(), random: seededRandom(1), actor: "tester" });
  return { code, ...said };
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, its config is not run through the loop\n");

test.skipIf(!hasPython)("the Python example learns its own game beside a built-in one", async () => {
  const own = owned(onTestFinished);
  const configFile = join(own.folder(), "ringrift.config.json");
  const nim = {
    command: "python3",
    args: [PROGRAM],
    kinds: ["selfplay", "training", "evaluation", "play"],
    config_keys: [NIM],
    baselines: ["random", "perfect"],
  };
  const plan = {
    seed: 3,
    games_per_iteration: 200,
    games_per_job: 50,
    least_rows: 100,
    // Enough for everybody on the ladder to be rated.
    rating_share: 0.5,
    gate: { batch_blocks: 20, most_blocks: 200 },
  };
  writeFileSync(configFile, JSON.stringify({ workloads: { nim }, plans: { [NIM]: plan, [CONFIG]: QUICK } }));
  const loop = await startLoop(own, {
    plans: planned({ most_iterations: 1 }, [NIM, CONFIG], configFile),
    slots: 2,
    configFile,
  });
  onTestFinished(loop.end);
  const run = (args: readonly string[], lines: readonly string[] = []) =>
    cli(["--config", configFile, "--data-dir", loop.dataDir, ...args], lines);
  const play = (args: readonly string[], lines: readonly string[]) => run(["play", ...args], lines);
  const [python, builtIn] = await Promise.all([loop.complete(NIM), loop.complete(CONFIG)]);
  for (const config of [python, builtIn]) {
    expect(config.gates).toHaveLength(1);
    expect(config.champions.length, config.config_key).toBe(2);
    expect(await soundness(loop, config.config_key)).toEqual(SOUND);
  }
  expect(python.games).toBe(plan.games_per_iteration);
  expect(builtIn.games).toBe(QUICK.games_per_iteration);
  // What its workload cannot do is said, not left out in silence.
  const [sync] = stageHistory(loop.main.router.store, { configKey: NIM, stage: "data_sync" });
  expect(sync!.evidence).toMatchObject({ unchecked_because: expect.stringMatching(/no kind 'validation'/) });
  const [exported] = stageHistory(loop.main.router.store, { configKey: NIM, stage: "npz_export" });
  expect(exported!.evidence).toMatchObject({ exported_by: expect.stringMatching(/no kind 'export'/) });
  // Its own opponents are on its ladder by their names.
  const champion = python.champions.at(-1)!.model;
  await loop.until(
    ({ ladder }) => ["random", "perfect", champion].every((name) => ladder.some(({ player }) => player === name)),
    NIM,
  );
  const { out: elo } = await run(["elo", NIM]);
  expect(elo).toMatch(/perfect/);
  expect(elo).toMatch(/random/);

  // It is exported with its rating; of its rules and its network nothing is known.
  const folder = join(own.folder(), "mine");
  expect((await run(["models", "export", champion, folder])).code).toBe(0);
  const { rating, rules, network } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  expect({ rules, network }).toEqual({ rules: null, network: null });
  expect(rating.low).toBeLessThan(rating.elo);
  expect(rating.high).toBeGreaterThan(rating.elo);
  expect(rating.games).toBeGreaterThan(0);

  // A person plays with the same program: against the champion, a named opponent, and nobody who is unknown.
  const shown = await play([NIM], ["quit"]);
  expect(shown.out).toContain(`You play against champion 1 (${champion.slice(0, 10)}).`);
  expect(shown.out).toMatch(/Nim with 21 sticks at most/);
  const first = (line: string) => (JSON.parse(line) as { legal_moves: string[] }).legal_moves[0]!;
  const [before] = (await play([NIM, "--against", "perfect", "--json"], ["quit"])).out.split("\n");
  const game = await play([NIM, "--against", "perfect", "--json"], [first(before!), "undo", "99-1", "quit"]);
  const told = game.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; move?: string; moves?: string[]; legal_moves?: string[] });
  expect(told.map(({ type }) => type)).toEqual([
    "position",
    "move",
    "position",
    "position",
    "refused",
    "position",
    "end",
  ]);
  expect(told[3]).toEqual(told[0]);
  expect((await play([NIM, "--against", "gnu"], [])).err).toMatch(/no baseline "gnu".*\n.*random, perfect/);
});

test.skipIf(!hasPython)("a workload that does not declare moves refuses to play, in a typed way", async () => {
  const own = owned(onTestFinished);
  const configFile = join(own.folder(), "ringrift.config.json");
  const nim = { command: "python3", args: [PROGRAM], kinds: ["selfplay"], config_keys: [NIM] };
  writeFileSync(configFile, JSON.stringify({ workloads: { nim } }));
  const { code, err } = await cli(["--config", configFile, "--data-dir", own.folder(), "--json", "play", NIM], []);
  expect(code).toBe(5);
  expect(JSON.parse(err)).toMatchObject({ error: { code: "PLAY_NOT_DECLARED" } });
});
