/** What `/metrics` says of the process itself: memory, time, open files, and how late its event loop is. */
import { readdir, readFile } from "node:fs/promises";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import type { Clock, Timer } from "../../kernel/index.ts";
import type { Define } from "./figure.ts";

const ROTATE_EVERY_MS = 30_000;
/** Delays that matter are longer; more samples would only cost an idle process. */
const RESOLUTION_MS = 50;

/** The delay of the event loop over the last half to whole minute, whoever asks and however often. */
export function loopDelay(clock: Clock) {
  const monitor = () => monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const monitors = [monitor(), monitor()] as const;
  for (const each of monitors) each.enable();
  let older = 0;
  let timer: Timer;
  const rotate = () => {
    monitors[older as 0 | 1].reset();
    older = 1 - older;
    timer = clock.after(ROTATE_EVERY_MS, rotate);
  };
  timer = clock.after(ROTATE_EVERY_MS, rotate);
  return {
    read() {
      const seen = monitors[older as 0 | 1];
      // A sample is the time between two beats, of which the beat itself is no delay.
      const seconds = (nanoseconds: number) =>
        Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1_000) : 0;
      if (seen.count === 0) return { mean: 0, p50: 0, p99: 0, max: 0 };
      return {
        mean: seconds(seen.mean),
        p50: seconds(seen.percentile(50)),
        p99: seconds(seen.percentile(99)),
        max: seconds(seen.max),
      };
    },
    stop() {
      timer.cancel();
      for (const each of monitors) each.disable();
    },
  };
}

/** Linux alone says it; elsewhere the series is not there. */
const openFiles = async (): Promise<number | undefined> =>
  (await readdir("/proc/self/fd").catch(() => undefined))?.length;

const maxOpenFiles = async (): Promise<number | undefined> => {
  const limits = await readFile("/proc/self/limits", "utf8").catch(() => "");
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
  return Number.isNaN(soft) ? undefined : soft;
};

export function processFigures(gauge: Define, counter: Define, clock: Clock): void {
  const startedAt = clock.now() / 1_000;
  gauge("process_start_time_seconds", "When this process began, in Unix seconds.", [], () => startedAt);
  gauge("process_resident_memory_bytes", "Memory of the process that is resident.", [], () =>
    process.memoryUsage.rss(),
  );
  gauge("process_heap_bytes", "The heap of JavaScript.", ["state"], () => {
    const { heapUsed: used, heapTotal: reserved, external } = process.memoryUsage();
    return { used, reserved, external };
  });
  gauge("process_open_fds", "Files, sockets and pipes that the process has open.", [], openFiles);
  gauge("process_max_fds", "How many it may have open.", [], maxOpenFiles);
  counter("process_cpu_seconds_total", "Time of the processor that the process took.", ["mode"], () => {
    const { user, system } = process.cpuUsage();
    return { user: user / 1e6, system: system / 1e6 };
  });
  counter("event_loop_seconds_total", "How long the event loop worked, and how long it waited.", ["state"], () => {
    const { active, idle } = performance.eventLoopUtilization();
    return { active: active / 1_000, idle: idle / 1_000 };
  });
}
