/** The writer's thread: drains what waits at its port, applies it in one transaction, answers. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { OperatingError } from "../../kernel/index.ts";
import type { Operation, StoreModule } from "../../router/index.ts";
import { type PortableError, portable } from "./portable-error.ts";
import { type Outcome, openReader, openWriter, type SqliteWriter } from "./writer.ts";

export interface ThreadOptions {
  readonly path: string;
  /** A module whose `storeModules` lists the rooms' tables and operations. */
  readonly modulesUrl: string;
}

export type PortableOutcome = { ok: true; results: readonly unknown[] } | { ok: false; error: PortableError };
export type FromThread =
  | { type: "ready" }
  | { type: "failed"; error: PortableError }
  | { type: "settled"; batches: PortableOutcome[][] };
export type ToThread = { type: "apply"; batch: readonly (readonly Operation[])[] } | { type: "close" };

const portableOutcome = (outcome: Outcome): PortableOutcome =>
  outcome.ok ? outcome : { ok: false, error: portable(outcome.error) };

/** Who writes to a replica beside the log makes it differ from the others for good. */
function refuseReplica(path: string): void {
  let isReplica: boolean;
  try {
    using db = openReader(path);
    isReplica = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'replica_position'").get() !== undefined;
  } catch {
    // What is wrong with the file is said by whoever opens it to write.
    return;
  }
  if (isReplica)
    throw OperatingError.conflict("IS_A_MEMBER", "this data folder is that of one of several coordinators", {
      hint: "Set RINGRIFT_RAFT_ENABLED=true. 'ringrift cluster dissolve' makes it a coordinator by itself again.",
    });
}

async function serve(port: NonNullable<typeof parentPort>): Promise<void> {
  const { path, modulesUrl } = workerData as ThreadOptions;
  let writer: SqliteWriter;
  try {
    const { storeModules } = (await import(modulesUrl)) as { storeModules: readonly StoreModule[] };
    refuseReplica(path);
    writer = openWriter(path, storeModules);
  } catch (thrown) {
    port.postMessage({ type: "failed", error: portable(thrown) } satisfies FromThread);
    port.close();
    return;
  }
  port.postMessage({ type: "ready" } satisfies FromThread);
  port.on("message", (first: ToThread) => {
    const messages = [first];
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
      messages.push(next.message as ToThread);
    const batches = messages.flatMap((message) => (message.type === "apply" ? [message.batch] : []));
    if (batches.length > 0) {
      const outcomes = writer.apply(batches.flat()).map(portableOutcome);
      let taken = 0;
      const settled = batches.map((batch) => {
        const from = taken;
        taken += batch.length;
        return outcomes.slice(from, taken);
      });
      port.postMessage({ type: "settled", batches: settled } satisfies FromThread);
    }
    if (messages.some(({ type }) => type === "close")) {
      writer.close();
      port.close();
    }
  });
}

if (parentPort !== null) await serve(parentPort);
