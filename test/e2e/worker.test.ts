/** Workers as people start them: beside a main process, by hand, told to stop, killed, and left behind. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { declareTiny, mainProcess, processesWith } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const logOf = (dataDir: string) => {
  const path = join(dataDir, "logs", "worker.log");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};
const workerPid = (log: readonly string[]) => {
  const starts = log.flatMap((line) =>
    line.includes("the local worker starts") ? [JSON.parse(line) as { pid: number }] : [],
  );
  return starts.at(-1)?.pid;
};
const isAlive = (pid: number) => {
  try {
    return !/\)\s+[ZX]\s/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};
const has = (program: string) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
const world = (env = {}) => {
  const own = owned(onTestFinished);
  return { own, main: mainProcess(own, { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", ...env }) };
};

test("'up --workers 2' does jobs on children that stay, and gives back unspent what runs when it is told to stop", async () => {
  const { main } = world();
  const { started } = await main.start(["--workers", "2"]);
  const note = join(main.folder, "note");
  await main.add(Array.from({ length: 20 }, () => ({ parameters: { note } })));
  await soon(async () => expect(await main.states()).toEqual({ completed: 20 }));
  const pids = new Set(
    readFileSync(note, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[1]),
  );
  expect(pids.size).toBeLessThanOrEqual(2);
  const [long] = await main.add([{ parameters: { ms: 600_000 } }]);
  await soon(async () => expect((await main.show(long!)).state).toBe("running"));
  await soon(async () => expect((await main.show(long!)).progress).not.toBeNull());
  expect(await started.stop()).toEqual({ code: 0, signal: null });
  expect(logOf(main.dataDir)).toMatch(/"released":1.*the worker has ended/);
  await main.start();
  expect(await main.show(long!)).toMatchObject({ state: "pending", attempts: 0 });
  expect(processesWith(main.folder).filter((pid) => pid !== main.started().pid)).toEqual([]);
});

test("a job that does not end within RINGRIFT_JOB_GRACE_PERIOD is ended, and given back unspent", async () => {
  const { own, main } = world();
  await main.startInside(onTestFinished);
  const [id] = await main.add([{ parameters: { ms: 600_000, stubborn: true } }]);
  const worker = own.startCli(["worker"], { cwd: main.folder, env: { RINGRIFT_JOB_GRACE_PERIOD: "0.2" } });
  await worker.waitForLine(/worker ready/);
  await soon(async () => expect((await main.show(id!)).state).toBe("running"));
  // With the 60 s that are usual this would fail.
  expect(await worker.stop()).toEqual({ code: 0, signal: null });
  expect(await main.show(id!)).toMatchObject({ state: "pending", attempts: 0 });
});

test("a second signal forces the end of a worker whose job will not end, and nothing of it stays", async () => {
  const { own, main } = world();
  await main.startInside(onTestFinished);
  const [id] = await main.add([{ parameters: { ms: 600_000, stubborn: true, spawn: true } }]);
  const worker = own.startCli(["worker"], { cwd: main.folder });
  await soon(() => expect(processesWith(join(main.dataDir, "worker"))).toHaveLength(2));
  worker.kill("SIGTERM");
  await worker.waitForLine(/stopping/);
  // Signals within a second count as one, as under npm.
  await soon(() => {
    worker.kill("SIGTERM");
    return worker.waitForLine(/forced to end/, { timeoutMs: 400 });
  });
  expect((await worker.exited).code).toBe(130);
  expect(await main.show(id!)).toMatchObject({ state: "pending", attempts: 0 });
  await soon(() => expect(processesWith(join(main.dataDir, "worker"))).toEqual([]));
});

test("when 'up' is killed its worker ends, says why, and leaves no child behind", async () => {
  const { main } = world();
  const { started } = await main.start(["--workers", "1"]);
  const [id] = await main.add([{ parameters: { ms: 600_000, stubborn: true, spawn: true } }]);
  await soon(async () => expect((await main.show(id!)).state).toBe("running"));
  const pid = workerPid(started.lines)!;
  await started.killNow();
  await soon(() => expect(isAlive(pid)).toBe(false));
  await soon(() => expect(processesWith(main.dataDir)).toEqual([]));
  expect(logOf(main.dataDir)).toContain(`the process ${started.pid} that it worked for has ended`);
});

test("a worker that is killed is started again, its children go with it, and its job is tried again", async () => {
  const { main } = world();
  const { started } = await main.start(["--workers", "1"]);
  const [id] = await main.add([{ parameters: { ms: 600_000, spawn: true } }]);
  await soon(async () => expect((await main.show(id!)).state).toBe("running"));
  const first = workerPid(started.lines)!;
  const children = await soon(() => {
    const found = processesWith(join(main.dataDir, "worker"));
    // The program, and what it started.
    expect(found).toHaveLength(2);
    return found;
  });
  process.kill(first, "SIGKILL");
  await soon(() => expect(children.filter(isAlive)).toEqual([]));
  await soon(async () => expect(await main.show(id!)).toMatchObject({ state: "running", attempts: 2 }));
  expect(workerPid(started.lines)).not.toBe(first);
  await main.post(`/v1/work/jobs/${id}/cancel`, { reason: "enough" });
  await soon(() => expect(processesWith(join(main.dataDir, "worker", "jobs"))).toEqual([]));
});

test("results that the main process could not take are sent by the next worker", async () => {
  const { own, main } = world();
  const { started } = await main.start();
  const note = join(main.folder, "note");
  const gate = join(main.folder, "gate");
  const ids = await main.add(Array.from({ length: 3 }, () => ({ parameters: { until: gate, note } })));
  const worker = own.startCli(["worker", "--slots", "3"], { cwd: main.folder });
  await soon(async () => expect(await main.states()).toEqual({ running: 3 }));
  // A job that runs in the books may still be on its way to its program.
  await soon(() => expect(readFileSync(note, "utf8").trim().split("\n")).toHaveLength(3));
  await started.killNow();
  writeFileSync(gate, "");
  const results = join(main.dataDir, "worker", "spool", "results");
  await soon(() => expect(readdirSync(results).filter((name) => name.endsWith(".json"))).toHaveLength(3));
  await worker.killNow();
  await main.start();
  const next = own.startCli(["worker"], { cwd: main.folder });
  await next.waitForLine(/worker ready/);
  await soon(async () => expect(await main.states()).toEqual({ completed: 3 }));
  for (const id of ids) expect(await main.show(id)).toMatchObject({ attempts: 1, fence: 1 });
  expect(readFileSync(note, "utf8").trim().split("\n")).toHaveLength(3);
  await soon(() => expect(readdirSync(results)).toEqual([]));
  await next.stop();
});

test("one worker for each folder; one that came before its main process waits for it", async () => {
  const { own, main } = world();
  const early = own.startCli(["worker"], { cwd: main.folder });
  await early.waitForLine(/waiting for the main process/);
  await main.startInside(onTestFinished);
  await early.waitForLine(/worker ready/);
  const second = own.startCli(["worker"], { cwd: main.folder });
  expect((await second.exited).code).not.toBe(0);
  expect(second.stderr()).toMatch(/is in use by process \d+/);
  await early.stop();
});

test.skipIf(!has("systemd-analyze"))("the systemd unit of a worker is sound", () => {
  const unit = new URL("../../deploy/ringrift-worker.service", import.meta.url).pathname;
  const done = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
  expect(`${done.stdout}${done.stderr}`).not.toMatch(/ringrift-worker\.service/);
  expect(readFileSync(unit, "utf8")).toMatch(/\nExecStart=.*ringrift\.js worker\n/);
});

test("a workload that is declared wrong is told at the start, by name", async () => {
  const { own, main } = world();
  await main.startInside(onTestFinished);
  declareTiny(main.folder, { kinds: [] });
  const worker = own.startCli(["worker"], { cwd: main.folder });
  expect((await worker.exited).code).toBe(2);
  expect(worker.stderr()).toMatch(/workloads are declared wrong[\s\S]*arena\.kinds/);
});
