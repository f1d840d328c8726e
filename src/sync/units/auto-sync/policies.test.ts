/** Policies that change whose turn it is: each is started by its name, and is seen to do what it says. */
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { DaemonManager } from "../../../daemons/index.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom, silentLog } from "../../../kernel/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { giveUpOrders, placeOrders, takeOrders } from "../../orders/order-operations.ts";
import { createTransferNews } from "../../transfer/transfer-news.ts";
import { autoSync } from "./auto-sync.unit.ts";
import { calledIn } from "./policies.ts";
import { newRanks } from "./quality.ts";

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
  const more = ["worst", "best"].map((content, i) => entryOf(content, { work_id: `w${i + 3}` }));
  joined.record([entryOf("hex"), entryOf("othello", { config_key: "othello6_2p", work_id: "w2" }), ...more]);
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
    /** What a node is given that takes one at a time. */
    async take(node_id: string): Promise<string[]> {
      const ask = { node_id, bounds: { max: 1, maxSmall: 1, maxSmallBytes: 0 }, at: w.clock.now(), silentBefore: 0 };
      const [{ taken }] = await w.driven(w.store.commit([takeOrders({ ...ask, maxAttempts: 5, firstWaitMs: 1 })]));
      await commit(
        giveUpOrders({
          orderIds: taken.map(({ order_id }) => order_id),
          code: "DONE",
          error: "it has come",
          at: w.clock.now(),
        }),
      );
      return taken.map(({ sha256 }) => sha256);
    },
    policies: () => runtime.status().find(({ name }) => name === "auto_sync")?.details?.policies,
    message: () => runtime.status().find(({ name }) => name === "auto_sync")?.message,
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
  expect([w.policies(), w.message()]).toEqual([["GOSSIP_SYNC"], "policies that are on: GOSSIP_SYNC"]);
  await w.driven(w.manager.start("AUTO_SYNC"));
  await w.pass(30_000);
  expect([w.policies(), w.message()]).toEqual([[], ""]);
});

const HASHES = { best: sha256Of("best"), hex: sha256Of("hex"), othello: sha256Of("othello"), worst: sha256Of("worst") };

test("HIGH_QUALITY_SYNC has the segments with the best score go first, and those of the best config where no segment has one", async () => {
  const w = await world();
  for (const content of ["worst", "hex", "othello", "best"]) await w.order("a", content);
  for (const content of ["worst", "hex", "othello", "best"]) await w.order("b", content);
  const publish = (type: string, payload: object) =>
    w.driven(w.router.publish(type, { games: 10, ...payload } as never));
  const segments = Object.entries({ best: 0.97, worst: 0.2 }).map(([name, quality_score]) => ({
    artifact_hash: HASHES[name as "best"],
    quality_score,
  }));
  const about = { config_key: "hex8_2p", quality_score: 0.8 };
  await publish("QUALITY_SCORE_UPDATED", { ...about, quality_band: "good", segments });
  // What is told of the config alone leaves its segments as they were scored.
  await publish("HIGH_QUALITY_DATA_AVAILABLE", about);
  await publish("HIGH_QUALITY_DATA_AVAILABLE", { config_key: "othello6_2p", quality_score: 0.95 });
  await w.pass(30_000);
  // While the policy is off, what was found is shown and changes nothing.
  expect(w.best()).toBe("othello6_2p");
  expect(await w.take("a")).toEqual([HASHES.worst]);
  expect(await w.driven(w.manager.start("HIGH_QUALITY_SYNC"))).toBe(true);
  await w.pass(30_000);
  expect([...(await w.take("a")), ...(await w.take("a")), ...(await w.take("a"))]).toEqual([
    HASHES.best,
    HASHES.othello,
    HASHES.hex,
  ]);
  await w.driven(w.manager.start("AUTO_SYNC"));
  await w.pass(30_000);
  expect(await w.take("b")).toEqual([HASHES.worst]);
});

test.each([
  ["SYNC_COORDINATOR", []],
  ["CLUSTER_DATA_SYNC", ["CLUSTER_DATA_SYNC", "GOSSIP_SYNC"]],
  ["EPHEMERAL_SYNC", ["EPHEMERAL_SYNC", "GOSSIP_SYNC"]],
  ["AUTO_SYNC", []],
  ["SYNC_PUSH", ["GOSSIP_SYNC", "SYNC_PUSH"]],
  [
    "UNIFIED_DATA_PLANE",
    ["EPHEMERAL_SYNC", "GOSSIP_SYNC", "HIGH_QUALITY_SYNC", "OWC_IMPORT", "S3_NODE_SYNC", "SYNC_PUSH"],
  ],
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
    expect([...(w.policies() as string[])].sort()).toEqual(left);
    const request = { node_id: "b", target_node_ids: ["b"], sync_id: "s", data_type: "games", reason: "test" };
    await w.driven(w.router.publish("SYNC_REQUEST", request as never));
    await w.pass(1_000);
    expect(w.woken).toContain("b");
  },
);

test("only what is ranked otherwise now is ranked anew, the best first and a few at a time", () => {
  const waiting = (seq: number, config_key: string | null, quality: number) => ({
    seq,
    sha256: `f${seq}`,
    config_key,
    quality,
  });
  const all = [waiting(1, "a", 0), waiting(2, "a", 0), waiting(3, "b", 500), waiting(4, "c", 900), waiting(5, null, 0)];
  const scores = new Map([
    ["a", { score: 0.7, at: 1, segments: { f2: 0.9 } }],
    // A row of an older version knows no segments.
    ["b", { score: 0.5, at: 1 }],
  ]);
  const ranks = [
    { seq: 2, quality: 900 },
    { seq: 1, quality: 700 },
    { seq: 4, quality: 0 },
  ];
  expect(newRanks(all, scores, 9)).toEqual(ranks);
  expect(newRanks(all, scores, 2)).toEqual(ranks.slice(0, 2));
});

test("in as many rounds as it takes everybody is called", () => {
  const called = [0, 1, 2].flatMap((round) => calledIn(round, NODES, 3));
  expect(new Set(called)).toEqual(new Set(NODES));
  expect(calledIn(5, ["a", "b"], 3)).toEqual(["a", "b"]);
});
