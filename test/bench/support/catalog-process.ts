/** Fills a catalog, looks at it as the coordinator does, and tells in one line what that took. */
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { threadedStore } from "../../../src/adapters/sqlite/threaded-store.ts";
import { openWriter } from "../../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { createIds, seededRandom, silentLog, systemClock } from "../../../src/kernel/index.ts";
import { createCopies } from "../../../src/sync/copies/copies.ts";
import { copyOverview } from "../../../src/sync/copies/overview.ts";
import { SyncFacade } from "../../../src/sync/facade/facade.ts";
import { createSources } from "../../../src/sync/sources/sources.ts";
import { findShorts } from "../../../src/sync/units/replication/shorts.ts";

export interface CatalogLooks {
  readonly folder: string;
  readonly artifacts: number;
  /** The newest ones, which only the coordinator holds. */
  readonly lacking: number;
}

export interface CatalogMeasured {
  readonly lacking: number;
  readonly differenceMs: number;
  readonly statusMs: number;
  readonly explainMs: number;
  readonly overviewMs: number;
  readonly memoryBytes: number;
  readonly growthBytes: number;
  readonly blockedMs: number;
}

const NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
const ARTIFACTS = `${NUMBERS} INSERT INTO sync_artifacts (seq, sha256, kind, bytes, rows, games, counted, config_key, producer, work_id,
    iteration, state, created_at, idle_since, verified_at)
  SELECT i, printf('%064x', i * 2654435761), 'games', 500000, 0, 20, 20, 'hex8_2p', 'n1', 'w' || i, i / 100, 'durable', 1, 1, 1 FROM n`;
const HELD = `${NUMBERS} INSERT INTO sync_held (node_id, seq, state, verified_at, verified_by) SELECT ?, i, 'held', 1, 'n1' FROM n`;
const ROUNDS = 5;

const { folder, artifacts, lacking } = JSON.parse(process.argv[2] ?? "{}") as CatalogLooks;
const path = join(folder, "coordination.db");
openWriter(path, storeModules).close();
const db = new DatabaseSync(path);
db.exec("PRAGMA synchronous = OFF; BEGIN");
db.prepare(ARTIFACTS).run(artifacts);
db.prepare(HELD).run(artifacts, "n1");
db.prepare(HELD).run(artifacts - lacking, "box");
db.exec("INSERT INTO sync_storage VALUES ('box', 1, 1); COMMIT");
db.close();

const clock = systemClock();
const modulesUrl = new URL("../../../src/app/store-modules.ts", import.meta.url).href;
const store = await threadedStore({ path, modulesUrl, clock });
const facts = { isThere: true, isRented: false, kinds: ["training", "selfplay"], freeCpus: 1, address: "192.0.2.7" };
const nodes = () => [
  { node_id: "n1", name: "n1", incarnation: 0, ...facts },
  { node_id: "box", name: "box", incarnation: 1, ...facts },
];
const policy = { games: 2, models: 3, samples: 1, rebuildable: 1, exceptions: [] };
const copies = createCopies({ store, nodeId: "n1", copies: policy, nodes });
const { privateKey: ticketKey } = generateKeyPairSync("ed25519");
const sources = createSources({ store, clock, nodeId: "n1", copies, nodes, ticketKey });
const facade = new SyncFacade({
  router: { transact: () => Promise.reject(new Error("nothing is told here")) },
  store,
  clock,
  log: silentLog(),
  ids: createIds(clock, seededRandom(1)),
  sources,
  nodeId: "n1",
  nameOf: (id) => id,
  findNode: (name) => name,
  nodes: () =>
    nodes().map(({ node_id, isThere, isRented, kinds, freeCpus }) => ({
      node_id,
      isThere,
      isRented,
      isConfirmed: true,
      isHome: node_id === "n1",
      kinds,
      freeCpus,
      freeBytes: 1e13,
      staleMs: null,
      bytesPerSecond: null,
    })),
});
const started = await facade.start({ dataType: "games", targets: ["box"], requireConfirmation: false }, "bench");

const timed = async <T>(act: () => T | Promise<T>): Promise<{ readonly ms: number; readonly value: T }> => {
  const begun = performance.now();
  const value = await act();
  return { ms: performance.now() - begun, value };
};
const best = (all: readonly number[]) => Math.min(...all);
const figures = {
  difference: [] as number[],
  status: [] as number[],
  explain: [] as number[],
  overview: [] as number[],
};
let found = 0;
const round = async (): Promise<void> => {
  const shorts = await timed(() => findShorts(store, copies, { max: 10_000, oldBefore: 2 }, policy));
  found = shorts.value.shorts.length;
  figures.difference.push(shorts.ms);
  const status = await timed(() => [facade.list(), facade.show(started), facade.getStats(), facade.healthCheck()]);
  figures.status.push(status.ms);
  figures.explain.push((await timed(() => facade.explain({ dataType: "games", targets: ["box"] }))).ms);
  figures.overview.push((await timed(() => copyOverview(store, copies))).ms);
};
/** What is held after everything that nobody needs is gone. */
const collect = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
})();
const heldBytes = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
for (let i = 0; i < ROUNDS; i += 1) await round();
const before = heldBytes();
for (let i = 0; i < ROUNDS; i += 1) await round();
delay.disable();
const measured: CatalogMeasured = {
  lacking: found,
  differenceMs: best(figures.difference),
  statusMs: best(figures.status),
  explainMs: best(figures.explain),
  overviewMs: best(figures.overview),
  memoryBytes: process.resourceUsage().maxRSS * 1_024,
  growthBytes: Math.max(0, heldBytes() - before),
  blockedMs: delay.max / 1e6,
};
process.stdout.write(`${JSON.stringify(measured)}\n`);
await store.close();
