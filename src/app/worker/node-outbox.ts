/** The file of a node's outbox, opened by the worker that sends it or by a command that adds to it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ownStore } from "../../adapters/sqlite/in-thread-store.ts";
import { threadedStore } from "../../adapters/sqlite/threaded-store.ts";
import { builtinRows, createCatalog } from "../../events/index.ts";
import { type Edges, isOperatingError, messageOf, moduleBeside, OperatingError, retry } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { createOutbox, type Outbox, type OutboxBounds } from "../../router/outbox/index.ts";
import { makePrivateFile } from "../data-folder/private-file.ts";
import { storeModules } from "../outbox-modules.ts";
import { nodeFolderOf } from "./node-identity.ts";

export interface NodeOutboxOptions extends Edges {
  readonly dataDir: string;
  readonly nodeId: string;
  readonly bounds: OutboxBounds;
}

/** Two processes that make the file at the same moment stand in each other's way once. */
const MAX_TRIES = 5;

const isPassing = (thrown: unknown) =>
  isOperatingError(thrown, "STORE_LOCKED") || isOperatingError(thrown, "STORE_ERROR");

async function openOutbox(
  { dataDir, ...options }: NodeOutboxOptions,
  passing: "sent" | "refused",
  open: (path: string) => Store | Promise<Store>,
): Promise<Outbox> {
  const { clock, random } = options;
  mkdirSync(nodeFolderOf(dataDir), { recursive: true, mode: 0o700 });
  const path = makePrivateFile(join(nodeFolderOf(dataDir), "outbox.db"));
  const again = (thrown: unknown, tries: number) => tries < MAX_TRIES && isPassing(thrown);
  try {
    const store = await retry(() => open(path), { clock, random, again });
    return createOutbox({ ...options, store, catalog: createCatalog(builtinRows), passing });
  } catch (thrown) {
    throw OperatingError.internal(
      isOperatingError(thrown) ? thrown.code : "STORE_ERROR",
      `the outbox of this node cannot be opened (${path}): ${messageOf(thrown)}`,
      { cause: thrown, hint: "Free some disk space or repair the file. If you move it away, an empty one is started." },
    );
  }
}

/** For the process that sends: the disk is waited for on a thread of its own. */
export function openSendingOutbox(options: NodeOutboxOptions): Promise<Outbox> {
  const modulesUrl = moduleBeside(import.meta.url, "../outbox-modules").href;
  return openOutbox(options, "sent", (path) => threadedStore({ path, modulesUrl, clock: options.clock }));
}

/** For a command that keeps one event, or looks. It closes what it opened with `store.close()`. */
export const openOutboxBriefly = (options: NodeOutboxOptions): Promise<Outbox> =>
  openOutbox(options, "refused", (path) => ownStore(path, storeModules, options.clock));
