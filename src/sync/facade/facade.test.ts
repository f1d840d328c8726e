/** The facade over a database in memory, with nodes that carry out their orders as they are told. */
import { generateKeyPairSync } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { servingAt } from "../../../test/unit/sync/sources-world.ts";
import { entryOf, oneNode, type SyncWorld, sha256Of, syncWorld } from "../../../test/unit/sync/sync-world.ts";
import { createIds, seededRandom, silentLog } from "../../kernel/index.ts";
import { createCopies } from "../copies/copies.ts";
import { confirmCopies, noteCopies } from "../copies/copy-operations.ts";
import { noteOrders, takeOrders } from "../orders/order-operations.ts";
import { createSources } from "../sources/sources.ts";
import { SyncFacade } from "./facade.ts";
import type { PlanNode } from "./plan.ts";

const worlds: SyncWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

type Conduct = "fetches" | "fails" | "sleeps";

/** Games of two boards and a model at home; nodes that fetch, fail or do nothing. */
async function world(
  nodes: Readonly<Record<string, Conduct>>,
  rented: readonly string[] = [],
  facts: (nodeId: string, passedMs: number) => Partial<PlanNode> = () => ({}),
) {
  const w = syncWorld();
  worlds.push(w);
  const begun = w.clock.now();
  const passedMs = () => w.clock.now() - begun;
  const files = {
    games: entryOf("games", { work_id: "w1" }),
    square: entryOf("square games", { work_id: "w2", config_key: "square8_2p" }),
    three: entryOf("three players", { work_id: "w3", config_key: "hex8_3p" }),
    model: entryOf("model", { work_id: null, kind: "model", games: 0 }),
    samples: entryOf("samples", { work_id: null, kind: "samples", games: 0 }),
  };
  await w.change((artifacts) => artifacts.record(Object.values(files)));
  const hold = (node_id: string, ...texts: string[]) =>
    w.store.commit([
      noteCopies({ node_id, sha256s: texts.map(sha256Of), by: node_id, at: 1, isHome: node_id === "n1" }),
    ]);
  await hold("n1", "games", "square games", "three players", "model", "samples");
  const names = ["n1", ...Object.keys(nodes)];
  const [one] = oneNode.nodes();
  const holders = () => names.map((node_id) => ({ ...one!, node_id, name: node_id, address: "192.0.2.7" }));
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes: holders });
  const home = () => ({ port: 1, tls: false, fingerprint: null });
  const { privateKey: ticketKey } = generateKeyPairSync("ed25519");
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes: holders, ticketKey, home });
  const facade = new SyncFacade({
    nodeId: "n1",
    sources,
    router: w.router,
    store: w.store,
    clock: w.clock,
    log: silentLog(),
    ids: createIds(w.clock, seededRandom(1)),
    nameOf: (id) => id,
    findNode: (name) => {
      if (!names.includes(name)) throw new Error(`there is no node '${name}'`);
      return name;
    },
    nodes: () =>
      names.map(
        (node_id): PlanNode => ({
          node_id,
          isThere: true,
          isConfirmed: true,
          isRented: rented.includes(node_id),
          isHome: node_id === "n1",
          kinds: ["training", "selfplay"],
          freeBytes: 100e9,
          freeCpus: 1,
          staleMs: null,
          bytesPerSecond: null,
          ...facts(node_id, passedMs()),
        }),
      ),
  });
  /** What the nodes do every second while somebody waits. */
  const work = async () => {
    for (const [node_id, conduct] of Object.entries(nodes)) {
      const at = w.clock.now();
      const bounds = { max: 16, maxSmall: 16, maxSmallBytes: 0 };
      const [{ taken }] = await w.store.commit([
        takeOrders({ node_id, bounds, at, silentBefore: 0, maxAttempts: 1, firstWaitMs: 1 }),
      ]);
      for (const { order_id, sha256, action, bytes } of taken) {
        if (conduct === "fetches")
          await w.store.commit([
            noteCopies({
              node_id: action === "send" ? "n1" : node_id,
              sha256s: [sha256],
              by: node_id,
              at,
              isHome: action === "send",
            }),
          ]);
        if (conduct === "fails") {
          const reports = [{ order_id, state: "failed", bytes_done: bytes - 1, error: "no way" }] as const;
          await w.store.commit([noteOrders({ node_id, reports, at, maxAttempts: 1, firstWaitMs: 1 })]);
        }
      }
    }
  };
  const run = async <T>(asked: Promise<T>): Promise<T> => {
    let isOver = false;
    const ended = asked.finally(() => {
      isOver = true;
    });
    ended.catch(() => undefined);
    while (!isOver) {
      await work();
      await new Promise((resolve) => setImmediate(resolve));
      if (!isOver) w.clock.step();
    }
    return ended;
  };
  const holdersOf = (text: string) =>
    w.store
      .read<{ node_id: string }>(
        "SELECT node_id FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq WHERE a.sha256 = ? ORDER BY node_id",
        sha256Of(text),
      )
      .map(({ node_id }) => node_id);
  return { ...w, facade, sources, run, holders: holdersOf, hold, passedMs };
}

