/** Programs that break the rules, as real processes: each is a typed failure with its reason, and the next job is run. */
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WorkloadLimits } from "../../../src/workloads/process/declaration.ts";
import type { ErrorClass } from "../../../src/workloads/process/outcome.ts";
import { alive, openBench, type WorkloadBench } from "./bench.ts";

let bench: WorkloadBench;
/** Of this run alone: the same test may run elsewhere on the machine. */
const MARK = `ringrift-misbehaving-test-${process.pid}.`;
beforeAll(() => {
  bench = openBench({ ...process.env, MARK, SECRET: "hidden", ALLOWED: "yes" });
});
afterAll(() => bench.close());

interface Row {
  readonly how: string;
  readonly class: ErrorClass;
  readonly code: string;
  readonly reason: RegExp;
  readonly limits?: Partial<WorkloadLimits>;
}

const IN_JOB: readonly Row[] = [
  { how: "job-garbage", class: "protocol", code: "bad_message", reason: /not JSON: "Traceback/ },
  { how: "unknown-message", class: "protocol", code: "bad_message", reason: /a "dance" message that is not valid/ },
  { how: "long-line", class: "protocol", code: "line_too_long", reason: /more than 1048576 bytes/ },
  {
    how: "flood",
    class: "protocol",
    code: "too_many_messages",
    reason: /more than 20 messages/,
    limits: { messages_per_second: 20 },
  },
  { how: "wrong-hash", class: "protocol", code: "wrong_hash", reason: /has SHA-256 770e6076.*; the program said/ },
  { how: "wrong-size", class: "protocol", code: "wrong_size", reason: /has 4 bytes; the program said 5/ },
  { how: "missing-file", class: "protocol", code: "file_missing", reason: /there is no file/ },
  { how: "path-absolute", class: "protocol", code: "path_outside", reason: /it is absolute/ },
  { how: "path-dots", class: "protocol", code: "path_outside", reason: /it holds \.\./ },
  { how: "path-link", class: "protocol", code: "path_outside", reason: /it is a symbolic link/ },
  {
    how: "path-linked-folder",
    class: "protocol",
    code: "path_outside",
    reason: /leads outside of its folder: it is .*scratch/,
  },
  { how: "path-folder", class: "protocol", code: "special_file", reason: /is not a plain file/ },
  { how: "path-pipe", class: "protocol", code: "special_file", reason: /is not a plain file/ },
  { how: "artifact-twice", class: "protocol", code: "artifact_twice", reason: /announced "out.txt" twice/ },
  {
    how: "many-artifacts",
    class: "resource",
    code: "too_many_artifacts",
    reason: /more than 10 artifacts/,
    limits: { artifacts: 10 },
  },
  {
    how: "large-artifact",
    class: "resource",
    code: "artifact_too_large",
    reason: /200000 bytes; 100000 are/,
    limits: { artifact_bytes: 100_000 },
  },
  {
    how: "large-artifact",
    class: "resource",
    code: "output_too_large",
    reason: /more than it may/,
    limits: { output_bytes: 100_000 },
  },
  {
    how: "silent",
    class: "timeout",
    code: "silent",
    reason: /said nothing for 0.3 s/,
    limits: { silence_seconds: 0.3 },
  },
  {
    how: "silent-and-deaf",
    class: "timeout",
    code: "silent",
    reason: /said nothing/,
    limits: { silence_seconds: 0.3, term_seconds: 0.2 },
  },
  {
    how: "closes-output",
    class: "protocol",
    code: "output_closed",
    reason: /closed its standard output/,
    limits: { term_seconds: 0.2 },
  },
  { how: "exit-0", class: "protocol", code: "no_done", reason: /ended without done \(exit code 0\)/ },
  { how: "exit-1", class: "crash", code: "crashed", reason: /in the middle of the job \(exit code 1\)/ },
  { how: "exit-64", class: "bad_input", code: "exit_bad_input", reason: /exit code 64/ },
  { how: "kill-self", class: "crash", code: "killed", reason: /SIGKILL/ },
  {
    how: "many-children",
    class: "resource",
    code: "too_many_processes",
    reason: /runs [23]\d processes; 20 are allowed/,
    limits: { processes: 20 },
  },
  {
    how: "many-children",
    class: "resource",
    code: "too_much_memory",
    reason: /bytes; 4000000 are allowed/,
    limits: { memory_bytes: 4_000_000 },
  },
  { how: "done-twice", class: "protocol", code: "after_done", reason: /sent done after done/ },
  { how: "artifact-after-done", class: "protocol", code: "after_done", reason: /sent artifact after done/ },
  {
    how: "other-job",
    class: "protocol",
    code: "wrong_job",
    reason: /spoke of job "job-of-somebody-else" while it had "job-\d+"/,
  },
  { how: "hello-twice", class: "protocol", code: "hello_twice", reason: /hello twice/ },
  { how: "error-retryable", class: "retryable", code: "gpu_busy", reason: /the GPU is busy/ },
  { how: "error-for-ever", class: "bad_input", code: "no_such_board", reason: /hex99/ },
  { how: "error-resource", class: "resource", code: "resource", reason: /disk full/ },
];

describe("a program that misbehaves in a job", () => {
  for (const row of IN_JOB)
    test(`${row.how} is ${row.class}/${row.code}; the runner goes on, and nothing is left`, async () => {
      const runner = bench.runner(row.how, { env_allow: ["MARK"], limits: row.limits ?? {} });
      const outcome = await runner.runJob(bench.job());
      expect(outcome).toMatchObject({ status: "failed", error: { class: row.class, code: row.code } });
      expect(outcome.reason).toMatch(row.reason);
      expect(outcome.artifacts.length).toBeLessThan(11);
      const next = await runner.runJob(bench.job({ parameters: { good: true } }));
      expect(next).toMatchObject({ status: "completed", artifacts: [{ path: "out.txt", bytes: 4, rows: 1 }] });
      await runner.close();
      expect(alive(MARK)).toEqual([]);
    });
});

describe("a program that misbehaves at its start", () => {
  const AT_START: readonly Row[] = [
    {
      how: "no-hello",
      class: "timeout",
      code: "no_hello",
      reason: /hello within 0.3 s/,
      limits: { hello_seconds: 0.3 },
    },
    { how: "garbage", class: "protocol", code: "bad_message", reason: /not JSON: "Loading model/ },
    { how: "exit-early", class: "crash", code: "no_hello", reason: /before it said hello \(exit code 3\)/ },
    {
      how: "wrong-version",
      class: "protocol",
      code: "wrong_version",
      reason: /speaks versions 98 to 99 .*; here are 1 to 1/,
    },
    {
      how: "other-kinds",
      class: "protocol",
      code: "missing_kind",
      reason: /declared to do selfplay, but does only knitting/,
    },
    { how: "job-first", class: "protocol", code: "no_hello", reason: /began with progress instead of hello/ },
    { how: "closes-input", class: "protocol", code: "input_closed", reason: /closed its standard input/ },
  ];
  for (const row of AT_START)
    test(`${row.how} is ${row.class}/${row.code}, and nothing is left`, async () => {
      const runner = bench.runner(row.how, { env_allow: ["MARK"], limits: row.limits ?? {} });
      const outcome = await runner.runJob(bench.job());
      expect(outcome).toMatchObject({ status: "failed", error: { class: row.class, code: row.code } });
      expect(outcome.reason).toMatch(row.reason);
      expect(outcome.exit ?? outcome.error?.code).toBeDefined();
      await runner.close();
      expect(alive(MARK)).toEqual([]);
    });

  test("a command that does not exist is a typed failure", async () => {
    const outcome = await bench.runner("", { command: "/no/such/program" }).runJob(bench.job());
    expect(outcome).toMatchObject({ status: "failed", error: { class: "crash", code: "cannot_start" } });
  });
});

describe("what is no failure", () => {
  test("a newer program that also speaks our version, and says more than we know", async () => {
    const outcome = await bench.runner("future-version").runJob(bench.job());
    expect(outcome.status).toBe("completed");
  });

  test("exit code 75 and done with preempted give the job back", async () => {
    for (const how of ["exit-75", "gives-back"])
      expect(await bench.runner(how).runJob(bench.job())).toMatchObject({ status: "preempted" });
  });

  test("a huge log: its end is kept, the file is bounded, the job is done", async () => {
    const runner = bench.runner("huge-stderr", { limits: { log_bytes: 1_000_000 } });
    const outcome = await runner.runJob(bench.job());
    expect(outcome.status).toBe("completed");
    expect(outcome.stderr_tail).toMatch(/the last words\n$/);
    expect(outcome.stderr_tail.length).toBeLessThanOrEqual(64 * 1024);
    await runner.close();
    const sizes = bench.logsIn(bench.folder);
    expect(sizes.length).toBeGreaterThan(0);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(1_000_000);
  });

  test("a program that leaves processes behind is done, and they are gone", async () => {
    const runner = bench.runner("leaves-children", { env_allow: ["MARK"], one_child_per_job: true });
    expect(await runner.runJob(bench.job())).toMatchObject({ status: "completed", exit: { code: 0 } });
    expect(alive(MARK)).toEqual([]);
  });

  test("a program that leaves, or stops listening, between two jobs costs the next job nothing", async () => {
    for (const how of ["leaves-children", "closes-input-after"]) {
      const runner = bench.runner(how, { limits: { term_seconds: 0.2 } });
      for (let i = 0; i < 3; i += 1) expect(await runner.runJob(bench.job())).toMatchObject({ status: "completed" });
      await runner.close();
    }
  });

  test("a late word after done fails that job where a child serves one, and ends the child where it stays", async () => {
    const one = await bench.runner("last-word", { one_child_per_job: true }).runJob(bench.job());
    expect(one).toMatchObject({ status: "failed", error: { class: "protocol", code: "without_job" }, artifacts: [] });
    const runner = bench.runner("late-word");
    const speak = join(bench.folder, "speak");
    expect(await runner.runJob(bench.job({ parameters: { speak } }))).toMatchObject({ status: "completed" });
    const { child } = runner;
    writeFileSync(speak, "");
    await child!.ended;
    expect(child!.broken).toMatchObject({ class: "protocol", code: "without_job" });
    expect(await runner.runJob(bench.job({ parameters: { good: true } }))).toMatchObject({ status: "completed" });
  });

  test("a child sees the variables that it is allowed, and no others", async () => {
    const runner = bench.runner("environment", { env_allow: ["ALLOWED"], env: { SET: "3" } });
    const outcome = await runner.runJob(bench.job());
    expect(outcome.metrics).toEqual({ secret: 0, allowed: 1, set: 3 });
  });
});

describe("cancelling", () => {
  test("a program that hears neither cancel nor SIGTERM is killed, and the reason decides what it means", async () => {
    const expected = { cancelled: "cancelled", lease_lost: "cancelled", preempted: "preempted", shutdown: "preempted" };
    for (const [reason, status] of Object.entries(expected)) {
      const runner = bench.runner("deaf-to-cancel", { limits: { grace_seconds: 0.1, term_seconds: 0.1 } });
      const ending = new AbortController();
      const outcome = await runner.runJob(bench.job(), { signal: ending.signal, progress: () => ending.abort(reason) });
      expect(outcome).toMatchObject({ status, exit: { signal: "SIGKILL" } });
      expect(outcome.reason).toMatch(new RegExp(`^${reason}; the program ended`));
    }
  });

  test("closing the runner gives a running job back, and may be done twice", async () => {
    const runner = bench.runner("deaf-to-cancel", { limits: { grace_seconds: 0.1, term_seconds: 0.1 } });
    const running = Promise.withResolvers<void>();
    const outcome = runner.runJob(bench.job(), { progress: () => running.resolve() });
    await running.promise;
    await Promise.all([runner.close(), runner.close()]);
    expect(await outcome).toMatchObject({ status: "preempted", exit: { signal: "SIGKILL" } });
    expect((await outcome).reason).toMatch(/^shutdown; the program ended/);
  });

  test("a deadline ends the job as too late", async () => {
    const runner = bench.runner("deaf-to-cancel", { limits: { grace_seconds: 0.1, term_seconds: 0.1 } });
    const outcome = await runner.runJob(bench.job({ deadline: Date.now() / 1_000 + 0.2 }));
    expect(outcome).toMatchObject({ status: "failed", error: { class: "timeout", code: "deadline" } });
  });
});

describe("inputs", () => {
  test("what is missing or not what was promised can be fetched again; what lies elsewhere is wrong for ever", async () => {
    const { file, sha256 } = bench.input("model.bin", "weights");
    const runner = bench.runner("good");
    const run = (path: string, hash = sha256) =>
      runner.runJob(bench.job({ inputs: [{ name: "model", path, sha256: hash }] }));
    expect(await run(file)).toMatchObject({ status: "completed" });
    expect(await run(file, "0".repeat(64))).toMatchObject({ error: { class: "retryable", code: "input_wrong_hash" } });
    expect(await run(`${file}.none`)).toMatchObject({ error: { class: "retryable", code: "input_file_missing" } });
    expect(await run("/etc/passwd")).toMatchObject({ error: { class: "bad_input", code: "input_path_outside" } });
    expect(await run("model.bin")).toMatchObject({ error: { class: "bad_input", code: "path_outside" } });
    // Changed bytes under the same name are looked at again.
    expect(statSync(bench.input("model.bin", "other weights").file).size).toBe(13);
    expect(await run(file)).toMatchObject({ error: { class: "retryable", code: "input_wrong_hash" } });
    expect(await run(file)).toMatchObject({ status: "failed" });
  });

  test("folders that cannot be made are a typed failure, and so is a kind that the program does not do", async () => {
    const { file } = bench.input("plain.txt", "no folder");
    const runner = bench.runner("good");
    const nowhere = { output_folder: `${file}/output`, scratch_folder: `${file}/scratch` };
    expect(await runner.runJob(bench.job(nowhere))).toMatchObject({ error: { class: "resource", code: "no_folder" } });
    expect(await runner.runJob(bench.job({ kind: "knitting" }))).toMatchObject({
      error: { class: "bad_input", code: "unknown_kind" },
    });
    expect(await runner.runJob(bench.job())).toMatchObject({ status: "completed" });
  });

  test("a job that was cancelled before it began starts no program", async () => {
    const runner = bench.runner("good");
    const outcome = await runner.runJob(bench.job(), { signal: AbortSignal.abort("shutdown") });
    expect(outcome).toMatchObject({ status: "preempted", reason: "shutdown; the job had not begun" });
    expect(runner.child).toBeUndefined();
  });

  test("an output folder that is not empty belongs to another attempt", async () => {
    const runner = bench.runner("good");
    const job = bench.job();
    expect(await runner.runJob(job)).toMatchObject({ status: "completed" });
    expect(await runner.runJob(job)).toMatchObject({ error: { code: "output_not_empty" } });
  });
});
