import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { diskUsageOf } from "./sample.ts";
import { systemSampler } from "./system-sampler.ts";

const signal = new AbortController().signal;
/** A folder that looks like the root of a machine. */
const machine = (files: Readonly<Record<string, string>>) => {
  const root = mkdtempSync(join(tmpdir(), "ringrift-machine-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const write = (more: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(more)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  };
  write(files);
  return { root, write };
};
const GIB = 2 ** 30;
const plain = {
  "proc/meminfo": `MemTotal: ${(8 * GIB) / 1024} kB\nMemAvailable: ${(6 * GIB) / 1024} kB\n`,
  "proc/stat": "cpu  100 0 0 900 0 0 0 0\n",
  "proc/pressure/cpu": "some avg10=0.00 avg60=25.00 avg300=0.00 total=1\n",
  "proc/self/cgroup": "0::/a/b\n",
};
const samplerOf = (root: string, gpuTool = "no-such-tool") => {
  const sampler = systemSampler({ dataDir: tmpdir(), clock: virtualClock(), root, gpuTool });
  onTestFinished(() => sampler.close());
  return sampler;
};

describe("the sampler of the system", () => {
  test("knows the usage of the processors from the second sample on", async () => {
    const { root, write } = machine(plain);
    const sampler = samplerOf(root);
    expect((await sampler.sample(signal)).cpuUsage).toBeNull();
    write({ "proc/stat": "cpu  150 0 0 950 0 0 0 0\n" });
    expect(await sampler.sample(signal)).toMatchObject({ cpuUsage: 0.5, cpuPressure: 0.25, gpus: [] });
  });

  test("knows what others take of the processors, which is what it and its children do not", async () => {
    const stat = (parent: number, ticks: number) => `7 (x) S ${parent} 1 1 0 -1 0 0 0 0 0 ${ticks} 0 0 0 20 0 1\n`;
    const { root, write } = machine({ ...plain, "proc/7/stat": stat(1, 40) });
    const sampler = systemSampler({ dataDir: tmpdir(), clock: virtualClock(), root, gpuTool: "no-such-tool", pid: 7 });
    onTestFinished(() => sampler.close());
    expect(await sampler.sample(signal)).toMatchObject({ cpuOthers: null });
    write({ "proc/stat": "cpu  190 0 0 910 0 0 0 0\n", "proc/7/stat": stat(1, 100) });
    expect((await sampler.sample(signal)).cpuOthers).toBeCloseTo(0.3, 9);
  });

  test("a worker that was started beside it by hand is no other", async () => {
    const stat = (pid: number, ticks: number) => `${pid} (x) S 1 1 1 0 -1 0 0 0 0 0 ${ticks} 0 0 0 20 0 1\n`;
    const { root, write } = machine({
      ...plain,
      "proc/7/stat": stat(7, 0),
      "proc/9/stat": stat(9, 0),
      "data/worker/pid": "9\n",
    });
    const dataDir = join(root, "data");
    const sampler = systemSampler({ dataDir, clock: virtualClock(), root, gpuTool: "no-such-tool", pid: 7 });
    onTestFinished(() => sampler.close());
    await sampler.sample(signal);
    write({ "proc/stat": "cpu  190 0 0 910 0 0 0 0\n", "proc/7/stat": stat(7, 10), "proc/9/stat": stat(9, 60) });
    expect((await sampler.sample(signal)).cpuOthers).toBeCloseTo(0.2, 9);
  });

  test("counts the memory of the machine where nothing else limits it", async () => {
    const { root } = machine({ ...plain, "sys/fs/cgroup/a/b/memory.max": "max\n" });
    const { memory } = await samplerOf(root).sample(signal);
    expect(memory).toMatchObject({ usage: 0.25, limitedBy: "machine", totalBytes: 8 * GIB });
    expect(memory.rssBytes).toBeGreaterThan(1e6);
  });

  test("counts the limit of a parent group, without page cache that can be given back", async () => {
    const { root } = machine({
      ...plain,
      "sys/fs/cgroup/a/b/memory.max": "max\n",
      "sys/fs/cgroup/a/memory.max": `${GIB}\n`,
      "sys/fs/cgroup/a/memory.current": `${0.9 * GIB}\n`,
      "sys/fs/cgroup/a/memory.stat": `anon 1\ninactive_file ${Math.round(0.4 * GIB)}\n`,
      "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
    });
    const { memory, cpus } = await samplerOf(root).sample(signal);
    expect(memory).toMatchObject({ limitedBy: "control group", totalBytes: GIB });
    expect(memory.usage).toBeCloseTo(0.5, 5);
    expect(cpus).toBe(0.5);
  });

  test("reads groups of version 1 too", async () => {
    const { root } = machine({
      ...plain,
      "proc/self/cgroup": "4:memory:/box\n0::/\n",
      "sys/fs/cgroup/memory/box/memory.limit_in_bytes": `${GIB}\n`,
      "sys/fs/cgroup/memory/box/memory.usage_in_bytes": `${0.75 * GIB}\n`,
    });
    expect((await samplerOf(root).sample(signal)).memory).toMatchObject({ usage: 0.75, limitedBy: "control group" });
  });

  test("asks the tool for accelerators, without a shell", async () => {
    const { root, write } = machine(plain);
    write({ "bin/smi": "#!/bin/sh\necho 'A100, 50, 1024, 2048'\n" });
    chmodSync(join(root, "bin/smi"), 0o755);
    const { gpus } = await samplerOf(root, join(root, "bin/smi")).sample(signal);
    expect(gpus).toEqual([{ name: "A100", usage: 0.5, memoryUsedBytes: GIB, memoryTotalBytes: 2 * GIB }]);
  });

  test("takes a tool that fails for no accelerators", async () => {
    const { root, write } = machine(plain);
    write({ "bin/smi": "#!/bin/sh\necho 'A100, 50, 1024, 2048'\nexit 9\n" });
    chmodSync(join(root, "bin/smi"), 0o755);
    expect((await samplerOf(root, join(root, "bin/smi")).sample(signal)).gpus).toEqual([]);
  });

  test("tells of this very machine what can be true", async () => {
    const sampler = systemSampler({ dataDir: tmpdir(), clock: virtualClock() });
    onTestFinished(() => sampler.close());
    const sample = await sampler.sample(signal);
    expect(sample.cpus).toBeGreaterThan(0);
    expect(sample.cpus).toBeLessThanOrEqual(availableParallelism());
    for (const share of [sample.memory.usage, sample.cpuPressure, diskUsageOf(sample.disk)]) {
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(1);
    }
    expect(sample.disk.totalBytes).toBeGreaterThan(0);
  });
});
