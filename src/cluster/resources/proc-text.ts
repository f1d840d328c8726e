/** Reads the texts in which Linux tells of itself. Each gives null for a text that is not what it expects. */
import type { GpuSample } from "./sample.ts";

export interface CpuTicks {
  readonly busy: number;
  readonly total: number;
}

/** The first line of `/proc/stat`. Waiting for a disk is not work, and guests are counted under user already. */
export function cpuTicks(text: string): CpuTicks | null {
  const fields = /^cpu\s+(.+)$/m.exec(text)?.[1]?.trim().split(/\s+/).map(Number);
  if (fields === undefined || fields.length < 4 || fields.some((field) => !Number.isFinite(field))) return null;
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = fields;
  const busy = user + nice + system + irq + softIrq + steal;
  return { busy, total: busy + idle + ioWait };
}

/** The share of busy ticks between two readings; null when no time has passed or the counters began anew. */
export function cpuShare(before: CpuTicks, after: CpuTicks): number | null {
  const total = after.total - before.total;
  const busy = after.busy - before.busy;
  return total <= 0 || busy < 0 ? null : Math.min(1, busy / total);
}

/** `/proc/pressure/cpu`: the share of the last minute in which something waited. */
export function pressureShare(text: string): number | null {
  const found = /^some\s.*\bavg60=([\d.]+)/m.exec(text)?.[1];
  const percent = Number(found);
  return found === undefined || !Number.isFinite(percent) ? null : Math.min(1, percent / 100);
}

/**
 * The ticks that a process, all below it, and those of them that have ended took so far. Each text is `/proc/<pid>/stat`; the name
 * in brackets may hold anything, so fields are counted from its end.
 */
export function treeTicks(stats: readonly string[], ...roots: readonly number[]): number {
  const processes = stats.flatMap((text) => {
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [parent, ticks] = [fields[1]!, fields.slice(11, 15).reduce((sum, one) => sum + one, 0)];
    return Number.isFinite(ticks) && Number.isFinite(parent) ? [{ pid: Number.parseInt(text, 10), parent, ticks }] : [];
  });
  const below = Map.groupBy(processes, ({ parent }) => parent);
  const tree = new Set(processes.filter(({ pid }) => roots.includes(pid)));
  // Whoever is found has those below it looked for as well.
  for (const { pid } of tree) for (const child of below.get(pid) ?? []) tree.add(child);
  return [...tree].reduce((sum, { ticks }) => sum + ticks, 0);
}

/** The share of the processors that others took between two readings; null where that cannot be told. */
export function othersShare(
  before: CpuTicks & { readonly own: number },
  after: CpuTicks & { readonly own: number },
): number | null {
  const total = after.total - before.total;
  const others = after.busy - before.busy - Math.max(0, after.own - before.own);
  return total > 0 && after.busy >= before.busy ? Math.max(0, others / total) : null;
}

/** What the pressure must be where only the length of the run queue is known. */
export const pressureOfLoad = (load: number, cpus: number): number => (load <= cpus ? 0 : 1 - cpus / load);

export interface MemoryText {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/** `/proc/meminfo`. */
export function memoryOf(text: string): MemoryText | null {
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]);
  const total = kilobytes("MemTotal");
  const available = kilobytes("MemAvailable");
  if (!(total > 0) || !(available >= 0)) return null;
  return { totalBytes: total * 1_024, availableBytes: available * 1_024 };
}

/** A limit of a control group in bytes; null for none. Version 1 says "none" with a number near 2^63. */
export function limitBytes(text: string): number | null {
  const value = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(value) || value > 2 ** 60 ? null : value;
}

/** `cpu.max` of a control group: how many processors it may use; null for as many as there are. */
export function quotaCpus(text: string): number | null {
  const [quota, period] = text.trim().split(/\s+/).map(Number);
  return quota === undefined || period === undefined || !(quota > 0) || !(period > 0) ? null : quota / period;
}

/** Page cache that the kernel would give back before it ends a process; it counts as free. */
export const inactiveFileBytes = (text: string): number =>
  Number(/^(?:total_)?inactive_file (\d+)$/m.exec(text)?.[1] ?? 0);

export interface GroupPaths {
  /** Of version 2, below its root. */
  readonly unified: string | null;
  /** Of version 1, below the root of the memory controller. */
  readonly memory: string | null;
}

/** `/proc/self/cgroup`. */
export function groupPaths(text: string): GroupPaths {
  return {
    unified: /^0::(\/.*)$/m.exec(text)?.[1] ?? null,
    memory: /^\d+:(?:[\w,]*,)?memory(?:,[\w,]*)?:(\/.*)$/m.exec(text)?.[1] ?? null,
  };
}

/** A group and all above it: a limit on any of them holds for this process. */
export function withParents(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== "..");
  return parts.map((_, i) => `/${parts.slice(0, parts.length - i).join("/")}`).concat("/");
}

const MEGABYTE = 1_048_576;
const MAX_GPUS = 64;

/** `nvidia-smi --query-gpu=name,utilization.gpu,memory.used,memory.total --format=csv,noheader,nounits`. */
export const gpusOf = (text: string): GpuSample[] =>
  text
    .split("\n")
    .slice(0, MAX_GPUS)
    .flatMap((line) => {
      const cells = line.split(",").map((cell) => cell.trim());
      const [usage, used, total] = cells.slice(-3).map(Number);
      // A name may hold a comma; the numbers are last.
      const name = cells.slice(0, -3).join(", ").slice(0, 100);
      if (name === "" || !(usage! >= 0) || !(used! >= 0) || !(total! > 0)) return [];
      return [
        {
          name,
          usage: Math.min(1, usage! / 100),
          memoryUsedBytes: used! * MEGABYTE,
          memoryTotalBytes: total! * MEGABYTE,
        },
      ];
    });
