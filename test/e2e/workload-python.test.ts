/** The Python helper and the programs in examples/workloads, as real processes. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { arenaDeclaration } from "../../src/workloads/arena-process/index.ts";
import { createRunner, type JobRequest, parseDeclaration, type Runner } from "../../src/workloads/process/index.ts";
import { owned } from "../support/process.ts";
import { openBench, PATIENT, type WorkloadBench } from "../unit/workloads/bench.ts";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const TRAINER = path("../../examples/workloads/trainer.py");
const SELFPLAY = path("../../examples/workloads/selfplay.py");
const FAULTS = path("./parts/workload_faults.py");
const CLIENTS = path("../../clients/python");

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, the Python workloads are not run\n");

let bench: WorkloadBench;
beforeAll(() => {
  bench = openBench();
});
afterAll(() => bench.close());

const python = (file: string, name: string): Runner => {
  const declaration = parseDeclaration({
    command: "python3",
    args: [file],
    env: { PYTHONPATH: CLIENTS },
    kinds: [file === SELFPLAY ? "selfplay" : "training"],
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
  for (const file of [SELFPLAY, TRAINER])
    test(`${file.split("/").at(-1)} keeps all rules, as ringrift workload check says`, async () => {
      const own = owned(onTestFinished);
      const check = own.startCli(["workload", "check", "--json", "--", "python3", file], { cwd: own.folder() });
      expect(await check.exited, check.lines.join("\n")).toMatchObject({ code: 0 });
      const report = JSON.parse(check.stdout()) as { ok: boolean; results: { name: string; status: string }[] };
      expect(report.results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(report.results).toHaveLength(11);
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
