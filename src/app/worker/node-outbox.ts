/** The file of a node's outbox, opened by the worker that sends it or by a command that adds to it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { inThreadStore } from "../../adapters/sqlite/in-thread-store.ts";
import { threadedStore } from "../../adapters/sqlite/threaded-store.ts";
import { openWriter } from "../../adapters/sqlite/writer.ts";
import { builtinRows, createCatalog } from "../../events/index.ts";
import {
  type Clock,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  type Random,
  sleep,
} from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { createOutbox, type Outbox, type OutboxBounds } from "../../router/outbox/index.ts";
import { storeModules } from "../outbox-modules.ts";
import { ownFile } from "../own-file.ts";
import { nodeFolderOf } from "./node-identity.ts";

export interface NodeOutboxOptions {
  readonly dataDir: string;
  readonly nodeId: string;
  readonly bounds: OutboxBounds;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const outboxPathOf = (dataDir: string): string => join(nodeFolderOf(dataDir), "outbox.db");

/** Two processes that make the file at the same moment stand in each other's way once. */
const TRIES = 5;
const AGAIN_MS = 200;

async function opened(path: string, clock: Clock, open: () => Store | Promise<Store>): Promise<Store> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (thrown) {
      const again = isOperatingError(thrown) && (thrown.code === "STORE_LOCKED" || thrown.code === "STORE_ERROR");
      if (again && tries < TRIES) await sleep(clock, AGAIN_MS);
      else
        throw new OperatingError(
          isOperatingError(thrown) ? thrown.code : "STORE_ERROR",
          `the outbox of this node cannot be opened (${path}): ${messageOf(thrown)}`,
          { cause: thrown, hint: "Free the disk or mend the file; moved away, it is begun anew without what it held." },
        );
    }
  }
}

const pathIn = (dataDir: string): string => {
  mkdirSync(nodeFolderOf(dataDir), { recursive: true, mode: 0o700 });
  return ownFile(outboxPathOf(dataDir));
};

const outboxOver = (
  store: Store,
  { nodeId, bounds, clock, random, log }: NodeOutboxOptions,
  passing: "sent" | "refused",
) => createOutbox({ store, catalog: createCatalog(builtinRows), nodeId, bounds, clock, random, log, passing });

/** For the process that sends: the disk is waited for on a thread of its own. */
export async function openSendingOutbox(options: NodeOutboxOptions): Promise<Outbox> {
  const { dataDir, clock } = options;
  const path = pathIn(dataDir);
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const modulesUrl = new URL(`../outbox-modules.${extension}`, import.meta.url).href;
  return outboxOver(await opened(path, clock, () => threadedStore({ path, modulesUrl, clock })), options, "sent");
}

/** For a command that keeps one event, or looks. It closes what it opened with `store.close()`. */
export async function openOutboxBriefly(options: NodeOutboxOptions): Promise<Outbox> {
  const { dataDir, clock } = options;
  const path = pathIn(dataDir);
  const store = await opened(path, clock, () => {
    const writer = openWriter(path, storeModules);
    const inner = inThreadStore(writer, { clock });
    return {
      commit: inner.commit,
      read: inner.read,
      get fault() {
        return inner.fault;
      },
      onFault: inner.onFault,
      async close() {
        await inner.close();
        writer.close();
      },
    };
  });
  return outboxOver(store, options, "refused");
}
