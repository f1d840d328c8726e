/** The guard over a database in memory: what lies on a rented or drained node alone is ordered home, and told. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { noteSound } from "../../artifact-operations.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { confirmCopies, noteCopies, noteGone } from "../../copies/copy-operations.ts";
import { createNodeDesk } from "../../copies/node-desk.ts";
import { planNodesOf } from "../../facade/plan-nodes.ts";
import { placeOrders } from "../../orders/order-operations.ts";
import { createSources } from "../../sources/sources.ts";
import { ephemeralGuard } from "./ephemeral-guard.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const GAMES = sha256Of("games");

async function world(box: { isRented?: boolean; isLeaving?: boolean }) {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  catalog.join({ rows: { apply: (operation) => void change.push(operation) } }).record([entryOf("games")]);
  await commit(...change, noteSound({ sha256s: [GAMES], at: 1 }));
  // Home had it, and has lost it.
  await commit(noteGone({ node_id: "n1", sha256s: [GAMES] }));
  const [home] = oneNode.nodes();
  const nodes = () => [home!, { ...home!, node_id: "box", name: "box", incarnation: 1, ...box }];
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes });
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes: () => [] });
  const desk = createNodeDesk({ sources, ...w, log: silentLog(), copies, get: catalog.get, verify: () => {} });
  const planNodes = () => planNodesOf({ ...w, now: w.clock.now(), nodeId: "n1", nodes, copies, desk });
  await commit(confirmCopies({ node_id: "box", incarnation: 1, upto: 0, present: [], at: 1 }));
  const hold = (node_id: string) =>
    commit(noteCopies({ node_id, sha256s: [GAMES], by: node_id, at: w.clock.now(), isHome: node_id === "n1" }));
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  const speak = (leaving: boolean) =>
    w.driven(
      desk.exchange({ node_id: "box", incarnation: 1, held: [], gone: [], drop: [], orders: [], storage, leaving }),
    );
  const start = async () => {
    const runtime = w.runtime([ephemeralGuard({ store: w.store, copies, planNodes } as never)]);
    await w.driven(runtime.start());
    return runtime;
  };
  const orders = () => w.store.read("SELECT node_id, action, urgency, state FROM sync_orders");
  const told = () => w.router.history({ eventType: "SYNC_TRIGGERED" }).map(({ payload }) => payload);
  return { ...w, commit, catalog, hold, speak, start, orders, told };
}

test.each([{ isRented: true }, { isLeaving: true }])(
  "what lies on a node alone is sent home at once: %j",
  async (box) => {
    const w = await world(box);
    const runtime = await w.start();
    await w.hold("box");
    await w.pass(15_000);
    expect(w.orders()).toEqual([{ node_id: "box", action: "send", urgency: 3, state: "waiting" }]);
    expect(w.told()).toMatchObject([{ config_key: "hex8_2p", urgency: "critical", source_node_id: "box" }]);
    expect(runtime.status()[0]!.message).toMatch(/^1 files with 20 games lie on nodes alone/);
    await w.pass(120_000);
    expect(runtime.status()[0]).toMatchObject({ status: "degraded" });
    await w.hold("n1");
    await w.pass(15_000);
    expect(runtime.status()[0]).toMatchObject({ status: "running", message: "nothing is at risk" });
    expect(w.told()).toHaveLength(1);
  },
);

test("an order that is there goes before others, and nothing is done about what also lies where it stays", async () => {
  const w = await world({ isRented: true });
  await w.hold("box");
  const { seq } = w.catalog.get(GAMES)!;
  const order = {
    node_id: "box",
    seq,
    action: "send",
    urgency: 1,
    bytes: 5,
    max_rate: null,
    reason: "repair",
  } as const;
  await w.commit(placeOrders({ sync_id: "replication", orders: [order], at: w.clock.now() }));
  await w.start();
  await w.pass(15_000);
  expect(w.orders()).toEqual([{ node_id: "box", action: "send", urgency: 3, state: "waiting" }]);
  const safe = await world({ isRented: true });
  await safe.hold("box");
  await safe.hold("n1");
  await safe.start();
  await safe.pass(60_000);
  expect(safe.orders()).toEqual([]);
});

test("what home got with a result and has not looked at yet is not sent again", async () => {
  const w = await world({ isRented: true });
  const change: Operation[] = [];
  w.catalog
    .join({ rows: { apply: (operation) => void change.push(operation) } })
    .record([entryOf("new", { work_id: "w2" })]);
  await w.commit(...change, noteCopies({ node_id: "box", sha256s: [sha256Of("new")], by: "box", at: w.clock.now() }));
  await w.start();
  await w.pass(60_000);
  expect(w.orders()).toEqual([]);
});

test("a node that is about to end is told what it alone has, and to send it, also when it is not rented", async () => {
  const w = await world({});
  await w.hold("box");
  expect(await w.speak(false)).toMatchObject({ alone: 0, orders: [] });
  expect(await w.speak(true)).toMatchObject({ alone: 1, orders: [{ action: "send", sha256: GAMES }] });
  // Said again it is not ordered twice.
  expect(await w.speak(true)).toMatchObject({ alone: 1, orders: [] });
  await w.hold("n1");
  expect(await w.speak(true)).toMatchObject({ alone: 0, orders: [] });
  expect(w.orders()).toEqual([{ node_id: "box", action: "send", urgency: 3, state: "done" }]);
});
