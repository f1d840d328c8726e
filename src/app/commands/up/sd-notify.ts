/**
 * Tells systemd how the service stands, over NOTIFY_SOCKET. Node speaks no Unix datagrams, so `systemd-notify` does it: it is
 * there wherever systemd is, and it waits until its message has been read. The unit needs `NotifyAccess=all` for that.
 *
 * The watchdog is fed from the main loop and only while `isAlive` holds: a loop that is blocked, or a process that is no
 * longer worth keeping, falls silent, and systemd starts it anew.
 */
import { execFile } from "node:child_process";
import { type Clock, defined, type Environment, type Log, messageOf, type Timer } from "../../../kernel/index.ts";

export interface NotifierOptions {
  readonly env: Environment;
  readonly pid: number;
  readonly ppid: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly isAlive: () => boolean;
}

export interface Notifier {
  ready(status: string): void;
  status(text: string): void;
  stopping(text: string): void;
  /** Ends the watchdog and waits until what was said has been sent. */
  close(): Promise<void>;
}

/** Fed three times within its limit, so that one late message is no death. */
const FEEDS_PER_LIMIT = 3;
const PROGRAM = "systemd-notify";
const SEND_TIMEOUT_MS = 10_000;

const silent: Notifier = { ready() {}, status() {}, stopping() {}, close: async () => {} };

/** A status is one line. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}]+/gu, " ").slice(0, 500);

/** How often the watchdog wants to be fed; undefined where there is none for us. */
export function watchdogMs({ env, pid, ppid }: Pick<NotifierOptions, "env" | "pid" | "ppid">): number | undefined {
  const limit = Number(env.WATCHDOG_USEC ?? "");
  if (!Number.isFinite(limit) || limit <= 0) return undefined;
  // Where an older Node handed over to this one, systemd knows our parent.
  const meant = env.WATCHDOG_PID ?? "";
  if (meant !== "" && Number(meant) !== pid && Number(meant) !== ppid) return undefined;
  return limit / 1_000 / FEEDS_PER_LIMIT;
}

export function createNotifier(options: NotifierOptions): Notifier {
  const { env, clock, log, isAlive } = options;
  const socket = env.NOTIFY_SOCKET ?? "";
  if (socket === "") return silent;
  const child = { NOTIFY_SOCKET: socket, ...defined({ PATH: env.PATH }) };
  const waiting = new Map<string, string>();
  let sending: Promise<void> | undefined;
  let hasWarned = false;
  let feed: Timer | undefined;

  const sendOne = (words: readonly string[]) =>
    new Promise<void>((resolve) => {
      execFile(PROGRAM, words, { env: child, timeout: SEND_TIMEOUT_MS }, (error) => {
        if (error !== null && !hasWarned) {
          hasWarned = true;
          log.warn("systemd could not be notified", { error: messageOf(error), hint: "Is systemd-notify installed?" });
        }
        resolve();
      });
    });
  /** One message after the other; what gathers meanwhile goes together, and the newest status wins. */
  const send = async () => {
    while (waiting.size > 0) {
      const words = [...waiting].map(([name, value]) => `${name}=${value}`);
      waiting.clear();
      await sendOne(words);
    }
    sending = undefined;
  };
  const say = (fields: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(fields)) waiting.set(name, oneLine(value));
    sending ??= send();
  };

  const everyMs = watchdogMs(options);
  const beat = () => {
    if (isAlive()) say({ WATCHDOG: "1" });
    feed = clock.after(everyMs!, beat);
  };
  return {
    ready(status) {
      say({ READY: "1", STATUS: status });
      if (everyMs !== undefined) beat();
    },
    status: (text) => say({ STATUS: text }),
    stopping: (text) => say({ STOPPING: "1", STATUS: text }),
    async close() {
      feed?.cancel();
      await sending;
    },
  };
}
