import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { PATIENT } from "../../../test/support/patience.ts";
import { type NearQueue, nearQueue, type Weather } from "../../../test/unit/work/near-queue.ts";
import { OperatingError, seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import type { Lease } from "../index.ts";
import {
  type ArtifactPort,
  createAdmission,
  createWorker,
  type ExecutorPort,
  openSpool,
  type Worker,
  type WorkResult,
} from "./index.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const TIMING = { beatMs: 20, waitSeconds: 0, idleMs: 5, graceMs: 200, flushMs: 1_000 };
const SOUND = { outputs: [], counts: {} };
const done = (): WorkResult => ({ status: "completed", evidence: SOUND, files: [] });
const soon = (assertion: () => unknown) => vi.waitFor(assertion, PATIENT);

/** Runs jobs as the test says; each that begins is seen. */
function executorOf(run: (lease: Lease, signal: AbortSignal) => Promise<WorkResult>) {
  const begun: Lease[] = [];
  const executor: ExecutorPort = {
    kinds: ["check"],
    run(lease, { signal }) {
      begun.push(lease);
      return run(lease, signal);
    },
    kill() {},
    close: async () => {},
  };
  return { executor, begun };
}

/** A job that runs until it is told to stop, and says why it was. */
const untilStopped = (_: Lease, signal: AbortSignal) =>
  new Promise<WorkResult>((resolve) => {
    const stop = () => resolve({ status: "stopped", reason: String(signal.reason) });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

interface Made {
  readonly worker: Worker;
  readonly folder: string;
}
async function workerOn(
  near: NearQueue,
  executor: ExecutorPort,
  more: {
    slots?: number;
    folder?: string;
    node?: string;
    timing?: Partial<typeof TIMING>;
    upload?: ArtifactPort["upload"];
  } = {},
): Promise<Made> {
  const folder = more.folder ?? newFolder();
  const capacity = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [], diskReserveBytes: 0 };
  const worker = createWorker({
    queue: near.port(more.node ?? "a"),
    executor,
    artifacts: { upload: more.upload ?? (async () => {}) },
    admission: createAdmission({ ...capacity, slots: more.slots ?? 2 }, () => 1e12),
    spool: await openSpool({ folder, onTrouble: () => {} }),
    clock: systemClock(),
    // Each life of a worker draws its own names for its claims.
    random: seededRandom(undo.length + 3),
    log: silentLog(),
    timing: { ...TIMING, ...more.timing },
  });
  undo.push(() => {
    worker.force();
    return worker.stop();
  });
  await worker.start();
  return { worker, folder };
}
const world = (lease = {}) => {
  const near = nearQueue({ silentMs: 2_000, ...lease });
  undo.push(() => near.close());
  return near;
};
const jobs = (n: number, more: object = {}) =>
  Array.from({ length: n }, () => ({ work_type: "check", payload: {}, ...more }) as const);
const statesOf = (near: NearQueue) => near.queue.list({ limit: 1_000 }).map(({ state }) => state);

test("every job is done once, and nothing of it stays on the disk", async () => {
  const near = world();
  await near.queue.addAll(jobs(40));
  const { executor, begun } = executorOf(async () => done());
  const { worker, folder } = await workerOn(near, executor);
  await soon(() => expect(near.queue.unfinished).toBe(0));
  await soon(() => expect(worker.status().counts).toMatchObject({ completed: 40, lost: 0 }));
  expect(begun).toHaveLength(40);
  expect(new Set(statesOf(near))).toEqual(new Set(["completed"]));
  await soon(() => expect([...readdirSync(join(folder, "results")), ...readdirSync(join(folder, "held"))]).toEqual([]));
});

test("what a stopped job has saved is in the store before the job is given back, and comes to the next try", async () => {
  const near = world();
  await near.queue.addAll(jobs(1));
  const saved = {
    name: "half",
    file: "/nowhere/half",
    kind: "checkpoint",
    sha256: "ab".repeat(32),
    bytes: 7,
    epoch: 3,
  };
  const uploaded: string[] = [];
  const stops = executorOf(async (lease, signal) => {
    const result = await untilStopped(lease, signal);
    return result.status === "stopped" ? { ...result, saved } : result;
  });
  const { worker } = await workerOn(near, stops.executor, {
    upload: async ({ sha256 }) => {
      expect(statesOf(near)).toEqual(["running"]);
      uploaded.push(sha256);
    },
  });
  await soon(() => expect(stops.begun).toHaveLength(1));
  expect(stops.begun[0]).not.toHaveProperty("resume");
  await worker.stop();
  expect(uploaded).toEqual([saved.sha256]);
  expect(near.queue.show("w1")).toMatchObject({ state: "pending", attempts: 0, saved: { epoch: 3, node_id: "a" } });
  const next = executorOf(async () => done());
  await workerOn(near, next.executor, { node: "b" });
  await soon(() => expect(statesOf(near)).toEqual(["completed"]));
  expect(next.begun[0]).toMatchObject({ resume: { sha256: saved.sha256, bytes: 7, epoch: 3 } });
});

test("a checkpoint that the store does not take costs the job nothing but its beginning", async () => {
  const near = world();
  await near.queue.addAll(jobs(1));
  const saved = {
    name: "half",
    file: "/nowhere/half",
    kind: "checkpoint",
    sha256: "ab".repeat(32),
    bytes: 7,
    epoch: 3,
  };
  const stops = executorOf(async (lease, signal) => ({ ...(await untilStopped(lease, signal)), saved }) as WorkResult);
  const { worker } = await workerOn(near, stops.executor, {
    upload: () => Promise.reject(OperatingError.unavailable("STORE_FULL", "there is no room")),
  });
  await soon(() => expect(stops.begun).toHaveLength(1));
  await worker.stop();
  expect(near.queue.show("w1")).toMatchObject({ state: "pending", attempts: 0, saved: null });
});

test("a claim whose answer is lost is said again, and gets the same jobs long before their silence would free them", async () => {
  const near = world({ silentMs: 3_600_000 });
  await near.queue.addAll(jobs(2));
  let lost = 0;
  near.state.weather = (call): Weather => {
    if (call !== "claim" || lost > 0) return "fine";
    lost += 1;
    return "no answer";
  };
  const { executor, begun } = executorOf(async () => done());
  await workerOn(near, executor);
  await soon(() => expect(statesOf(near)).toEqual(["completed", "completed"]));
  expect({ lost, begun: begun.length }).toEqual({ lost: 1, begun: 2 });
  expect(near.queue.list().map(({ attempts, fence }) => [attempts, fence])).toEqual([
    [1, 1],
    [1, 1],
  ]);
});

test("a worker that stops before the answer to its claim has come gives back unspent what the claim was given", async () => {
  const near = world({ silentMs: 3_600_000 });
  const made: Made[] = [];
  const { executor, begun } = executorOf(async () => done());
  near.state.weather = (call): Weather => {
    if (call !== "claim" || near.queue.unfinished === 0 || made[0]!.worker.status().state === "stopping") return "fine";
    void made[0]!.worker.stop();
    return "no answer";
  };
  made.push(await workerOn(near, executor));
  await near.queue.addAll(jobs(2));
  await soon(() => expect(made[0]!.worker.status().state).toBe("stopped"));
  expect(near.queue.list().map(({ state, attempts, fence }) => [state, attempts, fence])).toEqual([
    ["pending", 0, 1],
    ["pending", 0, 1],
  ]);
  expect(begun).toEqual([]);
});

test("it takes no more than fits: two slots, and the cpus that jobs need", async () => {
  const near = world();
  await near.queue.addAll(jobs(3, { needs: { cpu: 3 } }));
  const { executor, begun } = executorOf(untilStopped);
  const { worker } = await workerOn(near, executor, { slots: 3 });
  await soon(() => expect(begun).toHaveLength(1));
  await soon(() => expect(near.said.filter((call) => call === "claim").length).toBeGreaterThan(3));
  expect(worker.status()).toMatchObject({ free: { cpu: 1 }, slots: { total: 3, free: 2 } });
  expect(statesOf(near).filter((state) => state === "pending")).toHaveLength(2);
});

test("a node that may hold one job gets the next when that one has ended, however long it was told to wait", async () => {
  const near = world();
  await near.queue.addAll(jobs(5));
  const port = near.port("a");
  const slowed: NearQueue = {
    ...near,
    port: () => ({
      ...port,
      claim: async (ask, signal) =>
        near.queue.held("a").length > 0
          ? { leases: [], began: true, retryAfterMs: 3_600_000 }
          : port.claim({ ...ask, most: 1 }, signal),
    }),
  };
  const { executor, begun } = executorOf(async () => done());
  await workerOn(slowed, executor);
  await soon(() => expect(near.queue.unfinished).toBe(0));
  expect(begun).toHaveLength(5);
});

test("a lease outlives its silence limit many times over while its worker beats", async () => {
  const near = world({ silentMs: 150 });
  await near.queue.addAll(jobs(1));
  let finish = () => {};
  const { executor, begun } = executorOf(() => new Promise((resolve) => (finish = () => resolve(done()))));
  await workerOn(near, executor);
  await soon(() => expect(begun).toHaveLength(1));
  const until = performance.now() + 600;
  await soon(() => expect(performance.now()).toBeGreaterThan(until));
  expect(await near.queue.reap()).toMatchObject({ silent: 0 });
  finish();
  await soon(() => expect(near.queue.unfinished).toBe(0));
  expect(near.queue.list()[0]).toMatchObject({ state: "completed", attempts: 1 });
});

test("beats go on while a claim hangs and an upload hangs", async () => {
  const near = world({ silentMs: 150 });
  await near.queue.addAll(jobs(2));
  const port = near.port("a");
  const { executor } = executorOf(async () => ({ status: "completed", evidence: SOUND, files: [FILE] }));
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  let claims = 0;
  const firstOnly: typeof port.claim = (ask, signal) => {
    claims += 1;
    return claims === 1 ? port.claim(ask, signal) : never(signal);
  };
  const capacity = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [], diskReserveBytes: 0, slots: 2 };
  const worker = createWorker({
    queue: { ...port, claim: firstOnly },
    executor,
    artifacts: { upload: (_, signal) => never(signal) },
    admission: createAdmission(capacity, () => 1e12),
    spool: await openSpool({ folder: newFolder(), onTrouble: () => {} }),
    clock: systemClock(),
    // Each life of a worker draws its own names for its claims.
    random: seededRandom(undo.length + 3),
    log: silentLog(),
    timing: { ...TIMING, flushMs: 0 },
  });
  undo.push(() => worker.stop());
  await worker.start();
  await soon(() => expect(worker.status().spool.waiting).toBe(2));
  const seen = near.said.filter((call) => call === "beat").length;
  await soon(() => expect(near.said.filter((call) => call === "beat").length).toBeGreaterThan(seen + 10));
  expect(await near.queue.reap()).toMatchObject({ silent: 0 });
});
const FILE = { file: "/nowhere", name: "x", kind: "samples", sha256: "ab".repeat(32), bytes: 1 };

test("a refused beat stops the job at once, and its result is never told", async () => {
  const near = world();
  const [job] = await near.queue.addAll(jobs(1, { max_attempts: 3 }));
  let told: unknown;
  const { executor, begun } = executorOf(async (lease, signal) => {
    await untilStopped(lease, signal);
    told = signal.reason;
    return done();
  });
  const { worker, folder } = await workerOn(near, executor, { slots: 1 });
  await soon(() => expect(begun).toHaveLength(1));
  worker.drain(true);
  await near.queue.release({ work_id: job!.work_id, node_id: "a", fence: 1 }, "somebody gave it back");
  await soon(() => expect(told).toBe("lease_lost"));
  await soon(() => expect(worker.status().counts).toMatchObject({ lost: 1, completed: 0 }));
  expect(near.said).not.toContain("complete");
  expect(begun).toHaveLength(1);
  expect(near.queue.show(job!.work_id)).toMatchObject({ state: "pending", attempts: 0 });
  expect(readdirSync(join(folder, "rejected"))).toEqual([`${job!.work_id}.1.json`]);
});

test("a cancelled job is stopped and dropped; a preempted one is given back unspent", async () => {
  const near = world();
  const [one, two] = await near.queue.addAll(jobs(2));
  const { executor, begun } = executorOf(untilStopped);
  const { worker } = await workerOn(near, executor);
  await soon(() => expect(begun).toHaveLength(2));
  worker.drain(true);
  await near.queue.cancel(one!.work_id, { reason: "not wanted" });
  await near.queue.preempt(two!.work_id, { reason: "room" });
  await soon(() => expect(worker.status().counts).toMatchObject({ cancelled: 1, released: 1 }));
  expect(near.queue.show(one!.work_id)?.state).toBe("cancelled");
  expect(near.queue.show(two!.work_id)).toMatchObject({ state: "pending", attempts: 0 });
});

test("a worker that leaves gives back what runs, unspent, and stops claiming", async () => {
  const near = world();
  await near.queue.addAll(jobs(3));
  const { executor, begun } = executorOf(untilStopped);
  const { worker } = await workerOn(near, executor);
  await soon(() => expect(begun).toHaveLength(2));
  await worker.stop();
  expect(worker.status()).toMatchObject({ state: "stopped", counts: { released: 2 } });
  expect(near.queue.list().map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(Array(3).fill("pending 0"));
});

test("what ends within its grace counts; what does not end is given back and killed", async () => {
  const near = world();
  const [quick, stubborn] = await near.queue.addAll(jobs(2));
  let killed = false;
  const { executor, begun } = executorOf(async (lease, signal) => {
    if (lease.work_id === stubborn!.work_id) return new Promise(() => {});
    await untilStopped(lease, signal);
    return done();
  });
  const { worker } = await workerOn(near, {
    ...executor,
    kill() {
      killed = true;
    },
  });
  await soon(() => expect(begun).toHaveLength(2));
  const stopped = worker.stop();
  await soon(() => expect(near.queue.show(quick!.work_id)?.state).toBe("completed"));
  worker.force();
  await stopped;
  expect(killed).toBe(true);
  expect(near.queue.show(stubborn!.work_id)).toMatchObject({ state: "pending", attempts: 0 });
});

test("results that did not get through are sent by the next start, each once", async () => {
  const near = world({ silentMs: 60_000 });
  await near.queue.addAll(jobs(5));
  near.state.weather = (call): Weather => (call === "complete" ? "no question" : "fine");
  const first = await workerOn(near, executorOf(async () => done()).executor, { slots: 5, timing: { flushMs: 10 } });
  await soon(() => expect(first.worker.status().spool.waiting).toBe(5));
  await first.worker.stop();
  expect(readdirSync(join(first.folder, "results"))).toHaveLength(5);
  expect(near.queue.unfinished).toBe(5);
  near.state.weather = () => "fine";
  const { executor, begun } = executorOf(async () => done());
  const second = await workerOn(near, executor, { folder: first.folder });
  await soon(() => expect(near.queue.unfinished).toBe(0));
  await soon(() => expect(second.worker.status().counts).toMatchObject({ completed: 5, lost: 0 }));
  expect(begun).toEqual([]);
  expect(near.queue.list().map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1]);
});

test.each([
  ["begin as they are claimed", true],
  ["are claimed, then begun", false],
])("an answer that was lost is asked for again, and each job is completed once: jobs that %s", async (_, begins) => {
  const near = world({ silentMs: 400 });
  near.state.begins = begins;
  await near.queue.addAll(jobs(10));
  const lost = new Map<string, number>();
  near.state.weather = (call): Weather => {
    const times = (lost.get(call) ?? 0) + 1;
    lost.set(call, times);
    return (["no answer", "no question", "fine"] as const)[times % 3]!;
  };
  const { worker } = await workerOn(near, executorOf(async () => done()).executor, { slots: 4 });
  await soon(async () => {
    // A claim whose answer was lost has a holder that knows nothing of it, until its silence is noticed.
    await near.queue.reap();
    expect(near.queue.unfinished).toBe(0);
  });
  expect(near.queue.list().map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(Array(10).fill("completed 1"));
  await soon(() => expect(worker.status().counts).toMatchObject({ completed: 10, lost: 0 }));
});

test("what a killed life held is told at the next start: spent if it had begun", async () => {
  const near = world({ silentMs: 60_000 });
  const [begun, waiting] = await near.queue.addAll(jobs(2, { max_attempts: 3 }));
  const leases = await near.queue.claim({
    node_id: "a",
    most: 2,
    offer: { cpu: 9, gpu: 0, memory_gb: 9, gpu_memory_gb: 0, tags: [] },
  });
  await near.queue.start(leases[0]!);
  const folder = newFolder();
  const spool = await openSpool({ folder, onTrouble: () => {} });
  for (const [i, { work_id, node_id, fence }] of leases.entries())
    await spool.hold({ ref: { work_id, node_id, fence }, work_type: "check", began: i === 0 });
  const { worker } = await workerOn(near, executorOf(untilStopped).executor, { folder, slots: 1 });
  await soon(() => expect(worker.status().counts).toMatchObject({ failed: 1, released: 1 }));
  expect(near.queue.show(begun!.work_id)).toMatchObject({ state: "delayed", attempts: 1 });
  expect(near.queue.show(waiting!.work_id)?.state).not.toBe("failed");
  await soon(() => expect(readdirSync(join(folder, "results"))).toEqual([]));
});

test("a result that proves nothing is a failure that counts", async () => {
  const near = world();
  const [job] = await near.queue.addAll([{ work_type: "selfplay", config_key: "hex8_2p", max_attempts: 1 }]);
  const { executor } = executorOf(async () => done());
  const { worker } = await workerOn(near, { ...executor, kinds: ["selfplay"] });
  await soon(() => expect(near.queue.show(job!.work_id)?.state).toBe("failed"));
  expect(near.queue.show(job!.work_id)?.failure?.error).toMatch(/outputs are needed/);
  await soon(() => expect(worker.status().running).toEqual([]));
});

test("an executor that throws is a failed attempt, and the worker goes on", async () => {
  const near = world();
  const [bad, good] = await near.queue.addAll(jobs(2, { max_attempts: 1 }));
  const { executor } = executorOf(async ({ work_id }) => {
    if (work_id === bad!.work_id) throw new Error("it broke");
    return done();
  });
  await workerOn(near, executor, { slots: 1 });
  await soon(() => expect(near.queue.unfinished).toBe(0));
  expect(near.queue.show(bad!.work_id)).toMatchObject({ state: "failed", failure: { error: "it broke" } });
  expect(near.queue.show(good!.work_id)?.state).toBe("completed");
});

test("a file that is gone makes the job fail instead of waiting for ever", async () => {
  const near = world();
  const [job] = await near.queue.addAll(jobs(1, { max_attempts: 1 }));
  const folder = newFolder();
  const capacity = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [], diskReserveBytes: 0, slots: 1 };
  const worker = createWorker({
    queue: near.port("a"),
    executor: executorOf(async () => ({ status: "completed", evidence: SOUND, files: [FILE] })).executor,
    artifacts: {
      upload: () => Promise.reject(OperatingError.invalid("ARTIFACT_FILE_LOST", "the file is gone")),
    },
    admission: createAdmission(capacity, () => 1e12),
    spool: await openSpool({ folder, onTrouble: () => {} }),
    clock: systemClock(),
    random: seededRandom(3),
    log: silentLog(),
    timing: TIMING,
  });
  undo.push(() => worker.stop());
  await worker.start();
  await soon(() =>
    expect(near.queue.show(job!.work_id)).toMatchObject({ state: "failed", failure: { error: "the file is gone" } }),
  );
});

test("a disk without room takes no jobs, and takes them again when there is room", async () => {
  const near = world();
  await near.queue.addAll(jobs(1));
  let free = 10;
  const capacity = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [], diskReserveBytes: 100, slots: 1 };
  const { executor, begun } = executorOf(async () => done());
  const worker = createWorker({
    queue: near.port("a"),
    executor,
    artifacts: { upload: async () => {} },
    admission: createAdmission(capacity, () => free),
    spool: await openSpool({ folder: newFolder(), onTrouble: () => {} }),
    clock: systemClock(),
    random: seededRandom(3),
    log: silentLog(),
    timing: TIMING,
  });
  undo.push(() => worker.stop());
  await worker.start();
  expect(worker.status().slots.free).toBe(0);
  expect(near.said).not.toContain("claim");
  free = 1_000;
  await soon(() => expect(begun).toHaveLength(1));
});

