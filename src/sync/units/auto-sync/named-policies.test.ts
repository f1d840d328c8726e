/** Daemon types whose policies reach beyond the orders: each is started by its name over the whole room, and changes what it says. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { PATIENT } from "../../../../test/support/patience.ts";
import { CONFIG, gamesFile } from "../../../../test/support/played-games.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { DaemonManager } from "../../../daemons/index.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom, silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createStructureReader } from "../../../workloads/arena/index.ts";
import { noteSound } from "../../artifact-operations.ts";
import { createArtifactStore } from "../../artifact-store.ts";
import { confirmCopies, noteCopies, noteGone } from "../../copies/copy-operations.ts";
import { orphanLimits, policyLimits } from "../../limits.ts";
import type { Orphan } from "../../orphans/orphan.ts";
import { createSyncServices } from "../../services.ts";
import { orphanDetection } from "../orphan-detection/orphan-detection.unit.ts";
import { nextOfArchive } from "./archive.ts";
import { autoSync } from "./auto-sync.unit.ts";

const structures = createStructureReader();
afterAll(() => structures.close());

const GAMES = sha256Of("games");
const DAY = 24 * 3_600_000;

/** Home and three nodes that are there; a file of games lies at home and on the first of them. */
async function world() {
  const w = unitWorld(builtinRows);
  const root = mkdtempSync(join(tmpdir(), "ringrift-policies-"));
  const watched = join(root, "archive");
  mkdirSync(watched);
  const files = createArtifactStore({ folder: join(root, "artifacts"), clock: w.clock });
  const [home] = oneNode.nodes();
  const rented = new Set<string>();
  const nodes = () =>
    ["n1", "a", "b", "c"].map((node_id) => {
      return { ...home!, node_id, name: node_id, incarnation: 1, isRented: rented.has(node_id) };
    });
  const services = createSyncServices({
    ...{ ...w, files, nodeId: "n1", log: silentLog(), ...oneNode, nodes },
    orphans: { folders: [{ path: watched, layout: "any" }], inResults: async () => [] },
    ...{ readStructure: structures.read, readSegments: structures.segments },
  });
  const random = seededRandom(2);
  const manager = new DaemonManager({ clock: w.clock, random, log: silentLog(), nodeId: "n1", pid: 1 });
  const runtime = w.runtime(
    [autoSync(services.units), orphanDetection(services.units, { ...orphanLimits, everyMs: 1_000 })],
    { manager },
  );
  await w.driven(runtime.start());
  onTestFinished(async () => {
    services.close();
    await files.close();
    await w.close();
    rmSync(root, { recursive: true, force: true });
  });
  const change: Operation[] = [];
  const joined = services.catalog.join({ rows: { apply: (operation) => void change.push(operation) } });
  joined.record([entryOf("games")]);
  joined.accept([GAMES]);
  const confirm = (node_id: string) => confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 });
  await w.driven(
    w.store.commit([
      ...change,
      noteSound({ sha256s: [GAMES], at: 1 }),
      ...["a", "b", "c"].map(confirm),
      noteCopies({ node_id: "n1", sha256s: [GAMES], by: "n1", at: 1 }),
      noteCopies({ node_id: "a", sha256s: [GAMES], by: "a", at: 1 }),
    ]),
  );
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  const hold = (node_id: string, ...sha256s: string[]) =>
    w.driven(w.store.commit([noteCopies({ node_id, sha256s, by: node_id, at: w.clock.now() })]));
  return {
    ...w,
    catalog: services.catalog,
    watched,
    rented,
    hold,
    isWanted: services.desk.isWanted,
    /** A file that home has no copy of. */
    async bring(content: string) {
      const operations: Operation[] = [];
      const join = services.catalog.join({ rows: { apply: (operation) => void operations.push(operation) } });
      join.record([entryOf(content, { work_id: content })]);
      await w.driven(w.store.commit(operations));
      return sha256Of(content);
    },
    start: (name: string) => w.driven(manager.start(name)),
    /** What a node is told when it speaks; all that it is ordered to fetch it has fetched. */
    async speak(node_id: string, drop: readonly string[] = []) {
      const news = { node_id, incarnation: 1, held: [], gone: [], drop, orders: [], storage };
      const answer = await w.driven(services.desk.exchange(news));
      for (const { action, sha256 } of answer.orders)
        if (action === "fetch")
          await w.driven(w.store.commit([noteCopies({ node_id, sha256s: [sha256], by: node_id, at: w.clock.now() })]));
      return { drop: answer.drop.map(({ allowed }) => allowed), policies: answer.policies, orders: answer.orders };
    },
  };
}

test("SYNC_PUSH has another node fetch what one would like to let go; against its receipt it may", async () => {
  const w = await world();
  for (const node of ["b", "c"]) await w.speak(node);
  const ask = async () => (await w.speak("a", [GAMES])).drop;
  expect(await ask()).toEqual([false]);
  await w.pass(20_000);
  expect([await w.speak("b"), await w.speak("c")].flatMap(({ orders }) => orders)).toEqual([]);
  expect(await ask()).toEqual([false]);
  await w.start("SYNC_PUSH");
  await w.pass(20_000);
  const orders = [await w.speak("b"), await w.speak("c")].flatMap((told) => told.orders);
  expect(orders).toMatchObject([{ action: "fetch", sha256: GAMES, sync_id: "push" }]);
  expect(await ask()).toEqual([true]);
});

