/** Two daemon types are policies: each is started by its name, and is seen to do what it says. */
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { DaemonManager } from "../../../daemons/index.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom, silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { placeOrders } from "../../orders/order-operations.ts";
import { createTransferNews } from "../../transfer/transfer-news.ts";
import { autoSync } from "./auto-sync.unit.ts";
import { calledIn } from "./policies.ts";

const NODES = ["a", "b", "c", "d", "e", "f", "g"];

async function world() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const manager = new DaemonManager({
    clock: w.clock,
    random: seededRandom(2),
    log: silentLog(),
    nodeId: "n1",
    pid: 1,
  });
  const woken: string[] = [];
  const services = {
    nodeId: "n1",
    isRented: () => false,
    stallMs: 1,
    news: createTransferNews(),
    wake: (nodeId: string) => void woken.push(nodeId),
    store: w.store,
  };
  const runtime = w.runtime([autoSync(services)], { manager });
  await w.driven(runtime.start());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const operations: Operation[] = [];
  const joined = catalog.join({ rows: { apply: (operation) => void operations.push(operation) } });
  joined.record([entryOf("hex"), entryOf("othello", { config_key: "othello6_2p", work_id: "w2" })]);
  await commit(...operations);
  const seqOf = (content: string) => catalog.get(sha256Of(content))!.seq;
  return {
    ...w,
    manager,
    woken,
    order: (node_id: string, content: string) =>
      commit(
        placeOrders({
          sync_id: "s",
          orders: [
            { node_id, seq: seqOf(content), action: "fetch", urgency: 1, bytes: 5, max_rate: null, reason: "sync" },
          ],
          at: w.clock.now(),
        }),
      ),
    urgencyOf: (content: string) =>
      w.store.read<{ urgency: number }>("SELECT urgency FROM sync_orders WHERE seq = ?", seqOf(content))[0]!.urgency,
    policies: () => runtime.status().find(({ name }) => name === "auto_sync")?.details?.policies,
    best: () => runtime.status().find(({ name }) => name === "auto_sync")?.details?.best_data,
  };
}

test("GOSSIP_SYNC calls a few nodes with waiting transfers in every round, until all had their turn", async () => {
  const w = await world();
  for (const node of NODES) await w.order(node, "hex");
  await w.pass(60_000);
  expect(w.woken).toEqual([]);
  expect(await w.driven(w.manager.start("GOSSIP_SYNC"))).toBe(true);
  await w.pass(60_000);
  expect(new Set(w.woken)).toEqual(new Set(NODES));
  expect(w.woken.slice(0, 3)).toEqual(["a", "b", "c"]);
  expect(w.policies()).toEqual(["GOSSIP_SYNC"]);
  await w.driven(w.manager.start("AUTO_SYNC"));
  await w.pass(30_000);
  expect(w.policies()).toEqual([]);
});

test("HIGH_QUALITY_SYNC has the games of the config with the best score go first", async () => {
  const w = await world();
  await w.order("a", "hex");
  await w.order("a", "othello");
  const scored = (config_key: string, quality_score: number) =>
    w.driven(w.router.publish("HIGH_QUALITY_DATA_AVAILABLE", { config_key, quality_score, games: 10 } as never));
  await scored("hex8_2p", 0.8);
  await scored("othello6_2p", 0.95);
  await w.pass(30_000);
  // While the policy is off, what was found is shown and changes nothing.
  expect(w.best()).toBe("othello6_2p");
  expect([w.urgencyOf("hex"), w.urgencyOf("othello")]).toEqual([1, 1]);
  expect(await w.driven(w.manager.start("HIGH_QUALITY_SYNC"))).toBe(true);
  await w.pass(30_000);
  expect([w.urgencyOf("hex"), w.urgencyOf("othello")]).toEqual([1, 2]);
});

test.each([
  ["SYNC_COORDINATOR", []],
  ["CLUSTER_DATA_SYNC", []],
  ["EPHEMERAL_SYNC", []],
  ["AUTO_SYNC", []],
  ["SYNC_PUSH", ["GOSSIP_SYNC", "SYNC_PUSH"]],
  ["UNIFIED_DATA_PLANE", ["GOSSIP_SYNC", "HIGH_QUALITY_SYNC", "OWC_IMPORT", "S3_NODE_SYNC", "SYNC_PUSH"]],
  ["OWC_IMPORT", ["GOSSIP_SYNC", "OWC_IMPORT"]],
  ["S3_NODE_SYNC", ["GOSSIP_SYNC", "S3_NODE_SYNC"]],
])(
  "%s starts it by that name, has nodes called for what they are asked to bring, and leaves %j on",
  async (type, left) => {
    const w = await world();
    await w.driven(w.manager.start("GOSSIP_SYNC"));
    await w.pass(10_000);
    await w.driven(w.manager.stop("AUTO_SYNC"));
    expect(await w.driven(w.manager.start(type))).toBe(true);
    await w.pass(10_000);
    expect(w.policies()).toEqual(left);
    const request = { node_id: "b", target_node_ids: ["b"], sync_id: "s", data_type: "games", reason: "test" };
    await w.driven(w.router.publish("SYNC_REQUEST", request as never));
    await w.pass(1_000);
    expect(w.woken).toContain("b");
  },
);

test("in as many rounds as it takes everybody is called", () => {
  const called = [0, 1, 2].flatMap((round) => calledIn(round, NODES, 3));
  expect(new Set(called)).toEqual(new Set(NODES));
  expect(calledIn(5, ["a", "b"], 3)).toEqual(["a", "b"]);
});
