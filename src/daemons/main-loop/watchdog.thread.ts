/** The watchdog's thread: looks at the main loop's pulse, and when it stays away says so by itself, with the stack. */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { type Clock, messageOf, systemClock } from "../../kernel/index.ts";
import { captureMainStack } from "./main-stack.ts";
import { readPulse } from "./pulse.ts";
import { look, quiet } from "./silence.ts";

export interface WatchdogThreadOptions {
  readonly pulse: SharedArrayBuffer;
  readonly everyMs: number;
  readonly blockedAfterMs: number;
  /** Where the alarm is appended besides standard error; null for nowhere. */
  readonly logFile: string | null;
  /** The alarm is for the log file alone: standard error belongs to sentences for people. */
  readonly isSilent: boolean;
}

/** One time in which the main loop did not answer. */
export interface BlockReport {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly blockedMs: number;
  /** Of the main thread while it was blocked, innermost first; null when none could be had. */
  readonly stack: readonly string[] | null;
}

export type FromWatchdog = { readonly type: "watching" } | { readonly type: "blocked"; readonly report: BlockReport };

/** A busy loop gives its stack within some 30 ms; what takes longer is native code, and the alarm does not wait for it. */
const STACK_WAIT_MS = 300;
/** The level of an error in the lines of the log. */
const ERROR_LEVEL = 50;

const options = workerData as WatchdogThreadOptions;

/** Directly to the descriptors: the main thread's log is as blocked as the main thread. */
function say(clock: Clock, message: string, fields: Readonly<Record<string, unknown>>): void {
  const line = `${JSON.stringify({ level: ERROR_LEVEL, time: new Date(clock.now()).toISOString(), unit: "daemon_watchdog", ...fields, msg: message })}\n`;
  const attempt = (write: () => void) => {
    try {
      write();
    } catch {
      // Whoever reads standard error is gone, or the disk is full: the other place may work, and the event comes later.
    }
  };
  const { logFile, isSilent } = options;
  if (!isSilent) attempt(() => void writeSync(2, line));
  if (logFile === null) return;
  attempt(() => {
    const file = openSync(logFile, "a", 0o600);
    try {
      writeSync(file, line);
    } finally {
      closeSync(file);
    }
  });
}

/** Milliseconds that the main thread was ready and had no processor, since it began; 0 where the system does not say. */
function mainWaitedMs(): number {
  try {
    const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(waitedNs) / 1e6 || 0;
  } catch {
    return 0;
  }
}

interface Alarm {
  readonly since: number;
  stack: readonly string[] | null;
  /** Resolves when the stack is there. */
  readonly stacked: Promise<void>;
  end(): void;
}

function raise(clock: Clock, silentMs: number, debugged: boolean): Alarm {
  const { promise: stacked, resolve } = Promise.withResolvers<void>();
  const about = { code: "MAIN_LOOP_BLOCKED", silent_ms: Math.round(silentMs) };
  let isLogged = false;
  const logAlarm = (message: string) => {
    isLogged = true;
    say(clock, message, alarm.stack === null ? about : { ...about, stack: alarm.stack });
  };
  let capture: { stop(): void } | undefined;
  const alarm: Alarm = { since: clock.now() - silentMs, stack: null, stacked, end: () => capture?.stop() };
  if (debugged) {
    logAlarm("the main loop does not answer; a debugger is attached, so its stack is left alone");
    resolve();
    return alarm;
  }
  const patience = clock.after(STACK_WAIT_MS, () =>
    logAlarm("the main loop does not answer; it is inside native code"),
  );
  try {
    capture = captureMainStack((frames) => {
      patience.cancel();
      alarm.stack = frames;
      logAlarm(isLogged ? "the main loop was blocked here" : "the main loop does not answer");
      resolve();
    });
  } catch (thrown) {
    patience.cancel();
    logAlarm(`the main loop does not answer, and its stack cannot be had: ${messageOf(thrown)}`);
    resolve();
  }
  return alarm;
}

function watch(port: NonNullable<typeof parentPort>, clock: Clock): void {
  const { pulse, everyMs } = options;
  const first = readPulse(pulse);
  let state = quiet(first.beatAtMs, clock.monotonic(), mainWaitedMs());
  let alarm: Alarm | undefined;

  const report = async (ended: Alarm, blockedMs: number) => {
    const patience = Promise.withResolvers<void>();
    clock.after(STACK_WAIT_MS, patience.resolve);
    await Promise.race([ended.stacked, patience.promise]);
    ended.end();
    const report: BlockReport = { since: ended.since, blockedMs, stack: ended.stack };
    port.postMessage({ type: "blocked", report } satisfies FromWatchdog);
  };
  const tick = () => {
    const { beatAtMs, debugged } = readPulse(pulse);
    const { next, turn } = look(state, { beatAt: beatAtMs, now: clock.monotonic(), waitedMs: mainWaitedMs() }, options);
    state = next;
    if (turn?.kind === "alarm") alarm = raise(clock, turn.silentMs, debugged);
    if (turn?.kind === "answers" && alarm !== undefined) {
      void report(alarm, turn.blockedMs);
      alarm = undefined;
    }
    clock.after(everyMs, tick, "hold");
  };
  clock.after(everyMs, tick, "hold");
  port.postMessage({ type: "watching" } satisfies FromWatchdog);
}

if (parentPort !== null) watch(parentPort, systemClock());
