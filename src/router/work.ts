import { type Log, messageOf, OperatingError, type TimeLimits } from "../kernel/index.ts";
import type { AnyEvent } from "./event.ts";
import type { Cause, Prepared } from "./prepare.ts";
import type { Store } from "./store.port.ts";
import { createWriteSet, type WriteSet } from "./write-set.ts";

/** What a durable handler works with besides the event. */
export interface HandlerContext {
  /** Rows it reads and changes; applied only if it succeeds. */
  readonly rows: WriteSet;
  /**
   * Emits an event; it is published only if the handler succeeds. Its parent is the event that is being handled, unless
   * another cause is named; with null it has none, and begins a trace.
   */
  emit(eventType: string, payload: Readonly<Record<string, unknown>>, cause?: Cause | null): AnyEvent;
  /** 1 on the first try. */
  readonly attempt: number;
  /** Aborts at the time limit and when the process stops. */
  readonly signal: AbortSignal;
  /** Runs once the write set, the emissions and the ack are on disk, and never if they are not. */
  afterCommit(run: () => void): void;
}

export type WorkBody = (context: HandlerContext) => void | Promise<void>;

export interface WorkOptions {
  readonly store: Pick<Store, "read">;
  /** Who works, and on what: for the error of one that emits too late. */
  readonly source: string;
  readonly what: string;
  readonly attempt?: number;
  readonly signal?: AbortSignal | undefined;
  readonly prepareEmission: (eventType: string, payload: unknown, cause?: Cause | null) => Prepared;
}

/** A handler or a tick while it runs: its rows and emissions are collected here, for one commit once it has succeeded. */
export function beginWork({ store, source, what, attempt = 1, signal, prepareEmission }: WorkOptions) {
  const rows = createWriteSet(store);
  const emitted: Prepared[] = [];
  const after: (() => void)[] = [];
  const abort = new AbortController();
  let open = true;
  const context: HandlerContext = {
    rows,
    attempt,
    signal: signal === undefined ? abort.signal : AbortSignal.any([signal, abort.signal]),
    emit(eventType, payload, cause) {
      if (!open) throw new Error(`${source} emits ${eventType} after ${what} has ended`);
      const prepared = prepareEmission(eventType, payload, cause);
      emitted.push(prepared);
      return prepared.event;
    },
    afterCommit: (run) => void after.push(run),
  };
  const end = (reason: unknown) => {
    open = false;
    abort.abort(reason);
  };
  return {
    context,
    rows,
    emitted,
    end,
    async run(body: WorkBody, limits: TimeLimits, timeoutMs: number): Promise<void> {
      try {
        const running = body(context);
        if (running instanceof Promise) await withinLimit(limits, timeoutMs, running, end);
      } catch (thrown) {
        end(thrown);
        throw thrown;
      } finally {
        open = false;
      }
    },
    /** The work is on disk and cannot fail any more, so a fault of what was to follow it is logged and passed over. */
    runAfterCommit(log: Log): void {
      for (const run of after) {
        try {
          run();
        } catch (thrown) {
          log.error("a step after a commit failed", { source, error: messageOf(thrown) });
        }
      }
    },
  };
}

function withinLimit(
  limits: TimeLimits,
  timeoutMs: number,
  running: Promise<void>,
  onExpired: (error: OperatingError) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = limits.begin(timeoutMs, () => {
      const error = OperatingError.internal("HANDLER_TIME_LIMIT", `no end after ${timeoutMs / 1_000} s`);
      onExpired(error);
      reject(error);
    });
    running.finally(() => limit.end()).then(resolve, reject);
  });
}
