import { url as inspectorUrl } from "node:inspector";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { type Clock, type Log, messageOf, moduleBeside, type Timer } from "../../kernel/index.ts";
import { createPulse, readPulse } from "./pulse.ts";
import type { BlockReport, FromWatchdog, WatchdogThreadOptions } from "./watchdog.thread.ts";

export interface MainLoopWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Silence of the main loop after which the thread raises the alarm. */
  readonly blockedAfterMs: number;
  /** The log file of the process, where the thread writes its alarm besides standard error. */
  readonly logFile?: string;
  /** Keeps the alarm out of standard error, where there is a log file for it. */
  readonly isSilent?: boolean;
}

/** How late the main loop turned since the watch began, in milliseconds. */
export interface LoopDelay {
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The main loop of this process under the eye of a thread. */
export type MainLoopWatch = ReturnType<typeof watchMainLoop>;

/** The loop beats, and the thread looks, so often within the time that is allowed: an alarm is late by a quarter at most. */
const LOOKS = 4;
/** Reports wait for a disk that refuses; more than so many tell nothing new. */
const MAX_REPORTS = 100;
/** One sample each: 10 a second show any delay that matters, and cost an idle process next to nothing. */
const DELAY_RESOLUTION_MS = 100;

export function watchMainLoop({ clock, log, blockedAfterMs, logFile, isSilent = false }: MainLoopWatchOptions) {
  const everyMs = Math.max(1, Math.floor(blockedAfterMs / LOOKS));
  const pulse = createPulse();
  const delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  let reports: BlockReport[] = [];
  let blocks = 0;
  let longestMs = 0;
  let fault: string | null = null;
  let stopping: Promise<void> | undefined;
  let timer: Timer | undefined;

  const beat = () => {
    pulse.beat(inspectorUrl() !== undefined);
    timer = clock.after(everyMs, beat);
  };
  const broken = (why: string) => {
    if (stopping !== undefined || fault !== null) return;
    fault = why;
    begun();
    log.error("the main loop is not being watched", { error: why });
  };
  const thread = new Worker(moduleBeside(import.meta.url, "./watchdog.thread"), {
    name: "watchdog",
    workerData: {
      pulse: pulse.buffer,
      everyMs,
      blockedAfterMs,
      logFile: logFile ?? null,
      isSilent: isSilent && logFile !== undefined,
    } satisfies WatchdogThreadOptions,
  });
  const { promise: watching, resolve: begun } = Promise.withResolvers<void>();
  thread.on("message", (message: FromWatchdog) => {
    if (message.type === "watching") return begun();
    const { report } = message;
    blocks += 1;
    longestMs = Math.max(longestMs, report.blockedMs);
    reports = [...reports, report].slice(-MAX_REPORTS);
    log.warn("the main loop answers again", { blocked_ms: Math.round(report.blockedMs) });
  });
  thread.on("error", (thrown) => broken(`the watchdog's thread died: ${messageOf(thrown)}`));
  thread.on("exit", () => broken("the watchdog's thread has ended"));
  // It watches as long as others keep the process alive.
  thread.unref();
  delays.enable();
  beat();

  return {
    /** Resolves when the thread has begun to look, or cannot. */
    watching,
    /** Whether the main loop has answered lately; asked from another thread, or after an await. */
    isAnswering: () => readPulse(pulse.buffer).silentMs < blockedAfterMs,
    /** Blocks that are over and were not yet taken note of, oldest first. */
    reports: (): readonly BlockReport[] => reports,
    /** They were taken note of. */
    noted(taken: readonly BlockReport[]) {
      reports = reports.filter((report) => !taken.includes(report));
    },
    loopDelay(): LoopDelay {
      // A sample is the time between two turns; what is above the resolution is delay.
      const late = (ns: number) => (Number.isFinite(ns) ? Math.max(0, ns / 1e6 - DELAY_RESOLUTION_MS) : 0);
      return {
        meanMs: late(delays.mean),
        p50Ms: late(delays.percentile(50)),
        p99Ms: late(delays.percentile(99)),
        // The histogram takes its first sample as a beginning, and so misses a block right after the start.
        maxMs: Math.max(late(delays.max), longestMs),
      };
    },
    /** Times that the main loop was found blocked since the start. */
    get blocks(): number {
      return blocks;
    },
    /** Why the thread does not watch; null while it does. */
    get fault(): string | null {
      return fault;
    },
    stop() {
      stopping ??= (async () => {
        timer?.cancel();
        delays.disable();
        await thread.terminate();
      })();
      return stopping;
    },
  };
}
