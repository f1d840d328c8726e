import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createIds, OperatingError, seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import type { Lease } from "../../work/index.ts";
import { createGuardian, createWorkloadHasher } from "../../workloads/process/index.ts";
import { keepInputs } from "./inputs.ts";
import { seedOf } from "./job-request.ts";
import { createProcessExecutor } from "./process-executor.ts";
import { workloadFor, workloadList } from "./workload-list.ts";

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "executor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

function world(configFile?: string, more: { givesGpus?: boolean; slots?: number } = {}) {
  const folder = newFolder();
  const clock = systemClock();
  const log = silentLog();
  const guardian = createGuardian({ ids: createIds(clock, seededRandom(1)), log });
  const hasher = createWorkloadHasher();
  const inputs = join(folder, "inputs");
  mkdirSync(inputs);
  const executor = createProcessExecutor({
    workloads: workloadList(configFile, 1),
    slots: 1,
    ...more,
    folder,
    edges: { clock, log, guardian, hasher, env: process.env },
    inputs: keepInputs({
      folder: inputs,
      clock,
      idleMs: 600_000,
      bring: (sha256) => Promise.reject(OperatingError.notFound("ARTIFACT_NOT_FOUND", `there is no ${sha256}`)),
    }),
  });
  onTestFinished(async () => {
    await executor.close();
    await guardian.close();
    await hasher.close();
  });
  const run = (lease: Partial<Lease>) =>
    executor.run(leaseOf(lease), { signal: new AbortController().signal, progress: () => {} });
  return { executor, run, inputs };
}

const leaseOf = (more: Partial<Lease>): Lease => ({
  work_id: "w1",
  node_id: "a",
  fence: 1,
  task_id: "w1.1",
  work_type: "selfplay",
  config_key: "connect4_7x6_2p",
  urgency: "normal",
  payload: {},
  needs: { cpu: 0, gpu: 0, memory_gb: 0, gpu_memory_gb: 0, tags: [] },
  attempts: 1,
  max_attempts: 3,
  beat_by: Date.now() + 60_000,
  expires_at: Date.now() + 600_000,
  ...more,
});
const SMALL = { wide: 8, narrow: 8, games: 2, simulations: 4 };

test("the built-in games play, and what they made is the evidence", async () => {
  const { executor, run } = world();
  expect([...executor.kinds].sort()).toEqual(["evaluation", "export", "selfplay", "training", "validation"]);
  const result = await run({ payload: { parameters: SMALL } });
  expect(result).toMatchObject({ status: "completed", evidence: { counts: { games: 2 } } });
  if (result.status !== "completed") throw new Error("it was not completed");
  expect(result.files.map(({ name, kind }) => [name, kind])).toEqual([
    ["samples.arena", "samples"],
    ["games.arena", "games"],
  ]);
  expect(result.evidence.outputs?.map(({ sha256 }) => sha256)).toEqual(result.files.map(({ sha256 }) => sha256));
});

test("what was made here is not fetched, and what has changed since is not used", async () => {
  const { run, inputs } = world();
  const played = await run({ payload: { parameters: SMALL, seed: 3 } });
  if (played.status !== "completed") throw new Error("it was not completed");
  const made = played.files.map(({ kind, sha256 }) => ({ name: kind, sha256 }));
  const judge: Partial<Lease> = {
    work_type: "validation",
    payload: { parameters: SMALL, seed: 3, inputs: made },
  };
  expect(await run(judge)).toMatchObject({ status: "completed", evidence: { counts: { games: 2, parity_failed: 0 } } });
  // The job's own folder goes when its result has been taken; what is kept does not go with it.
  rmSync(played.folder!, { recursive: true });
  writeFileSync(join(inputs, made[0]!.sha256), "something else");
  const refused = await run(judge);
  expect(refused).toMatchObject({ status: "failed", failure: { class: "retryable", error_code: "input_wrong_hash" } });
  expect(await run(judge)).toMatchObject({ status: "failed", failure: { error_code: "no_input" } });
});

test("a job that lost its lease goes at once, and takes nobody with it who has its place by then", async () => {
  const { executor, run } = world();
  const ending = new AbortController();
  const long = leaseOf({ payload: { parameters: { ...SMALL, games: 100_000 } } });
  const lost = executor.run(long, {
    signal: ending.signal,
    progress: () => ending.abort("lease_lost"),
  });
  expect(await lost).toMatchObject({ status: "stopped" });
  const startMs = performance.now();
  let next = 0;
  // On the same child, until well after the first one would have been made to go.
  while (performance.now() - startMs < 2_000) {
    next += 1;
    const lease = { work_id: `w${next + 1}`, task_id: `w${next + 1}.1`, payload: { parameters: SMALL, seed: next } };
    expect(await run(lease)).toMatchObject({ status: "completed" });
  }
});

