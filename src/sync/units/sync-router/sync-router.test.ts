/** The choice of another way, over a database in memory: what failed is not asked again while somebody else has the file. */
import { generateKeyPairSync } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { servingAt } from "../../../../test/unit/sync/sources-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { confirmCopies, noteCopies } from "../../copies/copy-operations.ts";
import { createNodeDesk, type NodeNews } from "../../copies/node-desk.ts";
import { planNodesOf } from "../../facade/plan-nodes.ts";
import { placeOrders } from "../../orders/order-operations.ts";
import { createSources } from "../../sources/sources.ts";
import { syncRouter } from "./sync-router.unit.ts";

const MODEL = sha256Of("model");

/** Home and these nodes hold the model; `to` was ordered to fetch it. */
async function world(...holders: readonly string[]) {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  catalog
    .join({ rows: { apply: (operation) => void change.push(operation) } })
    .record([entryOf("model", { kind: "model", games: 0, work_id: null, bytes: 5_000_000 })]);
  await commit(...change);
  const [home] = oneNode.nodes();
  const nodes = () =>
    ["n1", "to", ...holders].map((node_id) => ({ ...home!, node_id, name: node_id, address: "192.0.2.7" }));
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes });
  const { privateKey: ticketKey } = generateKeyPairSync("ed25519");
  const door = () => ({ port: 1, tls: false, fingerprint: null });
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes, ticketKey, home: door });
  const desk = createNodeDesk({ ...w, log: silentLog(), copies, sources, get: catalog.get, verify: () => {} });
  for (const node_id of ["n1", "to", ...holders]) {
    await commit(confirmCopies({ node_id, incarnation: 0, upto: 0, present: [], at: 1 }));
    if (node_id !== "to")
      await commit(noteCopies({ node_id, sha256s: [MODEL], by: node_id, at: 1, isHome: node_id === "n1" }));
  }
  const serve = () => {
    for (const [i, node_id] of holders.entries()) sources.announce(node_id, servingAt(1_000 + i));
  };
  serve();
  const planNodes = () => planNodesOf({ ...w, now: w.clock.now(), nodeId: "n1", nodes, copies, desk });
  await w.driven(
    w.runtime([syncRouter({ store: w.store, copies, sources, planNodes, nodeId: "n1" } as never)]).start(),
  );
  const { seq, bytes } = catalog.get(MODEL)!;
  const order = { node_id: "to", seq, action: "fetch", urgency: 1, bytes, max_rate: null, reason: "sync" } as const;
  await commit(placeOrders({ sync_id: "s1", orders: [order], at: w.clock.now() }));
  const storage = { free_bytes: 1e12, waiting: { files: 0, bytes: 0, oldest_at: null } };
  /** What the node is told when it speaks: its order if it is due, and whom it shall ask. */
  const speak = async (orders: NodeNews["orders"] = []) => {
    serve();
    const news = { node_id: "to", incarnation: 0, held: [], gone: [], drop: [], orders, storage };
    const answer = await w.driven(desk.exchange(news));
    return {
      orders: answer.orders,
      asked: answer.batches.flatMap(({ sources }) => sources.map(({ node_id }) => node_id)),
    };
  };
  const told = () => w.router.history({ eventType: "SYNC_RETRY_REQUESTED" }).map(({ payload }) => payload);
  return { ...w, speak, told };
}

const failedAt = (order_id: number, ...places: string[]) => ({
  order_id,
  state: "failed" as const,
  bytes_done: 0,
  error: "cut off",
  code: "TRANSFER_STALLED",
  tries: places.map((place) => ({
    transport: place === "the coordinator" ? "coordinator" : "http",
    place,
    code: "PLACE_UNREACHABLE",
    error: "no route",
  })),
});

test("a node whose transfer failed is told at once to ask one who has not failed, and the others not again", async () => {
  const w = await world("a", "b", "c", "d", "e");
  const first = await w.speak();
  expect(first.orders).toHaveLength(1);
  expect(first.asked).toHaveLength(4);
  const failed = first.asked.map((place) => (place === "n1" ? "the coordinator" : place));
  const { order_id } = first.orders[0]!;
  // The second try is due in 15 s; there is no need to wait so long.
  expect((await w.speak([failedAt(order_id, ...failed)])).orders).toEqual([]);
  await w.pass(6_000);
  expect(w.told()).toMatchObject([
    { node_id: "to", transport: "http", failed_transports: expect.arrayContaining(["http", "coordinator"]) },
  ]);
  const second = await w.speak();
  const fresh = ["a", "b", "c", "d", "e"].filter((node) => !first.asked.includes(node));
  expect(second.asked.slice(0, -1).sort()).toEqual(fresh);
  // The coordinator has failed too, and stays behind those who have not.
  expect(second.asked.at(-1)).toBe("n1");
});

test("when everybody has failed nobody is told, and all are asked again when the try is due", async () => {
  const w = await world("a");
  const { orders, asked } = await w.speak();
  expect(asked.sort()).toEqual(["a", "n1"]);
  await w.speak([failedAt(orders[0]!.order_id, "a", "the coordinator")]);
  await w.pass(8_000);
  expect(w.told()).toEqual([]);
  expect((await w.speak()).orders).toEqual([]);
  await w.pass(10_000);
  expect((await w.speak()).asked.sort()).toEqual(["a", "n1"]);
});