test("sync brings files to nodes, and its numbers are those of what arrived", async () => {
  const w = await world({ a: "fetches", b: "fetches" });
  const response = await w.run(w.facade.sync("models"));
  expect(response).toMatchObject({
    success: true,
    backendUsed: "auto_sync",
    nodesSynced: 2,
    bytesTransferred: 2 * "model".length,
    errors: [],
    details: { files: 2, filesArrived: 2, pending: 0, nodes: ["a", "b"], tried: ["auto_sync"] },
  });
  expect(w.holders("model")).toEqual(["a", "b", "n1"]);
  expect(w.holders("games")).toEqual(["n1"]);
  expect(await w.run(w.facade.sync("models"))).toMatchObject({ success: true, nodesSynced: 2, bytesTransferred: 0 });
  expect(w.facade.getStats()).toEqual({ totalSyncs: 2, byBackend: { auto_sync: 2 }, totalBytes: 10, totalErrors: 0 });
});

describe("each field does what it says", () => {
  test.each([
    [{ dataType: "games" } as const, ["games", "square games", "three players"]],
    [{ dataType: "npz" } as const, ["samples"]],
    [{ dataType: "games", boardType: "hex8" } as const, ["games", "three players"]],
    [{ dataType: "games", boardType: "hex8", numPlayers: 2 } as const, ["games"]],
    [{ dataType: "all", numPlayers: 3 } as const, ["three players"]],
  ])("%j means %j", async (request, texts) => {
    const w = await world({ a: "fetches" });
    await w.run(w.facade.sync(request));
    const all = ["games", "square games", "three players", "model", "samples"];
    expect(all.filter((text) => w.holders(text).includes("a"))).toEqual(texts);
  });

  test("targets and excluded nodes", async () => {
    const w = await world({ a: "fetches", b: "fetches", c: "fetches" });
    expect(await w.run(w.facade.sync("models", { targets: ["a", "b"], excludeNodes: ["b"] }))).toMatchObject({
      backendUsed: "router",
      nodesSynced: 1,
    });
    expect(w.holders("model")).toEqual(["a", "n1"]);
    await expect(w.facade.sync("models", { targets: ["nobody"] })).rejects.toThrow("there is no node 'nobody'");
  });

  test("priority and bandwidth go with the orders, and what is urgent is carried out first", async () => {
    const w = await world({ a: "fetches" });
    await w.run(w.facade.sync("models", { priority: "critical", bandwidthLimitMbps: 2.5 }));
    expect(w.store.read("SELECT urgency, max_rate FROM sync_orders")).toEqual([{ urgency: 3, max_rate: 2_500_000 }]);
    const asleep = await world({ a: "sleeps" });
    const ask = { targets: ["a"], requireConfirmation: false };
    for (const [dataType, priority] of [
      ["games", "low"],
      ["npz", "high"],
      ["models", "normal"],
    ] as const)
      await asleep.facade.sync(dataType, { ...ask, priority });
    const bounds = { max: 2, maxSmall: 2, maxSmallBytes: 0 };
    const limits = { at: asleep.clock.now(), silentBefore: 0, maxAttempts: 1, firstWaitMs: 1 };
    const [{ taken }] = await asleep.store.commit([takeOrders({ node_id: "a", bounds, ...limits })]);
    expect(taken.map(({ kind }) => kind)).toEqual(["samples", "model"]);
  });

  test("its time: what has not arrived by then is not waited for, nor fetched", async () => {
    const w = await world({ a: "fetches", b: "sleeps" });
    const before = w.clock.now();
    const response = await w.run(w.facade.sync("models", { timeoutSeconds: 7 }));
    expect(response).toMatchObject({ success: false, nodesSynced: 1, bytesTransferred: 5 });
    expect(response.errors).toEqual(["auto_sync: 1 of 2 files had arrived when its time was over"]);
    expect(w.clock.now() - before).toBeLessThan(9_000);
    expect(w.store.read("SELECT node_id, state FROM sync_orders ORDER BY order_id")).toEqual([
      { node_id: "a", state: "done" },
      { node_id: "b", state: "cancelled" },
    ]);
  });

  test("without confirmation it ends when all is ordered, and says what is pending", async () => {
    const w = await world({ a: "sleeps" });
    const response = await w.run(w.facade.sync("models", { requireConfirmation: false }));
    expect(response).toMatchObject({ success: true, nodesSynced: 0, bytesTransferred: 0, details: { pending: 1 } });
    expect(w.store.read("SELECT state FROM sync_orders")).toEqual([{ state: "waiting" }]);
  });

  test("prefer_ephemeral: rented nodes bring home what home lacks", async () => {
    const w = await world({ rented: "fetches" }, ["rented"]);
    await w.change((artifacts) => artifacts.record([entryOf("only there", { work_id: "w9" })]));
    await w.hold("rented", "only there");
    expect(await w.run(w.facade.sync("games", { preferEphemeral: true }))).toMatchObject({
      success: true,
      backendUsed: "ephemeral_sync",
      bytesTransferred: "only there".length,
    });
    expect(w.holders("only there")).toEqual(["n1", "rented"]);
  });
});