test("CLUSTER_DATA_SYNC has every node that is able fetch what came in lately, each once", async () => {
  const w = await world();
  for (const node of ["a", "b", "c"]) await w.speak(node);
  const orders = async (...names: string[]) => {
    const all: string[] = [];
    for (const name of names)
      for (const { action, sha256, sync_id } of (await w.speak(name)).orders)
        all.push(`${name} ${action} ${sha256 === GAMES ? "games" : sha256} ${sync_id}`);
    return all;
  };
  await w.pass(20_000);
  expect(await orders("b", "c")).toEqual([]);
  await w.start("CLUSTER_DATA_SYNC");
  await w.pass(20_000);
  expect(await orders("a", "b", "c")).toEqual(["b fetch games broadcast", "c fetch games broadcast"]);
  // One that has let go of it since is not given it again.
  await w.driven(w.store.commit([noteGone({ node_id: "b", sha256s: [GAMES] })]));
  await w.pass(20_000);
  expect(await orders("b", "c")).toEqual([]);
});

test("CLUSTER_DATA_SYNC leaves alone what came in long ago", async () => {
  const w = await world();
  for (const node of ["b", "c"]) await w.speak(node);
  await w.pass(policyLimits.broadcastMs + 60_000);
  for (const node of ["b", "c"]) await w.speak(node);
  await w.start("CLUSTER_DATA_SYNC");
  await w.pass(20_000);
  expect((await w.speak("b")).orders).toEqual([]);
});

test("EPHEMERAL_SYNC has rented nodes send home at once what home lacks, wherever else it lies, and calls them in every round", async () => {
  const w = await world();
  w.rented.add("c");
  for (const node of ["a", "c"]) await w.speak(node);
  const made = await w.bring("what c has made");
  await w.hold("c", made);
  await w.hold("a", made);
  await w.pass(20_000);
  expect(w.isWanted("c")).toBe(false);
  expect((await w.speak("c")).orders).toEqual([]);
  await w.start("EPHEMERAL_SYNC");
  await w.pass(20_000);
  expect([w.isWanted("c"), w.isWanted("a")]).toEqual([true, false]);
  expect((await w.speak("c")).orders).toMatchObject([{ action: "send", sha256: made, sync_id: "ephemeral" }]);
  await w.pass(20_000);
  expect(w.isWanted("c")).toBe(true);
  expect(w.store.read("SELECT 1 FROM sync_orders WHERE sync_id = 'ephemeral'")).toHaveLength(1);
});

test("OWC_IMPORT takes games of the watched folder for a config that has few, each once", async () => {
  const w = await world();
  const { bytes, hash } = gamesFile(9, 4);
  const path = join(w.watched, "old-games.arena");
  writeFileSync(path, bytes);
  const old = (w.clock.now() - DAY) / 1_000;
  utimesSync(path, old, old);
  const state = () => w.catalog.get(hash);
  const offered = () => w.store.read("SELECT 1 FROM state_rows WHERE table_name = 'sync_orphans'").length;
  // Files are read on threads, which virtual time does not wait for.
  const until = (isSo: () => boolean) =>
    vi.waitFor(
      async () => {
        await w.pass(100);
        expect(isSo()).toBe(true);
      },
      { ...PATIENT, interval: 5 },
    );
  await until(() => offered() === 1);
  await w.pass(60_000);
  expect(state()).toBeUndefined();
  await w.start("OWC_IMPORT");
  await until(() => state() !== undefined);
  expect(state()).toMatchObject({ config_key: CONFIG, games: 9, producer: "archive", state: "durable" });
  await until(() => offered() === 0);
});

test("S3_NODE_SYNC is told to the nodes, and AUTO_SYNC ends it", async () => {
  const w = await world();
  expect((await w.speak("a")).policies).toEqual([]);
  await w.start("S3_NODE_SYNC");
  await w.pass(20_000);
  expect((await w.speak("a")).policies).toEqual(["S3_NODE_SYNC"]);
  await w.start("AUTO_SYNC");
  await w.pass(20_000);
  expect((await w.speak("a")).policies).toEqual([]);
});

test("UNIFIED_DATA_PLANE is all policies but the broadcast at once: what is waiting is called for, and what is in the way is pushed", async () => {
  const w = await world();
  for (const node of ["b", "c"]) await w.speak(node);
  await w.start("UNIFIED_DATA_PLANE");
  await w.pass(20_000);
  const { policies, drop } = await w.speak("a", [GAMES]);
  expect(policies).toEqual([
    "EPHEMERAL_SYNC",
    "GOSSIP_SYNC",
    "HIGH_QUALITY_SYNC",
    "OWC_IMPORT",
    "S3_NODE_SYNC",
    "SYNC_PUSH",
  ]);
  expect(drop).toEqual([false]);
  await w.pass(20_000);
  expect([await w.speak("b"), await w.speak("c")].flatMap(({ orders }) => orders)).toMatchObject([{ sync_id: "push" }]);
});

test("of an archive the poorest config comes first, the rich not at all, and a few files at a time", () => {
  const orphan = (sha256: string, config_key: string | null, games: number) =>
    ({ sha256, config_key, games }) as Orphan;
  const offered = [
    orphan("1", "rich", 50),
    orphan("2", "poor", 5),
    orphan("3", "none", 1),
    orphan("4", "poor", 7),
    orphan("5", null, 9),
  ];
  const gamesOf = new Map([
    ["rich", policyLimits.poorGames],
    ["poor", policyLimits.poorGames - 1],
  ]);
  const names = (archiveFiles: number) =>
    nextOfArchive(offered, gamesOf, { ...policyLimits, archiveFiles }).map(({ sha256 }) => sha256);
  expect([names(2), names(9)]).toEqual([
    ["3", "4"],
    ["3", "4", "2"],
  ]);
});
