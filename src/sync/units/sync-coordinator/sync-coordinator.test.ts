/** The books over a database in memory: nodes report what their transfers came to, and some fall silent. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { entryOf, oneNode, sha256Of } from "../../../../test/unit/sync/sync-world.ts";
import { builtinRows } from "../../../events/index.ts";
import type { Operation } from "../../../router/index.ts";
import { createArtifactCatalog } from "../../catalog.ts";
import { createCopies } from "../../copies/copies.ts";
import { noteCopies } from "../../copies/copy-operations.ts";
import { deliveryLimits, orderLimits } from "../../limits.ts";
import { deliveriesOf } from "../../orders/deliveries.ts";
import { hostBooks } from "../../orders/hosts.ts";
import { noteOrders, type OrderReport, placeOrders, takeOrders } from "../../orders/order-operations.ts";
import { syncCoordinator } from "./sync-coordinator.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const { maxAttempts, firstWaitMs } = orderLimits;
const GAMES = sha256Of("games");
const MINUTE = 60_000;

async function world() {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const commit = (...operations: Operation[]) => w.driven(w.store.commit(operations));
  const catalog = createArtifactCatalog(w);
  const change: Operation[] = [];
  catalog.join({ rows: { apply: (operation) => void change.push(operation) } }).record([entryOf("games")]);
  await commit(...change);
  const [away, gone] = [new Set<string>(), new Set<string>()];
  const copies = createCopies({
    ...w,
    nodeId: "n1",
    copies: oneNode.copies,
    nodes: () =>
      ["n1", "a", "b"]
        .filter((id) => !gone.has(id))
        .map((id) => ({ ...oneNode.nodes()[0]!, node_id: id, isThere: !away.has(id) })),
  });
  await w.driven(w.runtime([syncCoordinator({ store: w.store, copies } as never)]).start());
  const seq = catalog.get(GAMES)!.seq;
  const order = (node_id: string, sync_id: string) => {
    const made = { node_id, seq, action: "fetch", urgency: 1, bytes: 5, max_rate: null, reason: "sync" } as const;
    return commit(placeOrders({ sync_id, orders: [made], at: w.clock.now() }));
  };
  /** A node takes its orders and reports the same of all of them. */
  const report = async (node_id: string, news: Omit<OrderReport, "order_id" | "bytes_done">) => {
    const limits = { at: w.clock.now(), maxAttempts, firstWaitMs };
    const [{ taken }] = await w.driven(
      w.store.commit([
        takeOrders({
          node_id,
          bounds: { max: 16, maxSmall: 16, maxSmallBytes: 0 },
          silentBefore: limits.at - MINUTE,
          ...limits,
        }),
      ]),
    );
    const reports = taken.map(({ order_id }) => ({ order_id, bytes_done: 1, ...news }));
    await commit(noteOrders({ node_id, reports, ...limits }));
    return taken.length;
  };
  const critical = () => w.router.history({ eventType: "SYNC_FAILURE_CRITICAL" }).map(({ payload }) => payload);
  const deliveries = (view: "open" | "failing" | "all" = "all") => deliveriesOf(w.store, { view, limit: 10 });
  return { ...w, away, gone, commit, order, report, critical, deliveries };
}

const failed = { state: "failed", error: "cut off", code: "TRANSFER_STALLED" } as const;

