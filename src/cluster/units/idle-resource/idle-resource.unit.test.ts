import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../events/index.ts";
import type { ResourceLevel } from "../../resources/levels.ts";
import { createIdleRequests, createUsageGauge } from "../../resources/usage-gauge.ts";
import { judgeIdle } from "./decide.ts";
import { idleResourceDaemon } from "./idle-resource.unit.ts";

const sampleWith = (cpuUsage: number, gpuUsage?: number) => ({
  cpus: 4,
  cpuUsage,
  cpuOthers: null,
  cpuPressure: 0,
  memory: { usage: 0.2, totalBytes: 8e9, limitedBy: "machine" as const, rssBytes: 1e8 },
  disk: { totalBytes: 100, usedBytes: 10, freeBytes: 90 },
  loopDelayMs: { p99: 0, max: 0 },
  gpus: gpuUsage === undefined ? [] : [{ name: "g", usage: gpuUsage, memoryUsedBytes: 0, memoryTotalBytes: 24e9 }],
});

interface Case {
  readonly running: number;
  readonly cpuUsage: number;
  readonly gpu?: number;
  readonly level?: ResourceLevel;
}

test.each<[string, Case, boolean]>([
  ["nothing to do and room", { running: 0, cpuUsage: 0.1 }, true],
  ["no room", { running: 4, cpuUsage: 0.1 }, false],
  ["room, and processors that are busy", { running: 1, cpuUsage: 0.9 }, false],
  ["busy processors, and an accelerator without work", { running: 1, cpuUsage: 0.9, gpu: 0.02 }, true],
  ["a busy accelerator", { running: 1, cpuUsage: 0.9, gpu: 0.8 }, false],
  ["room, but memory is short", { running: 0, cpuUsage: 0.1, level: "high" }, false],
])("%s: idle is %o", (_what, { running, cpuUsage, gpu, level = "none" }, idle) => {
  const { gpus } = sampleWith(cpuUsage, gpu);
  expect(judgeIdle({ running, slots: 4, cpuUsage, gpus, level }).idle).toBe(idle);
});

/** The daemon of a node whose use the test sets; what it tells is heard. */
async function world() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const usage = createUsageGauge();
  const idleRequests = createIdleRequests();
  const work = { running: 0, slots: 4 };
  const told: { type: string; payload: Record<string, unknown> }[] = [];
  for (const type of ["IDLE_STATE_BROADCAST", "IDLE_RESOURCE_DETECTED"] as const)
    w.router.subscribe(type, ({ payload }) => void told.push({ type, payload: payload as never }));
  const unit = idleResourceDaemon({ nodeId: "n1", usage, idleRequests, ownWork: () => work });
  await w.driven(w.runtime([unit]).start());
  return { w, usage, idleRequests, work, told, of: (type: string) => told.filter((each) => each.type === type) };
}

test("says that it is idle once it has lasted, again while it lasts, and no more when there is work", async () => {
  const { w, usage, work, of } = await world();
  await w.pass(60_000);
  expect(of("IDLE_STATE_BROADCAST")).toEqual([]);
  usage.set({ sample: sampleWith(0.05), level: "none" });
  await w.pass(16_000);
  expect(of("IDLE_STATE_BROADCAST")[0]?.payload).toMatchObject({ node_id: "n1", idle: true, free_slots: 4 });
  expect(of("IDLE_RESOURCE_DETECTED")).toEqual([]);
  await w.pass(150_000);
  expect(of("IDLE_RESOURCE_DETECTED").length).toBeGreaterThanOrEqual(2);
  expect(of("IDLE_RESOURCE_DETECTED")[0]?.payload.idle_seconds).toBeGreaterThanOrEqual(60);
  work.running = 4;
  await w.pass(16_000);
  const before = of("IDLE_RESOURCE_DETECTED").length;
  expect(of("IDLE_STATE_BROADCAST").at(-1)?.payload).toMatchObject({ idle: false, free_slots: 0, idle_seconds: 0 });
  await w.pass(180_000);
  expect(of("IDLE_RESOURCE_DETECTED")).toHaveLength(before);
});

test("answers who asks, and has another node asked with its next sign of life", async () => {
  const { w, usage, idleRequests, of } = await world();
  usage.set({ sample: sampleWith(0.95), level: "none" });
  await w.pass(16_000);
  const before = of("IDLE_STATE_BROADCAST").length;
  const ask = async (node_id: string) => {
    const told = await w.driven(w.router.publish("IDLE_STATE_REQUEST", { node_id }, { source: "test" }));
    await w.driven(w.router.settled(told));
    await w.pass(1_000);
  };
  await ask("n1");
  expect(of("IDLE_STATE_BROADCAST")).toHaveLength(before + 1);
  await ask("n2");
  expect(of("IDLE_STATE_BROADCAST")).toHaveLength(before + 1);
  expect([idleRequests.take("n2"), idleRequests.take("n2"), idleRequests.take("n1")]).toEqual([true, false, false]);
  // On a joined node the answer to its beat sets the gauge.
  usage.ask();
  await w.pass(16_000);
  expect(of("IDLE_STATE_BROADCAST")).toHaveLength(before + 2);
});
