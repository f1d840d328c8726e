/** The watcher and the router together, over a database in memory: data comes to who trains, and no run waits for ever. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import { createWriteSet, type Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { confirmCopies, noteCopies } from "../../copies/copy-operations.ts";
import { createNodeDesk } from "../../copies/node-desk.ts";
import { planNodesOf } from "../../facade/plan-nodes.ts";
import { noteOrders } from "../../orders/order-operations.ts";
import { createSources } from "../../sources/sources.ts";
import { syncRouter } from "../sync-router/sync-router.unit.ts";
import { freshness } from "./tables.ts";
import { trainingActivity } from "./training-activity.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const SAMPLES = sha256Of("samples");

/** Home holds the window of a config; who trains is said by the test. */
async function world(kinds: Readonly<Record<string, readonly string[]>>, producer = "n1") {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  const joined = catalog.join({ rows: { apply: (operation) => void change.push(operation) } });
  joined.record([entryOf("samples", { kind: "samples", games: 0, work_id: null, producer })]);
  joined.pin("window:hex8_2p", [SAMPLES]);
  await commit(...change);
  const hold = (node_id: string) =>
    commit(noteCopies({ node_id, sha256s: [SAMPLES], by: node_id, at: w.clock.now(), isHome: node_id === "n1" }));
  await hold("n1");
  const [home] = oneNode.nodes();
  const nodes = () =>
    Object.entries(kinds).map(([node_id, own]) => ({
      ...home!,
      node_id,
      name: node_id,
      incarnation: node_id === "n1" ? 0 : 1,
      kinds: own,
    }));
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes });
  const desk = createNodeDesk({ ...w, log: silentLog(), copies, get: catalog.get, verify: () => {} });
  const planNodes = () => planNodesOf({ ...w, now: w.clock.now(), nodeId: "n1", nodes, copies, desk });
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  const speak = (node_id: string) =>
    w.driven(desk.exchange({ node_id, incarnation: 1, held: [], gone: [], drop: [], orders: [], storage }));
  for (const node_id of Object.keys(kinds)) {
    await commit(confirmCopies({ node_id, incarnation: 1, upto: 0, present: [], at: 1 }));
    await speak(node_id);
  }
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes });
  const services = { store: w.store, copies, sources, planNodes, nodeId: "n1" } as never;
  await w.driven(w.runtime([syncRouter(services), trainingActivity(services)]).start());
  const known = () => createWriteSet(w.store).get(freshness, "hex8_2p");
  const told = (...names: string[]) =>
    w.router
      .history()
      .map(({ eventType }) => eventType)
      .filter((name) => names.includes(name));
  return { ...w, commit, hold, speak, known, told };
}
const NEWS = ["DATA_STALE", "DATA_FRESH", "SYNC_TRIGGERED", "SYNC_REQUEST"];

test("where home trains, or nobody does, data is fresh and nothing is told", async () => {
  for (const kinds of [
    { n1: ["training"], box: ["training"] },
    { n1: ["selfplay"], box: ["selfplay"] },
  ]) {
    const w = await world(kinds);
    await w.pass(60_000);
    expect(w.known()).toBeUndefined();
    expect(w.told(...NEWS)).toEqual([]);
  }
});

test("who made the data has it, whether it has said so yet or not", async () => {
  const w = await world({ n1: ["selfplay"], maker: ["training"] }, "maker");
  await w.pass(60_000);
  expect(w.told(...NEWS)).toEqual([]);
});

test("data that a node lacks which trains is ordered for it at once, and it is fresh when it has come", async () => {
  const w = await world({ n1: ["selfplay"], box: ["training"] });
  await w.pass(12_000);
  expect(w.known()).toMatchObject({ state: "stale", node_id: "box", missing: 1, wanted: 1 });
  expect((await w.speak("box")).orders).toMatchObject([{ action: "fetch", sha256: SAMPLES }]);
  await w.hold("box");
  await w.pass(12_000);
  expect(w.known()).toBeUndefined();
  expect(w.told(...NEWS).sort()).toEqual([...NEWS].sort());
});

test("a node that cannot be served holds no run up for longer than a minute", async () => {
  const w = await world({ n1: ["selfplay"], box: ["training"] });
  await w.pass(12_000);
  const [order] = (await w.speak("box")).orders;
  await w.pass(70_000);
  expect(w.known()).toMatchObject({ state: "relaxed", missing: 1 });
  expect(order).toBeDefined();
});

test("a transfer whose way failed goes by another at once, and waits when all have failed", async () => {
  const w = await world({ n1: ["selfplay"], peer: ["selfplay"], box: ["training"] });
  await w.hold("peer");
  await w.pass(12_000);
  const fail = async (place: string, transport: string) => {
    const [order] = (await w.speak("box")).orders;
    const tries = [{ transport, place, code: "TRANSFER_STALLED", error: "cut off" }];
    const report = { order_id: order!.order_id, state: "failed", bytes_done: 0, error: "cut off", tries } as const;
    const limits = { maxAttempts: 5, firstWaitMs: 600_000 };
    await w.commit(noteOrders({ node_id: "box", reports: [report], at: w.clock.now(), ...limits }));
    await w.pass(12_000);
  };
  await fail("peer", "http");
  const retries = () => w.router.history({ eventType: "SYNC_RETRY_REQUESTED" }).map(({ payload }) => payload);
  expect(retries()).toMatchObject([{ node_id: "box", transport: "coordinator", failed_transports: ["http"] }]);
  await fail("n1", "coordinator");
  expect(retries()).toHaveLength(1);
  expect((await w.speak("box")).orders).toEqual([]);
});
