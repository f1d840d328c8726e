import { afterEach, describe, expect, test } from "vitest";
import { type UnitWorld, unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { type BuiltinRows, builtinRows } from "../../../events/index.ts";
import { settingDefaults } from "../../../kernel/settings/index.ts";
import { createDiskGauge } from "../../resources/disk-gauge.ts";
import type { ResourceSample, ResourceSampler } from "../../resources/sample.ts";
import { resourceSettings } from "../../settings.ts";
import { resourceMonitorDaemon } from "./resource-monitor.unit.ts";

type World = UnitWorld<BuiltinRows>;
const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

interface Machine {
  memory: number;
  cpu: number;
  diskUsed: number;
  gpus: ResourceSample["gpus"];
}

/** A sampler that measures what the test says. */
const samplerOf = (machine: Machine): ResourceSampler => ({
  sample: async () => ({
    cpus: 8,
    cpuUsage: 0.5,
    cpuPressure: 1,
    cpuOthers: machine.cpu,
    memory: { usage: machine.memory, totalBytes: 8e9, limitedBy: "machine", rssBytes: 1e8 },
    disk: { totalBytes: 1e12, usedBytes: machine.diskUsed, freeBytes: 1e12 - machine.diskUsed },
    loopDelayMs: { p99: 1, max: 2 },
    gpus: machine.gpus,
  }),
  close() {},
});

const SAMPLE = 15_000;
const start = async () => {
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (message: string) => void warnings.push(message),
    child: () => log,
    level: "info",
  };
  const w = unitWorld(builtinRows, { log });
  worlds.push(w);
  const machine: Machine = { memory: 0.5, cpu: 0, diskUsed: 1e11, gpus: [] };
  const said: string[] = [];
  const hear = (event: { eventType: string; payload: unknown }) => {
    const { level = "", resource = "" } = event.payload as Record<string, string>;
    said.push([event.eventType, resource, level].filter((part) => part !== "").join(" "));
  };
  for (const type of [
    "RESOURCE_CONSTRAINT",
    "RESOURCE_CONSTRAINT_DETECTED",
    "MEMORY_PRESSURE",
    "NODE_OVERLOADED",
    "DISK_SPACE_LOW",
  ] as const)
    w.router.subscribe(type, hear);
  const run = async () => {
    const runtime = w.runtime([
      resourceMonitorDaemon({
        disk: createDiskGauge(),
        nodeId: "n1",
        sampler: samplerOf(machine),
        settings: { resources: settingDefaults(resourceSettings) },
      }),
    ]);
    await w.driven(runtime.start());
    return runtime;
  };
  const samples = async (count: number) => {
    await w.pass(count * SAMPLE);
    return said.splice(0);
  };
  return { w, machine, said, run, samples, warnings };
};

describe("resource_monitor", () => {
  test("tells each sample to those who listen, and nothing else while all is well", async () => {
    const { w, run, samples } = await start();
    await run();
    expect(await samples(10)).toEqual([]);
    const metrics = w.router.history({ eventType: "METRICS_UPDATED" });
    expect(metrics.length).toBeGreaterThanOrEqual(10);
    expect(metrics[0]?.payload).toMatchObject({ node_id: "n1", metrics: { memory_usage: 0.5, disk_usage: 0.1 } });
    expect(w.router.history({ eventType: "NODE_CAPACITY_UPDATED" })[0]?.payload).toMatchObject({
      slots: 8,
      free_slots: 4,
    });
  });

  test("tells each edge of memory once, and the pressure for as long as it lasts", async () => {
    const { w, machine, run, samples } = await start();
    const runtime = await run();
    await samples(2);
    machine.memory = 0.97;
    expect(await samples(3)).toEqual(
      [
        "MEMORY_PRESSURE",
        "RESOURCE_CONSTRAINT memory critical",
        "RESOURCE_CONSTRAINT_DETECTED memory",
        "NODE_OVERLOADED memory",
        "MEMORY_PRESSURE",
        "MEMORY_PRESSURE",
      ].sort((a, b) => Number(a === "MEMORY_PRESSURE") - Number(b === "MEMORY_PRESSURE")),
    );
    expect(w.router.history({ eventType: "NODE_CAPACITY_UPDATED" }).at(-1)?.payload).toMatchObject({ free_slots: 0 });
    expect(runtime.status()[0]).toMatchObject({ status: "running", message: "memory is critical" });
    machine.memory = 0.5;
    const after = await samples(4);
    expect(after.filter((each) => each !== "MEMORY_PRESSURE")).toEqual(["RESOURCE_CONSTRAINT memory none"]);
  });

  test("tells a disk that fills at each level on the way up, and no more", async () => {
    const { machine, run, samples } = await start();
    await run();
    machine.diskUsed = 0.9e12;
    expect(await samples(6)).toEqual(["RESOURCE_CONSTRAINT disk high", "DISK_SPACE_LOW high"]);
    machine.diskUsed = 0.96e12;
    expect(await samples(6)).toEqual([
      "RESOURCE_CONSTRAINT disk critical",
      "RESOURCE_CONSTRAINT_DETECTED disk",
      "DISK_SPACE_LOW critical",
    ]);
    machine.diskUsed = 0.5e12;
    expect(await samples(6)).toEqual(["RESOURCE_CONSTRAINT disk none"]);
  });

  test("does not take it for a shortage that our own jobs wait for each other", async () => {
    const { machine, run, samples } = await start();
    await run();
    machine.cpu = 0.3;
    expect(await samples(20)).toEqual([]);
  });

  test("takes work that waits for processors which others have for overload, once it has waited for two minutes", async () => {
    const { machine, run, samples } = await start();
    await run();
    machine.cpu = 0.97;
    expect(await samples(6)).toEqual([]);
    expect(await samples(4)).toEqual([
      "RESOURCE_CONSTRAINT cpu critical",
      "RESOURCE_CONSTRAINT_DETECTED cpu",
      "NODE_OVERLOADED cpu",
    ]);
  });

  test("knows after a restart what it has told, and tells what changed meanwhile", async () => {
    const { w, machine, run, samples } = await start();
    const first = await run();
    machine.diskUsed = 0.9e12;
    await samples(4);
    await w.driven(first.stop());
    await run();
    expect(await samples(4)).toEqual([]);
    machine.diskUsed = 0.2e12;
    expect(await samples(4)).toEqual(["RESOURCE_CONSTRAINT disk none"]);
  });

  test("says in the log when a disk that fills steadily will be full, once an hour", async () => {
    const { machine, run, samples, warnings } = await start();
    await run();
    for (let i = 0; i < 480; i += 1) {
      machine.diskUsed += 1e11 / 480;
      await samples(1);
    }
    const told = warnings.filter((message) => message.includes("full in about"));
    expect(told.length).toBeGreaterThanOrEqual(1);
    expect(told.length).toBeLessThanOrEqual(2);
    expect(told[0]).toMatch(/full in about 1[5-9] hours/);
  });
});
