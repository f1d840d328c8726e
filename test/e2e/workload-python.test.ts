/** The Python helper and the programs in examples/workloads, as real processes. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { arenaDeclaration } from "../../src/workloads/arena/index.ts";
import {
  createRunner,
  type JobOutcome,
  type JobRequest,
  type PairsMessage,
  parseDeclaration,
  type Runner,
} from "../../src/workloads/process/index.ts";
import { owned } from "../support/process.ts";
import { mypyEnvironment, numpyEnvironment } from "../support/python-packages.ts";
import { openBench, PATIENT, type WorkloadBench } from "../unit/workloads/bench.ts";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TRAINER = path("../../examples/workloads/trainer.py");
const SELFPLAY = path("../../examples/workloads/selfplay.py");
const NIM = path("../../examples/workloads/nim.py");
const FAULTS = path("./parts/workload_faults.py");
const CLIENTS = path("../../clients/python");

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, the Python workloads are not run\n");

const NUMPY = path("./parts/numpy_trainer.py");
const numpy = numpyEnvironment();
const mypy = mypyEnvironment();

let bench: WorkloadBench;
beforeAll(() => {
  bench = openBench();
});
afterAll(() => bench.close());

const python = (file: string, name: string, packages: Readonly<Record<string, string>> = {}): Runner => {
  const declaration = parseDeclaration({
    command: "python3",
    args: [file],
    env: { ...packages, PYTHONPATH: [CLIENTS, packages.PYTHONPATH].filter((each) => each !== undefined).join(":") },
    kinds: file === NIM ? ["selfplay", "training", "evaluation"] : [file === SELFPLAY ? "selfplay" : "training"],
    limits: PATIENT,
  });
  const runner = createRunner(
    declaration,
    { folder: join(bench.folder, name), inputFolders: [bench.folder] },
    bench.edges,
  );
  onTestFinished(() => runner.close());
  return runner;
};

describe.skipIf(!hasPython)("the examples", () => {
  for (const [file, rules] of [
    [SELFPLAY, 11],
    [TRAINER, 11],
    [NIM, 29],
  ] as const)
    test(`${file.split("/").at(-1)} keeps all rules, as ringrift workload check says`, async () => {
      const own = owned(onTestFinished);
      const check = own.startCli(["workload", "check", "--json", "--", "python3", file], { cwd: own.folder() });
      expect(await check.exited, check.lines.join("\n")).toMatchObject({ code: 0 });
      const report = JSON.parse(check.stdout()) as { ok: boolean; results: { name: string; status: string }[] };
      const others = report.results.filter(({ status }) => status !== "passed");
      // A move is chosen too soon to be cancelled.
      expect(others.map(({ name, status }) => `${status} ${name}`)).toEqual(
        file === NIM ? ["skipped cancel play"] : [],
      );
      expect(report.results).toHaveLength(rules);
    });

  test("the trainer learns from the self-play beside it, and from the rows of the built-in games", async () => {
    const arena = createRunner(
      arenaDeclaration({ limits: PATIENT }),
      { folder: join(bench.folder, "arena"), inputFolders: [] },
      bench.edges,
    );
    onTestFinished(() => arena.close());
    const makers: readonly [Runner, Partial<JobRequest>][] = [
      [python(SELFPLAY, "selfplay"), { parameters: { games: 300 } }],
      [
        arena,
        { config_key: "connect4_7x6_2p", parameters: { games: 20, simulations: 4, wide: 8, narrow: 8, format: "npz" } },
      ],
    ];
    const trainer = python(TRAINER, "trainer");
    for (const [maker, job] of makers) {
      const played = await maker.runJob(bench.job(job));
      expect(played, played.stderr_tail).toMatchObject({ status: "completed" });
      const { file, sha256 } = played.artifacts.find(({ kind }) => kind === "samples")!;
      const losses: number[] = [];
      for (const epochs of [1, 6]) {
        const trained = await trainer.runJob(
          bench.job({ kind: "training", parameters: { epochs }, inputs: [{ name: "samples", path: file, sha256 }] }),
        );
        expect(trained, trained.stderr_tail).toMatchObject({
          status: "completed",
          artifacts: [{ path: "model.json", kind: "model", rows: played.metrics.rows }],
        });
        const model = JSON.parse(readFileSync(trained.artifacts[0]!.file, "utf8")) as { weights: number[] };
        expect(model.weights.every(Number.isFinite)).toBe(true);
        expect(trained.stderr_tail).toMatch(/epoch 1: loss 0\.\d+/);
        losses.push(trained.metrics.loss!);
      }
      expect(losses[1]!).toBeLessThan(losses[0]!);
      expect(losses[1]!).toBeLessThan(Math.LN2);
    }
  });
});

describe.skipIf(!hasPython)("the example of a whole loop", () => {
  const config_key = "nim21_2p";
  type Input = JobRequest["inputs"][number];
  const made = ({ artifacts }: JobOutcome, kind: string, name = kind): Input => {
    const { file, sha256 } = artifacts.find((each) => each.kind === kind)!;
    return { name, path: file, sha256 };
  };
  const open = (name: string) => {
    const runner = python(NIM, name);
    return async (kind: string, parameters: JobRequest["parameters"], inputs: Input[] = []) => {
      const pairs: PairsMessage[] = [];
      const job = bench.job({ kind, config_key, seed: 12, parameters, inputs });
      const outcome = await runner.runJob(job, { pairs: (message) => pairs.push(message) });
      return { outcome, blocks: pairs.flatMap(({ blocks }) => blocks) };
    };
  };
  const linesOf = ({ path: file }: Input) =>
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { game: number; ply: number; left: number[]; result: number });

  /** One iteration as the loop does it: the first model, games in parts, training, a match against the champion. */
  const iterate = async (name: string) => {
    const run = open(name);
    const done = async (...job: Parameters<typeof run>) => {
      const ran = await run(...job);
      expect(ran.outcome, ran.outcome.stderr_tail).toMatchObject({ status: "completed" });
      return ran;
    };
    const { outcome: fresh } = await done("training", { fresh: true, network_seed: 1 });
    expect(fresh.metrics).toEqual({ fresh: 1, steps: 0, rows: 0 });
    const champion = made(fresh, "model");
    const parts: Input[] = [];
    for (const first_game of [0, 150]) {
      const { outcome } = await done("selfplay", { games: 150, first_game }, [champion]);
      expect(outcome.metrics.rows).toBe(linesOf(made(outcome, "samples")).length);
      parts.push(made(outcome, "samples", `samples-000${parts.length}`));
    }
    const { outcome: trained } = await done("training", { new_rows: 10, total_rows: 10, window_base: 20_000 }, [
      ...parts,
      made(fresh, "checkpoint"),
    ]);
    const candidate = made(trained, "model", "candidate");
    const { outcome: match, blocks } = await done("evaluation", { blocks: 40 }, [
      candidate,
      { ...champion, name: "opponent" },
    ]);
    return { done, run, parts, champion, trained, candidate, match, blocks };
  };

  test("learns in one iteration, and tells its match in pairs", async () => {
    const { done, parts, champion, trained, candidate, match, blocks } = await iterate("nim");
    expect(trained.metrics.loss).toBeLessThan(0.25);
    const { games, wins, losses, draws, score, redundancy, distinct_openings } = match.metrics;
    expect({ games, draws, distinct_openings }).toEqual({ games: 80, draws: 0, distinct_openings: 40 });
    expect(wins! + losses!).toBe(80);
    expect(score).toBeGreaterThan(0.7);
    expect(redundancy).toBeLessThan(0.5);
    expect(blocks.flatMap(({ scores }) => scores).reduce((a, b) => a + b, 0)).toBe(wins);
    expect(blocks).toHaveLength(40);

    // Parts of a match are the match, and games cut into other jobs are the same games.
    const later = await done("evaluation", { blocks: 10, first_block: 30 }, [
      candidate,
      { ...champion, name: "opponent" },
    ]);
    expect(later.blocks).toEqual(blocks.slice(30));
    const { outcome: whole } = await done("selfplay", { games: 200, first_game: 0 }, [champion]);
    const positions = (lines: ReturnType<typeof linesOf>) => lines.map(({ left, result }) => ({ left, result }));
    const cut = parts.flatMap(linesOf);
    expect(positions(linesOf(made(whole, "samples")))).toEqual(
      positions(cut).slice(0, linesOf(made(whole, "samples")).length),
    );
    const perfect = await done("evaluation", { blocks: 20, candidate: "perfect" }, [
      { ...candidate, name: "opponent" },
    ]);
    expect(perfect.outcome.metrics.score).toBeGreaterThan(0.6);
  });

  test("gives the same files in another process", async () => {
    const [one, two] = [await iterate("nim-one"), await iterate("nim-two")];
    expect(two.trained.artifacts.map(({ sha256 }) => sha256)).toEqual(
      one.trained.artifacts.map(({ sha256 }) => sha256),
    );
    expect(two.blocks).toEqual(one.blocks);
  });

  test("says what is wrong with a job", async () => {
    const run = open("nim-wrong");
    const note = bench.input("note.txt", "no rows\n");
    const wrong: readonly [Parameters<typeof run>, RegExp][] = [
      [["selfplay", { games: 0 }], /games is 0/],
      [["training", {}], /nothing to train on/],
      [
        ["training", {}, [{ name: "samples-0000", path: note.file, sha256: note.sha256 }]],
        /line 1 of .* is no training row/,
      ],
      [["selfplay", {}, [{ name: "model", path: note.file, sha256: note.sha256 }]], /is no model/],
      [["evaluation", { candidate: "nobody" }], /no baseline "nobody"/],
    ];
    for (const [job, reason] of wrong) {
      const { outcome } = await run(...job);
      expect(outcome).toMatchObject({ status: "failed", error: { class: "bad_input" } });
      expect(outcome.reason).toMatch(reason);
    }
  });
});