/** A program that says in its file which accelerators it sees, and works until it is ended if it is told to. */
const SEES = `
const { createHash } = require("node:crypto");
const { writeFileSync } = require("node:fs");
const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, job_id, output_folder, parameters } = JSON.parse(line);
  if (type === "shutdown") process.exit(0);
  if (type !== "job") return;
  say({ type: "progress", job_id, done: 1, metrics: { pid: process.pid } });
  if (parameters.hang) return;
  const text = process.pid + " " + (process.env.CUDA_VISIBLE_DEVICES ?? "all");
  writeFileSync(output_folder + "/seen", text);
  say({ type: "artifact", job_id, path: "seen", sha256: createHash("sha256").update(text).digest("hex"), bytes: text.length, kind: "seen" });
  say({ type: "done", job_id, status: "ok" });
}).on("close", () => process.exit(0));
say({ type: "hello", protocol: 1, name: "sees", version: "1", kinds: ["selfplay"] });
`;

test("a program sees the accelerators of its job and no others, and what it had is free when it is gone, however it went", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "sees.cjs"), SEES);
  const arena = { command: process.execPath, args: [join(folder, "sees.cjs")], kinds: ["selfplay"] };
  const file = join(folder, "ringrift.config.json");
  writeFileSync(file, JSON.stringify({ workloads: { arena } }));
  const { executor } = world(file, { givesGpus: true, slots: 2 });
  let next = 0;
  const seen = async (gpus: readonly string[]) => {
    next += 1;
    const lease = leaseOf({ work_id: `w${next}`, task_id: `w${next}.1` });
    const result = await executor.run(lease, { signal: new AbortController().signal, progress: () => {}, gpus });
    if (result.status !== "completed") throw new Error(JSON.stringify(result));
    const [pid, ids] = readFileSync(result.files[0]!.file, "utf8").split(" ");
    return { pid: Number(pid), ids };
  };
  const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
  const [first, second] = await Promise.all([seen(["GPU-a"]), seen(["GPU-b", "GPU-c"])]);
  expect([first.ids, second.ids]).toEqual(["GPU-a", "GPU-b,GPU-c"]);
  // What they had loaded is gone with them.
  expect([isAlive(first.pid), isAlive(second.pid)]).toEqual([false, false]);
  // Who asks for none sees none, and its process stays for the next one.
  const [third, fourth] = [await seen([]), await seen([])];
  expect([third.ids, fourth]).toEqual(["", third]);
  const killed = await executor.run(
    leaseOf({ work_id: "w99", task_id: "w99.1", payload: { parameters: { hang: true } } }),
    {
      signal: new AbortController().signal,
      progress: ({ metrics }) => void process.kill(metrics!.pid!, "SIGKILL"),
      gpus: ["GPU-a"],
    },
  );
  expect(killed).toMatchObject({ status: "failed", failure: { error_code: "killed" } });
  expect(await seen(["GPU-a"])).toMatchObject({ ids: "GPU-a" });
});

test("match results travel with the job as a file of it", async () => {
  const { run } = world();
  const parameters = { candidate: "random", opponent: "random", blocks: 2, simulations: 4 };
  const result = await run({ work_type: "evaluation", payload: { parameters } });
  expect(result).toMatchObject({ status: "completed" });
  if (result.status !== "completed") throw new Error("it was not completed");
  const pairs = result.files.find(({ kind }) => kind === "pairs")!;
  const lines = readFileSync(pairs.file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.flatMap(({ blocks }) => blocks)).toHaveLength(2);
  expect(result.evidence.outputs).toContainEqual({ name: "pairs.jsonl", sha256: pairs.sha256, bytes: pairs.bytes });
});

test.each([
  ["a parameter that is none", { payload: { parameters: { gamez: 1 } } }, "bad_input", /gamez/],
  ["a payload that is none", { payload: { seed: "x" } }, "bad_input", /payload is no job/],
  [
    "an input that nobody has",
    { payload: { inputs: [{ name: "model", sha256: "ab".repeat(32) }] } },
    "bad_input",
    /cannot be fetched/,
  ],
  ["a kind that nobody does", { work_type: "render" }, "bad_input", /no workload of this node does render/],
])("%s is a failure that says so", async (_, lease, failureClass, error) => {
  const result = await world().run(lease as Partial<Lease>);
  expect(result).toMatchObject({
    status: "failed",
    failure: { class: failureClass, error: expect.stringMatching(error) },
  });
});

test("a job without a seed has the same one each time, and another job another one", () => {
  expect(seedOf("w1")).toBe(seedOf("w1"));
  expect(seedOf("w1")).not.toBe(seedOf("w2"));
  expect(Number.isSafeInteger(seedOf("w123456"))).toBe(true);
});

test("declared programs come before the built-in games, for the configs that they name", () => {
  const file = join(newFolder(), "ringrift.config.json");
  writeFileSync(
    file,
    JSON.stringify({
      workloads: {
        mine: { command: "./play", kinds: ["selfplay"], config_keys: ["hex8_2p"], limits: { term_seconds: 1 } },
      },
    }),
  );
  const all = workloadList(file, 12);
  expect(workloadFor(all, "selfplay", "hex8_2p")?.name).toBe("mine");
  expect(workloadFor(all, "selfplay", "hex9_2p")?.name).toBe("arena");
  expect(workloadFor(all, "render", "hex8_2p")).toBeUndefined();
  expect(all.map(({ declaration }) => declaration.limits.grace_seconds)).toEqual([12, 12]);
  expect(all[0]!.declaration.command).toBe(join(file, "..", "play"));
});
