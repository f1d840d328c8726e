import { isOperatingError, type Log, OperatingError, type TimeLimits } from "../kernel/index.ts";
import { runAfterCommit } from "./after-commit.ts";
import { type Appended, appendAll, appendedOf, isDurable } from "./append-all.ts";
import type { Prepared } from "./prepare.ts";
import type { HandlerContext } from "./runner.ts";
import type { Operation, Store } from "./store.port.ts";
import { createWriteSet } from "./write-set.ts";

export interface TransactPorts {
  readonly store: Store;
  readonly log: Log;
  readonly timeLimits: TimeLimits;
  readonly windowSeconds: number;
  readonly prepareEmission: (eventType: string, payload: unknown) => Prepared;
  readonly onCommitted: (emitted: readonly Appended[]) => void;
  readonly publishPassing: (prepared: Prepared) => void;
}

export interface TransactWork {
  readonly source: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Work whose read set keeps changing under it: after so many runs it counts as failed. */
const MOST_CONFLICTS = 50;

/**
 * Runs work that no delivery asked for (the tick of a loop, a passing event) like a handler: rows and emissions are
 * collected, and committed together when it has succeeded; if what it read changed meanwhile, it runs again.
 */
export async function transact(
  ports: TransactPorts,
  work: TransactWork,
  body: (context: HandlerContext) => void | Promise<void>,
): Promise<void> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await once(ports, work, body);
    } catch (thrown) {
      if (!isOperatingError(thrown, "READ_CONFLICT") || conflicts >= MOST_CONFLICTS) throw thrown;
    }
  }
}

async function once(
  ports: TransactPorts,
  work: TransactWork,
  body: (context: HandlerContext) => void | Promise<void>,
): Promise<void> {
  work.signal?.throwIfAborted();
  const rows = createWriteSet(ports.store);
  const emitted: Prepared[] = [];
  const after: (() => void)[] = [];
  const abort = new AbortController();
  let open = true;
  const context: HandlerContext = {
    rows,
    attempt: 1,
    signal: work.signal === undefined ? abort.signal : AbortSignal.any([work.signal, abort.signal]),
    emit(eventType, payload) {
      if (!open) throw new Error(`${work.source} emits ${eventType} after its work has ended`);
      const prepared = ports.prepareEmission(eventType, payload);
      emitted.push(prepared);
      return prepared.event;
    },
    afterCommit: (run) => void after.push(run),
  };
  try {
    const running = body(context);
    if (running instanceof Promise)
      await limited(ports.timeLimits, work.timeoutMs, running, (error) => {
        open = false;
        abort.abort(error);
      });
  } finally {
    open = false;
  }
  await commit(ports, rows.operations(), emitted);
  runAfterCommit(ports.log, work.source, after);
}

async function commit(ports: TransactPorts, writes: readonly Operation[], emitted: readonly Prepared[]): Promise<void> {
  const durable = emitted.filter(isDurable);
  const appends = appendAll(durable, ports.windowSeconds);
  if (writes.length + appends.length > 0) {
    const results: readonly unknown[] = await ports.store.commit([...writes, ...appends]);
    ports.onCommitted(appendedOf(durable, results.slice(writes.length)));
  }
  for (const prepared of emitted) if (!isDurable(prepared)) ports.publishPassing(prepared);
}

function limited(
  limits: TimeLimits,
  timeoutMs: number,
  running: Promise<void>,
  expire: (error: OperatingError) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = limits.begin(timeoutMs, () => {
      const error = new OperatingError("HANDLER_TIME_LIMIT", `no end after ${timeoutMs / 1_000} s`);
      expire(error);
      reject(error);
    });
    const end = () => limit.end();
    running.then(end, end);
    running.then(resolve, reject);
  });
}