describe.skipIf(!hasPython)("the helper", () => {
  test("tells each failure as what it is, and goes on", async () => {
    const runner = python(FAULTS, "faults");
    const run = (how: string) => runner.runJob(bench.job({ kind: "training", parameters: { how } }));
    const expected: readonly [string, object][] = [
      ["bad_input", { status: "failed", error: { class: "bad_input", reason: 'the job has no parameter "epochs"' } }],
      ["missing_input", { error: { class: "bad_input", reason: 'the job has no input "samples"; it has: none' } }],
      ["exception", { error: { class: "retryable", code: "RuntimeError" } }],
      ["memory", { error: { class: "resource", code: "resource" } }],
      ["disk", { error: { class: "resource", code: "resource" } }],
      ["nan", { error: { class: "retryable", code: "ValueError" } }],
      ["scalar", { status: "completed", metrics: { loss: 0.5 } }],
      ["escapes", { error: { class: "retryable", code: "ValueError" } }],
      ["half_written", { error: { class: "retryable", code: "RuntimeError" }, artifacts: [] }],
      ["none", { status: "completed", metrics: { ok: 1 } }],
    ];
    const first = await run("none");
    expect(first, first.stderr_tail).toMatchObject({ status: "completed" });
    const pid = runner.child?.pid;
    for (const [how, outcome] of expected) expect(await run(how), how).toMatchObject(outcome);
    expect(runner.child?.pid).toBe(pid);

    const printed = await run("prints");
    expect(printed).toMatchObject({ status: "completed" });
    expect(printed.stderr_tail).toContain("printed by Python");
    expect(printed.stderr_tail).toContain("printed by a shell");
    expect((await run("exception")).stderr_tail).toMatch(/Traceback[\s\S]*device-side assert/);
    expect(await run("exit")).toMatchObject({ error: { class: "bad_input", code: "exit_bad_input" } });
  });

  test("a cancelled job may write a checkpoint; a broad except does not swallow the cancelling", async () => {
    const runner = python(FAULTS, "cancelled");
    for (const how of ["checkpoint", "broad_except"]) {
      const ending = new AbortController();
      const job = bench.job({ kind: "training", parameters: { how } });
      const outcome = await runner.runJob(job, { signal: ending.signal, progress: () => ending.abort("preempted") });
      expect(outcome).toMatchObject({ status: "preempted", reason: "preempted; the program stopped in time" });
      expect(outcome.artifacts.map(({ path: name }) => name)).toEqual(how === "checkpoint" ? ["checkpoint.bin"] : []);
      expect(existsSync(job.scratch_folder)).toBe(false);
    }
  });
});

