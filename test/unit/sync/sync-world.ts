/** The catalog, the files and the inspector over SQLite in memory and a folder of their own: real parts, virtual time. */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { createIds, defined, seededRandom, silentLog, virtualClock } from "../../../src/kernel/index.ts";
import { EventRouter, type Operation, type StoreModule } from "../../../src/router/index.ts";
import type { ArtifactEntryInput } from "../../../src/sync/artifact.ts";
import { createArtifactInspector } from "../../../src/sync/artifact-inspector.ts";
import type { ArtifactStoreOptions } from "../../../src/sync/artifact-store.ts";
import type { JoinedArtifacts } from "../../../src/sync/catalog.ts";
import { createArtifactCatalog, createArtifactStore, syncModule } from "../../../src/sync/index.ts";
import type { SweepPolicy } from "../../../src/sync/sweep.ts";
import { createSweeper } from "../../../src/sync/sweep.ts";
import { driver } from "../../support/virtual-time.ts";

const withSync: readonly StoreModule[] = [...storeModules.filter(({ name }) => name !== syncModule.name), syncModule];

export const sha256Of = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

/** A manifest with everything that a test does not care about. */
export const entryOf = (content: string, more: Partial<ArtifactEntryInput> = {}): ArtifactEntryInput => ({
  sha256: sha256Of(content),
  kind: "games",
  bytes: content.length,
  rows: 0,
  games: 20,
  config_key: "hex8_2p",
  producer: "n1",
  work_id: "w1",
  ...more,
});

/** One machine with the usual policy. */
export const oneNode = {
  copies: { games: 2, models: 3, samples: 1, rebuildable: 1, exceptions: [] },
  nodes: () => [{ node_id: "n1", name: "n1", isThere: true, isRented: false, incarnation: 0, kinds: [], freeCpus: 1 }],
  ids: createIds(virtualClock(), seededRandom(1)),
  findNode: (name: string) => name,
  spread: {
    champions: () => [],
    players: () => [],
    trainers: () => [],
    trials: { put: async () => "", look: () => ({ state: "open" }) as const, takeBack: async () => {} },
  },
};

/** The catalog alone. */
export function catalogWorld(...more: StoreModule[]) {
  const clock = virtualClock();
  // The same list each time: what is made of it is made once.
  const store = memoryStore(more.length === 0 ? withSync : [...withSync, ...more], clock);
  const catalog = createArtifactCatalog({ store, clock });
  return {
    clock,
    store,
    catalog,
    /** One commit, as a unit would make it. */
    async change(body: (artifacts: JoinedArtifacts) => void, ...more: Operation[]) {
      const operations: Operation[] = [];
      body(catalog.join({ rows: { apply: (operation) => void operations.push(operation) } }));
      await store.commit([...operations, ...more]);
    },
    pass(ms: number) {
      let there = false;
      clock.after(ms, () => {
        there = true;
      });
      while (!there) clock.step();
    },
    close: () => store.close(),
  };
}
export type CatalogWorld = ReturnType<typeof catalogWorld>;

export function syncWorld(options: Partial<ArtifactStoreOptions> & { policy?: Partial<SweepPolicy> } = {}) {
  const world = catalogWorld();
  const { clock, store, catalog } = world;
  const folder = mkdtempSync(join(tmpdir(), "ringrift-sync-"));
  const { policy = {}, ...more } = options;
  const files = createArtifactStore({ folder, clock, ...more });
  const log = silentLog();
  const router = new EventRouter({
    catalog: createCatalog(builtinRows),
    store,
    clock,
    random: seededRandom(1),
    log,
    nodeId: "n1",
  }) as unknown as EventRouter;
  const openInspector = (isAwaited?: (sha256: string) => boolean) =>
    createArtifactInspector({ router, store, files, catalog, clock, log, nodeId: "n1", isAwaited });
  const inspector = openInspector();
  return {
    ...world,
    folder,
    files,
    router,
    inspector,
    /** The inspector as a process that starts now would find it. */
    openInspector,
    driven: driver(clock),
    sweeper: createSweeper({ store, files, clock, nodeId: "n1", policy: { folders: 256, ...policy } }),
    /** Brings a file; its hash. */
    async put(content: string): Promise<string> {
      const bytes = Buffer.from(content);
      const sha256 = sha256Of(bytes);
      await files.write({
        sha256,
        offset: 0,
        size: bytes.length,
        length: bytes.length,
        bytes: (async function* () {
          yield bytes;
        })(),
        accept: () => {},
        from: "n1",
      });
      return sha256;
    },
    /** Overwrites the file of an artifact behind everybody's back. */
    spoil: (sha256: string, content: string) => writeFileSync(files.pathOf(sha256), content),
    said: (eventType?: string) =>
      router
        .history({ fromJournal: true, limit: 10_000, ...defined({ eventType }) })
        .map((event) => ({ eventType: event.eventType, payload: event.payload })),
    async close() {
      inspector.close();
      await files.close();
      await router.stop();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
export type SyncWorld = ReturnType<typeof syncWorld>;
