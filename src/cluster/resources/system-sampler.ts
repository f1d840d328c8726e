/** The machine as it is: Linux through /proc and control groups, elsewhere through what Node knows. */
import { execFile } from "node:child_process";
import { readdir, readFile, statfs } from "node:fs/promises";
import { availableParallelism, cpus as cpuTimes, freemem, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../../kernel/index.ts";
import {
  type CpuTicks,
  cpuShare,
  cpuTicks,
  gpusOf,
  groupPaths,
  inactiveFileBytes,
  limitBytes,
  memoryOf,
  othersShare,
  pressureOfLoad,
  pressureShare,
  quotaCpus,
  treeTicks,
  withParents,
} from "./proc-text.ts";
import type { GpuSample, ResourceSample, ResourceSampler } from "./sample.ts";

export interface SystemSamplerOptions {
  /** The folder whose disk is measured. */
  readonly dataDir: string;
  readonly clock: Clock;
  /** Where the kernel tells of itself; the root of the machine unless given. */
  readonly root?: string;
  /** The program that knows the accelerators. */
  readonly gpuTool?: string;
  /** The process at the top of what is ours; this one unless given. */
  readonly pid?: number;
}

const GPU_QUERY = ["--query-gpu=name,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits"];
const GPU_TIMEOUT_MS = 5_000;
const GPU_MOST_BYTES = 65_536;
/** A machine without the tool rarely gets one while we run. */
const GPU_LOOK_AGAIN_MS = 3_600_000;
/** Ten wake-ups a second see every delay that matters and cost next to nothing. */
const LOOP_RESOLUTION_MS = 100;
const MAX_GROUPS = 16;
/** On a machine with more processes than this, those of ours beyond it count as others'. */
const MAX_PROCESSES = 4_096;
/** Where the worker of a data folder writes its number. */
export const WORKER_PID_FILE = join("worker", "pid");

/** One level of a control group that may limit memory. */
interface MemoryGroup {
  readonly limit: string;
  readonly used: string;
  readonly stat: string;
}

/** The counters of all processors, where there is no /proc/stat. */
const ticksOfNode = (): CpuTicks => {
  let busy = 0;
  let total = 0;
  for (const { times } of cpuTimes()) {
    const all = times.user + times.nice + times.sys + times.irq;
    busy += all;
    total += all + times.idle;
  }
  return { busy, total };
};

export function systemSampler({ dataDir, clock, root = "", gpuTool, pid }: SystemSamplerOptions): ResourceSampler {
  const text = (path: string) => readFile(`${root}${path}`, "utf8").catch(() => "");
  let ticks: (CpuTicks & { readonly own: number }) | undefined;
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let groups: Promise<{ memory: MemoryGroup[]; quotas: string[] }> | undefined;
  let gpusAbsentUntil = Number.NEGATIVE_INFINITY;

  /** Looked up once: a process does not move between groups, though the limits of its group may change. */
  const findGroups = async () => {
    const { unified, memory } = groupPaths(await text("/proc/self/cgroup"));
    const folders = (base: string, path: string | null) =>
      path === null
        ? []
        : withParents(path)
            .slice(0, MAX_GROUPS)
            .map((at) => `${base}${at === "/" ? "" : at}`);
    const second = folders("/sys/fs/cgroup", unified);
    const first = folders("/sys/fs/cgroup/memory", memory);
    const all = [
      ...second.map((at) => ({ limit: `${at}/memory.max`, used: `${at}/memory.current`, stat: `${at}/memory.stat` })),
      ...first.map((at) => ({
        limit: `${at}/memory.limit_in_bytes`,
        used: `${at}/memory.usage_in_bytes`,
        stat: `${at}/memory.stat`,
      })),
    ];
    const there = await Promise.all(all.map(async ({ limit }) => (await text(limit)) !== ""));
    const quotas = second.map((at) => `${at}/cpu.max`);
    const quotaThere = await Promise.all(quotas.map(async (path) => (await text(path)) !== ""));
    return { memory: all.filter((_, i) => there[i]), quotas: quotas.filter((_, i) => quotaThere[i]) };
  };

  /** A worker that somebody started beside us is ours too: it says in its folder who it is. */
  const workerPid = async (): Promise<number> =>
    Number.parseInt(await readFile(join(dataDir, WORKER_PID_FILE), "utf8").catch(() => ""), 10);

  /** What this process, its worker and all that they started took of the processors; 0 where nothing tells. */
  const ownTicks = async (): Promise<number> => {
    const names = await readdir(`${root}/proc`).catch(() => []);
    const pids = names.filter((name) => /^\d+$/.test(name)).slice(0, MAX_PROCESSES);
    return treeTicks(
      await Promise.all(pids.map((each) => text(`/proc/${each}/stat`))),
      pid ?? process.pid,
      await workerPid(),
    );
  };

  const readMemory = async (found: readonly MemoryGroup[]): Promise<ResourceSample["memory"]> => {
    const machine = memoryOf(await text("/proc/meminfo")) ?? { totalBytes: totalmem(), availableBytes: freemem() };
    const { rss: rssBytes } = process.memoryUsage();
    const whole = {
      usage: Math.max(0, 1 - machine.availableBytes / machine.totalBytes),
      totalBytes: machine.totalBytes,
      limitedBy: "machine" as const,
      rssBytes,
    };
    let fullest: ResourceSample["memory"] = whole;
    for (const group of found) {
      const totalBytes = limitBytes(await text(group.limit));
      if (totalBytes === null || totalBytes <= 0 || totalBytes >= machine.totalBytes) continue;
      const used = limitBytes(await text(group.used)) ?? 0;
      const usage = Math.min(1, Math.max(0, used - inactiveFileBytes(await text(group.stat))) / totalBytes);
      if (usage >= fullest.usage) fullest = { usage, totalBytes, limitedBy: "control group", rssBytes };
    }
    return fullest;
  };

  const readGpus = (signal: AbortSignal): Promise<GpuSample[]> => {
    if (clock.monotonic() < gpusAbsentUntil) return Promise.resolve([]);
    const options = { timeout: GPU_TIMEOUT_MS, maxBuffer: GPU_MOST_BYTES, signal, killSignal: "SIGKILL" } as const;
    return new Promise((resolve) => {
      execFile(gpuTool ?? "nvidia-smi", GPU_QUERY, options, (error, stdout) => {
        // Absent is normal, and so is a driver that does not answer: neither is worth a failed sample.
        if (error?.code === "ENOENT") gpusAbsentUntil = clock.monotonic() + GPU_LOOK_AGAIN_MS;
        resolve(error === null ? gpusOf(stdout) : []);
      });
    });
  };

  const readLoopDelay = (): ResourceSample["loopDelayMs"] => {
    if (delays === undefined) {
      delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
      delays.enable();
    }
    // The histogram holds the whole distance between two of its timers; what is over its resolution is delay.
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
    const seen = delays.count === 0 ? { p99: 0, max: 0 } : { p99: late(delays.percentile(99)), max: late(delays.max) };
    delays.reset();
    return seen;
  };

  return {
    async sample(signal) {
      groups ??= findGroups();
      const { memory, quotas } = await groups;
      const now = { ...(cpuTicks(await text("/proc/stat")) ?? ticksOfNode()), own: await ownTicks() };
      const cpuUsage = ticks === undefined ? null : cpuShare(ticks, now);
      const cpuOthers = ticks === undefined || now.own === 0 ? null : othersShare(ticks, now);
      ticks = now;
      const allowed = (await Promise.all(quotas.map(text))).map(quotaCpus).filter((quota) => quota !== null);
      const cpus = Math.min(availableParallelism(), ...allowed);
      const pressure = pressureShare(await text("/proc/pressure/cpu"));
      const { blocks, bfree, bavail, bsize } = await statfs(dataDir);
      return {
        cpus,
        cpuUsage,
        cpuPressure: pressure ?? pressureOfLoad(loadavg()[0]!, cpus),
        cpuOthers,
        memory: await readMemory(memory),
        // As `df` counts: what is kept back for the system is neither used nor free.
        disk: { totalBytes: blocks * bsize, usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize },
        loopDelayMs: readLoopDelay(),
        gpus: await readGpus(signal),
      };
    },
    close() {
      delays?.disable();
      delays = undefined;
    },
  };
}