test("a spool whose last file was cut off is read without it, and what is unreadable is put aside and told", async () => {
  const folder = newFolder();
  const troubles: string[] = [];
  const spool = await openSpool({ folder, onTrouble: (what) => troubles.push(what) });
  const ref = { work_id: "w1", node_id: "a", fence: 1 };
  await spool.put({ say: "release", ref, work_type: "check", finished_at: 1, reason: "r" });
  writeFileSync(join(folder, "results", "w2.1.json.new"), '{"say":');
  writeFileSync(join(folder, "results", "w3.1.json"), '{"say":');
  expect((await spool.read()).entries).toMatchObject([{ ref, reason: "r" }]);
  expect(troubles).toEqual(["results/w3.1.json is unreadable and is put aside"]);
  expect((await spool.read()).entries).toHaveLength(1);
});

test("refused results are kept with their reason, the newest so many", async () => {
  const spool = await openSpool({ folder: newFolder(), maxRejected: 2, onTrouble: () => {} });
  for (const n of [1, 2, 3]) {
    const ref = { work_id: `w${n}`, node_id: "a", fence: 1 };
    await spool.reject(
      { say: "complete", ref, work_type: "check", finished_at: n, evidence: { outputs: [], counts: {} }, files: [] },
      { code: "STALE_LEASE", message: "another has it" },
    );
  }
  const kept = await spool.rejected();
  expect(kept.map(({ entry, code }) => `${entry.ref.work_id} ${code}`)).toEqual(["w2 STALE_LEASE", "w3 STALE_LEASE"]);
});
