import type { DatabaseSync } from "node:sqlite";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import type { Operation, Store, StoreFault } from "../../router/index.ts";
import { isStoreFault, translateFault } from "./faults.ts";
import { type Outcome, statementCache } from "./writer.ts";

interface Waiting {
  readonly operations: readonly Operation[];
  readonly resolve: (results: never) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_IN_BATCH = 1_000;
const MAX_WAITING = 200_000;
/** Two: while the writer flushes one batch the next is already on its way. */
const MAX_IN_FLIGHT = 2;
/** A full disk still takes a small commit now and then: it works again when it has refused nothing for so long. */
const CALM_MS = 5_000;

/**
 * Gathers commits into batches: the first goes at once, and what arrives while the writer is busy goes together.
 * `send` hands a batch to the writer; its answer comes back through `settle`.
 */
export function createCommitQueue(clock: Clock, send: (batch: readonly (readonly Operation[])[]) => void) {
  let waiting: Waiting[] = [];
  const inFlight: (readonly Waiting[])[] = [];
  const whenDrained: (() => void)[] = [];
  let scheduled = false;
  let closed: OperatingError | undefined;
  let fault: StoreFault | null = null;
  let refusedMs = 0;
  const listeners = new Set<(fault: StoreFault | null) => void>();

  const setFault = (next: StoreFault | null) => {
    if (fault?.code === next?.code) return;
    fault = next;
    for (const listen of listeners) listen(fault);
  };
  /** Answers come in the order of sending, so what could not be sent must not stand in the line of those that were. */
  const dispatch = (batch: readonly Waiting[]): void => {
    inFlight.push(batch);
    try {
      send(batch.map(({ operations }) => operations));
    } catch (thrown) {
      inFlight.splice(inFlight.lastIndexOf(batch), 1);
      if (batch.length === 1) batch[0]!.reject(thrown);
      else for (const one of batch) dispatch([one]);
    }
  };
  const flush = () => {
    scheduled = false;
    while (waiting.length > 0 && inFlight.length < MAX_IN_FLIGHT) {
      const batch = waiting.slice(0, MAX_IN_BATCH);
      waiting = waiting.slice(MAX_IN_BATCH);
      dispatch(batch);
    }
  };
  return {
    commit(operations: readonly Operation[]): Promise<never> {
      if (closed !== undefined) return Promise.reject(closed);
      if (waiting.length >= MAX_WAITING)
        return Promise.reject(
          OperatingError.busy("STORE_BUSY", `more than ${MAX_WAITING} commits wait for the disk`, {
            hint: "Publish more slowly, or await every publish.",
          }),
        );
      return new Promise((resolve, reject) => {
        waiting.push({ operations, resolve, reject });
        if (!scheduled && inFlight.length < MAX_IN_FLIGHT) {
          scheduled = true;
          queueMicrotask(flush);
        }
      });
    },
    settle(outcomes: readonly Outcome[]): void {
      const batch = inFlight.shift() ?? [];
      flush();
      let failed: unknown;
      for (const [i, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i]!;
        if (outcome.ok) resolve(outcome.results as never);
        else {
          reject(outcome.error);
          failed = outcome.error;
        }
      }
      if (waiting.length === 0 && inFlight.length === 0) for (const resolve of whenDrained.splice(0)) resolve();
      if (isStoreFault(failed)) {
        refusedMs = clock.monotonic();
        setFault({ code: failed.code, message: failed.message, since: clock.now() });
      } else if (clock.monotonic() - refusedMs >= CALM_MS) setFault(null);
    },
    /** Refuses what waits and what comes: for good, so a writer that is gone is a fault that stays. */
    close(reason: OperatingError): void {
      if (closed !== undefined) return;
      closed = reason;
      if (reason.code === "STORE_GONE") setFault({ code: reason.code, message: reason.message, since: clock.now() });
      const left = [...inFlight.flat(), ...waiting];
      inFlight.length = 0;
      waiting = [];
      for (const { reject } of left) reject(closed);
      for (const resolve of whenDrained.splice(0)) resolve();
    },
    /** Resolves once nothing waits. */
    drained: () =>
      new Promise<void>((resolve) => {
        if (waiting.length === 0 && inFlight.length === 0) resolve();
        else whenDrained.push(resolve);
      }),
    get fault() {
      return fault;
    },
    onFault: (listen: (fault: StoreFault | null) => void) => {
      listeners.add(listen);
    },
  };
}

export const storeClosed = () =>
  OperatingError.unavailable("STORE_CLOSED", "the store is closed", { retryable: false });

/** A store that commits through a queue and reads from a connection. */
export function storeOver(
  queue: ReturnType<typeof createCommitQueue>,
  reader: DatabaseSync,
  close: () => Promise<void>,
  scan?: Store["scan"],
): Store {
  const prepare = statementCache(reader);
  const read: Store["read"] = (sql, ...params) => {
    try {
      return prepare(sql).all(...params) as never;
    } catch (thrown) {
      throw translateFault(thrown);
    }
  };
  return {
    commit: queue.commit,
    read,
    // A store on the caller's thread has no other to read on.
    scan: scan ?? (async (sql, params = []) => read(sql, ...params)),
    get fault() {
      return queue.fault;
    },
    onFault: queue.onFault,
    close,
  };
}