test("what one backend cannot do the next one tries, and all errors are kept", async () => {
  const w = await world({ a: "fails" });
  const response = await w.run(w.facade.sync("models"));
  expect(response).toMatchObject({ success: false, backendUsed: "distributed", nodesSynced: 0 });
  expect(response.errors).toEqual([
    "auto_sync: 1 of 1 transfers failed",
    "router: 1 of 1 transfers failed",
    "distributed: 1 of 1 transfers failed",
  ]);
  expect(w.facade.healthCheck()).toMatchObject({ healthy: false, status: "stopped", message: "1 of 1 syncs failed" });
});

describe("a node that is named and away for a moment", () => {
  const awayUntil = (ms: number) => (nodeId: string, passedMs: number) => ({
    isThere: nodeId !== "b" || passedMs >= ms,
  });

  test("is waited for and judged, and the next backend is not needed", async () => {
    const w = await world({ a: "fetches", b: "fetches" }, [], awayUntil(10_000));
    const syncing = w.facade.sync("models", { targets: ["a", "b"] });
    expect(await w.run(syncing)).toMatchObject({ backendUsed: "router", nodesSynced: 2, errors: [] });
    expect(w.holders("model")).toEqual(["a", "b", "n1"]);
    const repaired = await world({ b: "fetches" }, [], (_, ms) =>
      ms < 10_000 ? { barred: "it is being repaired", isBarredForNow: true } : {},
    );
    const response = await repaired.run(repaired.facade.sync("models", { targets: ["b"] }));
    expect(response).toMatchObject({ backendUsed: "router", nodesSynced: 1 });
  });

  test("is not waited for longer than a part of the time, nor for what does not pass, nor where others are able", async () => {
    const w = await world({ b: "fetches" }, [], awayUntil(Number.POSITIVE_INFINITY));
    const response = await w.run(w.facade.sync("models", { targets: ["b"], timeoutSeconds: 100 }));
    expect(response).toMatchObject({ backendUsed: "distributed", success: true });
    expect(response.errors).toEqual(["router: none of the nodes is able to take it"]);
    expect(w.passedMs()).toBeGreaterThanOrEqual(10_000);
    expect(w.passedMs()).toBeLessThan(20_000);
    const drained = await world({ b: "fetches" }, [], () => ({ barred: "it is drained", isBarredForNow: false }));
    expect(await drained.run(drained.facade.sync("models", { targets: ["b"] }))).toMatchObject({
      backendUsed: "distributed",
    });
    expect(drained.passedMs()).toBeLessThan(10_000);
    const small = await world({ b: "fetches" }, [], () => ({ freeBytes: 1 }));
    expect(await small.run(small.facade.sync("models", { targets: ["b"] }))).toMatchObject({
      backendUsed: "distributed",
    });
    expect(small.passedMs()).toBeLessThan(10_000);
    const others = await world({ a: "fetches", b: "fetches" }, [], awayUntil(Number.POSITIVE_INFINITY));
    expect(await others.run(others.facade.sync("models"))).toMatchObject({ backendUsed: "auto_sync", nodesSynced: 1 });
    expect(others.passedMs()).toBeLessThan(10_000);
  });

  test("is not waited for when the sync is cancelled, and nothing is ordered then", async () => {
    const w = await world({ b: "fetches" }, [], awayUntil(Number.POSITIVE_INFINITY));
    const running = w.facade.sync("models", { targets: ["b"] });
    await w.run(new Promise<void>((resolve) => void w.clock.after(1_000, resolve)));
    await w.facade.cancel(w.facade.list()[0]!.sync_id, "not wanted");
    expect(await w.run(running)).toMatchObject({ success: false, errors: ["router: it was cancelled"] });
    expect(w.store.read("SELECT * FROM sync_orders")).toEqual([]);
  });
});