test.skipIf(numpy === undefined)(
  "a program on NumPy reads rows of the built-in games, and its numbers and its model arrive",
  async () => {
    const arena = createRunner(
      arenaDeclaration({ limits: PATIENT }),
      { folder: join(bench.folder, "arena-numpy"), inputFolders: [] },
      bench.edges,
    );
    onTestFinished(() => arena.close());
    const parameters = { games: 20, simulations: 4, wide: 8, narrow: 8, format: "npz" };
    const played = await arena.runJob(bench.job({ config_key: "connect4_7x6_2p", parameters }));
    const { file, sha256, rows } = played.artifacts.find(({ kind }) => kind === "samples")!;
    const trainer = python(NUMPY, "numpy", numpy);
    const losses: number[] = [];
    for (const steps of [1, 200]) {
      const inputs = [{ name: "samples", path: file, sha256 }];
      const trained = await trainer.runJob(bench.job({ kind: "training", parameters: { steps }, inputs }));
      expect(trained, trained.stderr_tail).toMatchObject({ status: "completed", metrics: { rows } });
      expect(Number.isFinite(trained.metrics.weight)).toBe(true);
      losses.push(trained.metrics.loss!);
      const [model] = trained.artifacts;
      expect(model).toMatchObject({ kind: "model", rows });
      const shape = "import sys, numpy; print(numpy.load(sys.argv[1])['weights'].shape)";
      const read = spawnSync("python3", ["-c", shape, model!.file], { env: { ...process.env, ...numpy } });
      expect(read.stdout.toString().trim()).toBe("(42,)");
    }
    expect(losses[1]).toBeLessThan(losses[0]!);
  },
);

test.skipIf(mypy === undefined)("both helpers are typed throughout, as mypy sees it, for Python 3.9", () => {
  const own = owned(onTestFinished);
  const files = ["ringrift.py", "ringrift_workload.py"].map((name) => join(CLIENTS, name));
  const options = ["--strict", "--python-version", "3.9", "--cache-dir", own.folder()];
  const env = { ...process.env, ...mypy };
  const { status, stdout } = spawnSync("python3", ["-m", "mypy", ...options, ...files], { encoding: "utf8", env });
  expect(stdout).toMatch(/^Success: no issues found in 2 source files/);
  expect(status).toBe(0);
});