test("every try of a delivery is in the ledger with its ways, and the last one gives it up", async () => {
  const w = await world();
  await w.order("a", "s1");
  const tries = [
    { transport: "http", place: "b", code: "PLACE_UNREACHABLE", error: "no route" },
    { transport: "coordinator", place: "home", code: "TRANSFER_STALLED", error: "cut off" },
  ];
  await w.report("a", { ...failed, tries });
  const [delivery] = await w.deliveries("failing");
  expect(delivery).toMatchObject({ state: "waiting", attempts: 1, error: "cut off", sha256: GAMES });
  expect(delivery!.not_before).toBe(w.clock.now() + firstWaitMs);
  expect(delivery!.tries).toMatchObject([
    { attempt: 1, transport: "http", place: "b", code: "PLACE_UNREACHABLE" },
    { attempt: 1, transport: "coordinator", place: "home", code: "TRANSFER_STALLED" },
    { attempt: 1, transport: null, code: "TRANSFER_STALLED" },
  ]);
  // Before its time it is not given again.
  expect(await w.report("a", failed)).toBe(0);
  for (let i = 1; i < maxAttempts; i += 1) {
    await w.pass(firstWaitMs * 2 ** i);
    expect(await w.report("a", failed)).toBe(1);
  }
  expect(await w.deliveries("failing")).toMatchObject([{ state: "failed", attempts: maxAttempts, error: "cut off" }]);
  expect(await w.deliveries("open")).toEqual([]);
  expect(await hostBooks(w.store)).toMatchObject([{ node_id: "a", failures: 5, reasons: { TRANSFER_STALLED: 5 } }]);
});

test("a host whose transfers fail again and again is told once, and is well when something arrives", async () => {
  const w = await world();
  for (let i = 0; i < 5; i += 1) {
    await w.order("a", `s${i}`);
    await w.order("b", `s${i}`);
  }
  await w.report("a", failed);
  await w.pass(MINUTE);
  expect(w.critical()).toMatchObject([{ node_id: "a", consecutive_failures: 5, error: "cut off (TRANSFER_STALLED)" }]);
  await w.pass(5 * MINUTE);
  expect(w.critical()).toHaveLength(1);
  await w.commit(noteCopies({ node_id: "a", sha256s: [GAMES], by: "a", at: w.clock.now() }));
  await w.pass(MINUTE);
  expect(await hostBooks(w.store)).toMatchObject([
    { node_id: "a", failures: 0, waiting: 0, last_success_at: expect.any(Number) },
    { node_id: "b", failures: 0, waiting: 5 },
  ]);
  // That it is over is told once, so that whoever was called knows.
  expect(w.critical().slice(1)).toMatchObject([{ node_id: "a", severity: "info" }]);
  await w.order("a", "s9");
  await w.report("a", failed);
  await w.pass(MINUTE);
  expect(w.critical()).toHaveLength(2);
});

test("it is over for a host that was removed, and an hour after the last transfer that anybody waited for was given up", async () => {
  const w = await world();
  for (const node of ["a", "b"]) for (let i = 0; i < 5; i += 1) await w.order(node, `s${i}`);
  const tries = async (node: string) => {
    while ((await w.report(node, failed)) > 0) await w.pass(firstWaitMs * 2 ** maxAttempts);
  };
  await tries("a");
  await tries("b");
  await w.pass(MINUTE);
  const told = () => w.critical().map(({ node_id, severity }) => `${node_id} ${severity}`);
  expect(new Set(told())).toEqual(new Set(["a critical", "b critical"]));
  w.gone.add("b");
  await w.pass(MINUTE);
  expect(told().at(-1)).toBe("b info");
  await w.pass(2 * deliveryLimits.remindMs);
  expect(told().at(-1)).toBe("a info");
  const before = told().length;
  await w.pass(2 * deliveryLimits.remindMs);
  expect(told()).toHaveLength(before);
});

test("nobody waits for what a node shall do that is away, and a node that says nothing of an order spends its tries", async () => {
  const w = await world();
  await w.order("a", "s1");
  await w.order("b", "s1");
  w.away.add("a");
  await w.pass(2 * MINUTE);
  const of = async (node_id: string) => (await w.deliveries()).find((each) => each.node_id === node_id);
  expect(await of("a")).toMatchObject({ state: "failed", error: "its node is away" });
  expect(await of("b")).toMatchObject({ state: "waiting" });
  for (let i = 0; i < maxAttempts + 1; i += 1) {
    await w.report("b", { state: "running", error: null });
    await w.pass(2 * MINUTE);
  }
  expect(await of("b")).toMatchObject({
    state: "failed",
    attempts: maxAttempts,
    error: "its node spoke of it no more",
  });
});
