import { memoryStore } from "../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { createCatalog, type Rows } from "../../src/events/index.ts";
import { seededRandom, silentLog, systemClock } from "../../src/kernel/index.ts";
import { EventRouter, type RouterSettings, type Store } from "../../src/router/index.ts";

export interface RouterFixture<R extends Rows> {
  readonly router: EventRouter<R>;
  readonly store: Store;
}

/** A router over a database in memory, with short waits between tries. */
export function routerOver<R extends Rows>(
  rows: R,
  settings: Partial<RouterSettings> = {},
  store: Store = memoryStore(storeModules, systemClock()),
): RouterFixture<R> {
  const router = new EventRouter({
    catalog: createCatalog(rows),
    store,
    clock: systemClock(),
    random: seededRandom(1),
    log: silentLog(),
    nodeId: "test",
    settings: { retryFirstMs: 1, retryMostMs: 4, ...settings },
  });
  return { router, store };
}