test("alone there is nobody to bring anything to, and that is no failure", async () => {
  const w = await world({});
  expect(await w.run(w.facade.sync("all"))).toMatchObject({ success: true, nodesSynced: 0, bytesTransferred: 0 });
  expect(w.facade.healthCheck()).toMatchObject({ healthy: true, status: "running" });
});

test("a sync that runs can be cancelled: what arrived stays, and it says so", async () => {
  const w = await world({ a: "sleeps" });
  const running = w.facade.sync("models");
  await w.run(new Promise<void>((resolve) => void w.clock.after(1_000, resolve)));
  const { sync_id } = w.facade.list()[0]!;
  await w.facade.cancel(sync_id, "not wanted");
  const response = await w.run(running);
  expect(response).toMatchObject({ success: false, nodesSynced: 0, errors: ["auto_sync: it was cancelled"] });
  expect(w.facade.show(sync_id)).toMatchObject({ state: "cancelled", progress: { open: 0 } });
  await expect(w.facade.cancel(sync_id, "again")).rejects.toThrow("is cancelled");
});

test("a priority sync from a node is critical, is waited for, and is told", async () => {
  const w = await world({ rented: "fetches" }, ["rented"]);
  await w.change((artifacts) => artifacts.record([entryOf("orphans", { work_id: "w9" })]));
  await w.hold("rented", "orphans");
  const about = {
    reason: "orphan_games_recovery",
    sourceNode: "rented",
    configKey: "hex8_2p",
    dataType: "games",
  } as const;
  expect(await w.run(w.facade.triggerPrioritySync(about))).toMatchObject({ success: true, bytesTransferred: 7 });
  expect(w.said("PRIORITY_SYNC_COMPLETED")).toMatchObject([
    {
      payload: {
        config_key: "hex8_2p",
        source_node_id: "rented",
        bytes_transferred: 7,
        reason: "orphan_games_recovery",
      },
    },
  ]);
  const failing = await world({ rented: "fails" }, ["rented"]);
  await failing.change((artifacts) => artifacts.record([entryOf("orphans", { work_id: "w9" })]));
  await failing.hold("rented", "orphans");
  expect(await failing.run(failing.facade.triggerPrioritySync(about))).toMatchObject({ success: false });
  expect(failing.said("PRIORITY_SYNC_FAILED")).toHaveLength(1);
});

test("explain says who would get what, and orders nothing", async () => {
  const w = await world({ a: "fetches" });
  expect(await w.facade.explain({ dataType: "models" })).toMatchObject({
    backend: "auto_sync",
    nodes: ["a"],
    orders: [{ node_id: "a" }],
    backends: [
      { backend: "auto_sync", role: "chosen" },
      { backend: "router", role: "fallback" },
      { backend: "distributed", role: "fallback" },
      { backend: "cluster_data_sync", role: "skipped", actual: "normal", required: "high or critical" },
      { backend: "ephemeral_sync", role: "skipped", actual: "false", required: "true" },
    ],
  });
  expect(w.store.read("SELECT * FROM sync_orders")).toEqual([]);
});

test("explain says from whom each node would get its files, by which way, and whom it would not ask", async () => {
  const w = await world({ a: "fetches", b: "fetches", c: "fetches", d: "fetches" });
  await w.hold("b", "model");
  await w.hold("c", "model");
  await w.hold("d", "model");
  for (const node_id of ["b", "c"]) {
    await w.store.commit([confirmCopies({ node_id, incarnation: 0, upto: 1, present: [], at: 1 })]);
    await w.hold(node_id, "model");
  }
  w.sources.announce("b", { ...servingAt(7_000), relayed: true });
  const { ways, lookedAt } = await w.facade.explain({ dataType: "models", targets: ["a"] });
  const home = { node_id: "n1", transports: ["http", "coordinator"], feeding: 0, depth: 0, isTroubled: false };
  expect({ ways, lookedAt }).toEqual({
    lookedAt: 1,
    ways: [
      {
        node_id: "a",
        action: "fetch",
        files: 1,
        bytes: 5,
        sources: [{ ...home, node_id: "b", transports: ["http", "relay"] }, home],
        passedOver: [
          {
            node_id: "c",
            why: "it serves nobody",
            actual: "no address and no relay",
            required: "an address or the relay",
          },
          { node_id: "d", why: "it has not said what it holds", actual: "unconfirmed", required: "confirmed" },
        ],
      },
    ],
  });
});
