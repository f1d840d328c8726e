import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { type Clock, messageOf, moduleBeside, OperatingError } from "../../kernel/index.ts";
import { type Operation, probeStore, type Store } from "../../router/index.ts";
import { createCommitQueue, storeClosed, storeOver } from "./commit-queue.ts";
import { translateFault } from "./faults.ts";
import { fromPortable } from "./portable-error.ts";
import { createReader } from "./reader.ts";
import type { FromThread, PortableOutcome, ThreadOptions, ToThread } from "./writer.thread.ts";
import { type Outcome, openReader } from "./writer.ts";

export interface ThreadedStoreOptions extends ThreadOptions {
  readonly clock: Clock;
}

/** How often a faulty disk is tried again while nobody publishes. */
const PROBE_EVERY_MS = 1_000;

const outcomeOf = (outcome: PortableOutcome): Outcome =>
  outcome.ok ? outcome : { ok: false, error: fromPortable(outcome.error) };

/**
 * The production store: the writer on a thread of its own, reads on a read-only connection of the caller's, or, where they go through many
 * rows, on a thread of their own.
 */
export async function threadedStore(options: ThreadedStoreOptions): Promise<Store> {
  const { clock, path, modulesUrl } = options;
  const thread = new Worker(moduleBeside(import.meta.url, "./writer.thread"), {
    workerData: { path, modulesUrl } satisfies ThreadOptions,
  });
  const send = (message: ToThread) => thread.postMessage(message);
  const queue = createCommitQueue(clock, (batch: readonly (readonly Operation[])[]) => send({ type: "apply", batch }));
  const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));

  await new Promise<void>((resolve, reject) => {
    thread.on("message", (message: FromThread) => {
      if (message.type === "ready") resolve();
      else if (message.type === "failed") reject(fromPortable(message.error));
      else for (const batch of message.batches) queue.settle(batch.map(outcomeOf));
    });
    thread.on("error", (error) => {
      reject(error);
      queue.close(
        OperatingError.internal("STORE_GONE", `the writer's thread died: ${messageOf(error)}`, {
          status: 503,
          cause: error,
        }),
      );
    });
    // One that ends without a word is gone as well; after close() nothing waits and this says nothing new.
    thread.once("exit", () =>
      queue.close(OperatingError.internal("STORE_GONE", "the writer's thread has ended", { status: 503 })),
    );
  });

  let reader: DatabaseSync;
  try {
    reader = openReader(path);
  } catch (thrown) {
    send({ type: "close" });
    throw translateFault(thrown);
  }

  const scans = createReader(path, clock);
  let closing: Promise<void> | undefined;
  let probing = false;
  const probe = () => {
    // Nothing brings back a writer that is gone, and a store that is closed needs none.
    if (probing || queue.fault === null || queue.fault.code === "STORE_GONE" || closing !== undefined) return;
    probing = true;
    clock.after(PROBE_EVERY_MS, () => {
      // The answer, good or bad, sets the fault; nobody else waits for it.
      const again = () => {
        probing = false;
        probe();
      };
      queue.commit([probeStore({ at: clock.now() })]).then(again, again);
    });
  };
  queue.onFault(probe);

  const close = async () => {
    await queue.drained();
    queue.close(storeClosed());
    // The last connection that closes puts the write-ahead log back into the file, and only the writer may.
    await scans.close();
    if (reader.isOpen) reader.close();
    send({ type: "close" });
    await exited;
  };
  return storeOver(
    queue,
    reader,
    () => {
      closing ??= close();
      return closing;
    },
    scans.scan,
  );
}
