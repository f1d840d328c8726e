/** Each variable of a worker changes what it names: seen at the admission and at the worker that the program builds of it. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { PATIENT } from "../../../test/support/patience.ts";
import { nearQueue } from "../../../test/unit/work/near-queue.ts";
import { seededRandom, silentLog, systemClock } from "../../kernel/index.ts";
import { createAdmission, createWorker, openSpool, type Worker, type WorkResult } from "../../work/worker/index.ts";
import type { ClaimAsk } from "../../work/worker/ports.ts";
import { beNice } from "../worker/be-nice.ts";
import { openOutboxBriefly } from "../worker/node-outbox.ts";
import { capacityOf, gpusOf, timingOf } from "../worker/run-worker.ts";
import { readSettings } from "./read.ts";

type Environment = Readonly<Record<string, string>>;
const soon = (look: () => unknown) => vi.waitFor(look, PATIENT);

const free = (environment: Environment) =>
  createAdmission(capacityOf(readSettings(environment, "/").worker), () => 3e9).free();

/** A worker as the settings make it, at a queue that takes no results; what it asked for and said. */
async function seen(
  environment: Environment,
  until: (said: readonly string[], asked: readonly ClaimAsk[], worker: Worker) => void,
) {
  const near = nearQueue();
  await near.queue.addAll(Array.from({ length: 8 }, () => ({ work_type: "check" as const })));
  near.state.weather = (call) => (call === "complete" ? "no question" : "fine");
  const { worker: settings } = readSettings({ RINGRIFT_WORKER_SLOTS: "1", ...environment }, "/");
  const folder = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  const asked: ClaimAsk[] = [];
  const port = near.port("a");
  const worker = createWorker({
    queue: {
      ...port,
      claim(ask, signal) {
        asked.push(ask);
        return port.claim(ask, signal);
      },
    },
    executor: {
      kinds: ["check"],
      run: async (): Promise<WorkResult> => ({ status: "completed", evidence: {}, files: [] }),
      kill() {},
      close: async () => {},
    },
    artifacts: { upload: async () => {} },
    admission: createAdmission(capacityOf(settings), () => 1e12),
    spool: await openSpool({ folder, onTrouble: () => {} }),
    clock: systemClock(),
    random: seededRandom(1),
    log: silentLog(),
    timing: { ...timingOf(settings), flushMs: 0 },
    maxWaiting: settings.maxWaiting,
  });
  onTestFinished(async () => {
    await worker.stop();
    await near.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await worker.start();
  await soon(() => until(near.said, asked, worker));
  return { asked, said: near.said, worker };
}

/** How many of so many events the outbox takes that the settings make. */
async function keptOf(environment: Environment, count: number, reason: string): Promise<number> {
  const { outbox: bounds } = readSettings(environment, "/").worker;
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock = systemClock();
  const outbox = await openOutboxBriefly({
    dataDir,
    nodeId: "n",
    bounds,
    clock,
    random: seededRandom(1),
    log: silentLog(),
  });
  for (let n = 0; n < count; n += 1)
    await outbox
      .publish("DISK_CLEANUP_TRIGGERED", { node_id: "n", bytes_freed: n, artifacts: 0, reason: `because ${reason}` })
      .catch((thrown) => expect(thrown).toMatchObject({ code: "OUTBOX_FULL" }));
  const { kept } = outbox.status();
  await outbox.store.close();
  return kept;
}

const shown: Record<string, () => void | Promise<void>> = {
  "worker.slots": () => expect(free({ RINGRIFT_WORKER_SLOTS: "3" }).slots).toBe(3),
  "worker.cpus": () => expect(free({ RINGRIFT_WORKER_CPUS: "2.5" }).offer.cpu).toBe(2.5),
  "worker.memory_gb": () => expect(free({ RINGRIFT_WORKER_MEMORY_GB: "7" }).offer.memory_gb).toBe(7),
  "worker.gpus": () => expect(free({ RINGRIFT_WORKER_GPUS: "2" }).offer.gpu).toBe(2),
  "worker.gpu_memory_gb": () =>
    expect(free({ RINGRIFT_WORKER_GPUS: "1", RINGRIFT_WORKER_GPU_MEMORY_GB: "24" }).offer.gpu_memory_gb).toBe(24),
  "worker.detect_gpus": async () => {
    const tools = mkdtempSync(join(tmpdir(), "ringrift-settings-"));
    onTestFinished(() => rmSync(tools, { recursive: true, force: true }));
    const line = "0, GPU-11111111-2222-3333-4444-555555555555, 24576";
    writeFileSync(join(tools, "nvidia-smi"), `#!/bin/sh\necho "${line}"\n`, { mode: 0o755 });
    const path = process.env.PATH;
    onTestFinished(() => {
      process.env.PATH = path;
    });
    process.env.PATH = `${tools}:${path}`;
    const offers = async (environment: Environment) => gpusOf(readSettings(environment, "/").worker, {});
    expect(await offers({})).toMatchObject([{ memoryGb: 25.7 }]);
    expect(await offers({ RINGRIFT_WORKER_DETECT_GPUS: "no" })).toEqual([]);
  },
  "worker.tags": () => expect(free({ RINGRIFT_WORKER_TAGS: "fast, a100" }).offer.tags).toEqual(["fast", "a100"]),
  "worker.disk_reserve_gb": () => {
    expect(free({ RINGRIFT_WORKER_DISK_RESERVE_GB: "2.9", RINGRIFT_WORKER_SLOTS: "1" }).slots).toBe(1);
    expect(free({ RINGRIFT_WORKER_DISK_RESERVE_GB: "3.1", RINGRIFT_WORKER_SLOTS: "1" }).slots).toBe(0);
  },
  // What the time does is seen in worker/inputs.test.ts.
  "worker.inputs_idle": () => {
    const idleMs = (env: Record<string, string>) => readSettings(env, "/").worker.inputsIdleMs;
    expect([idleMs({}), idleMs({ RINGRIFT_WORKER_INPUTS_IDLE: "90" })]).toEqual([600_000, 90_000]);
  },
  // What goes beyond it is seen in worker/evict.test.ts and worker/inputs.test.ts.
  "worker.cache_gb": () => {
    const bytes = (env: Record<string, string>) => readSettings(env, "/").worker.cacheBytes;
    expect([bytes({}), bytes({ RINGRIFT_WORKER_CACHE_GB: "0.5" })]).toEqual([4e9, 5e8]);
  },
  "worker.nice": () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    onTestFinished(() => void child.kill());
    const { nice } = readSettings({ RINGRIFT_WORKER_NICE: "19" }, "/").worker;
    beNice(nice, silentLog(), child.pid);
    expect(getPriority(child.pid)).toBe(19);
    beNice(3, silentLog(), child.pid);
    expect(getPriority(child.pid)).toBe(19);
  },
  // That a job which does not end by itself is ended after this is seen at a whole worker, in worker.test.ts.
  "jobs.grace_period": () => {
    const graceMs = (text: string) => timingOf(readSettings({ RINGRIFT_JOB_GRACE_PERIOD: text }, "/").worker).graceMs;
    expect([graceMs("0.2"), graceMs("90")]).toEqual([200, 90_000]);
  },
  // That nothing is lost within it is seen in e2e/sync-copies.test.ts.
  "worker.notice": () => {
    const graceMs = (env: Record<string, string>) => timingOf(readSettings(env, "/").worker).graceMs;
    const tags = { RINGRIFT_WORKER_TAGS: "rented" };
    expect([graceMs({}), graceMs(tags), graceMs({ ...tags, RINGRIFT_WORKER_NOTICE: "100" })]).toEqual([
      60_000, 12_000, 40_000,
    ]);
  },
  // That a node ends itself by it is seen beside its beats.
  "worker.dead_man": () => {
    const deadManMs = (env: Record<string, string>) => readSettings(env, "/").worker.deadManMs;
    expect([deadManMs({}), deadManMs({ RINGRIFT_WORKER_DEAD_MAN: "60" })]).toEqual([0, 60_000]);
  },
  async "worker.claim_wait"() {
    const { asked } = await seen({ RINGRIFT_WORKER_CLAIM_WAIT: "7" }, (_, all) =>
      expect(all.length).toBeGreaterThan(0),
    );
    expect(asked[0]!.waitSeconds).toBe(7);
  },
  async "worker.beat_interval"() {
    const beats = (said: readonly string[]) => said.filter((call) => call === "beat").length;
    const slow = await seen({ RINGRIFT_WORKER_BEAT_INTERVAL: "600" }, (said) => expect(said).toContain("claim"));
    await seen({ RINGRIFT_WORKER_BEAT_INTERVAL: "0.05" }, (said) => expect(beats(said)).toBeGreaterThan(3));
    expect(beats(slow.said)).toBe(0);
  },
  async "worker.most_waiting"() {
    const waits = (most: string, all: number) =>
      seen({ RINGRIFT_WORKER_MOST_WAITING: most }, (_said, _asked, worker) =>
        expect(worker.status().counts.claimed).toBeGreaterThanOrEqual(all),
      );
    const few = await waits("2", 2);
    const many = await waits("100", 8);
    expect(few.worker.status().counts.claimed).toBe(2);
    expect(many.worker.status().counts.claimed).toBe(8);
  },
  async "worker.outbox_events"() {
    expect(await keptOf({ RINGRIFT_WORKER_OUTBOX_EVENTS: "3" }, 5, "")).toBe(3);
    expect(await keptOf({ RINGRIFT_WORKER_OUTBOX_EVENTS: "4" }, 5, "")).toBe(4);
  },
  async "worker.outbox_mb"() {
    const reason = "x".repeat(1_800);
    expect(await keptOf({ RINGRIFT_WORKER_OUTBOX_MB: "0.01" }, 5, reason)).toBe(3);
    expect(await keptOf({ RINGRIFT_WORKER_OUTBOX_MB: "0.02" }, 5, reason)).toBe(5);
  },
};

test.each(Object.keys(shown))("%s", (key) => shown[key]!());
