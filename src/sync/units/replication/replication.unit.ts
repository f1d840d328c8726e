import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defineTable } from "../../../router/index.ts";
import { claimOwnCopies, forgetHolder } from "../../copies/copy-operations.ts";
import { maxFactorOf } from "../../copies/policy.ts";
import { forgetSyncs } from "../../facade/facade-operations.ts";
import { replicationLimits } from "../../limits.ts";
import type { OrderRow } from "../../orders/order.ts";
import { forgetOrders, noteTold, placeOrders } from "../../orders/order-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { type Alarm, type CopyTrouble, nextAlarm, planRepairs, standing, troubleOf } from "./decide.ts";
import { repairNodes } from "./repair-nodes.ts";
import { findShorts } from "./shorts.ts";

const wiring = {
  name: "replication_daemon",
  layer: 4,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["REPLICATION_MONITOR", "REPLICATION_REPAIR"],
  alsoKnownAs: ["UnifiedReplicationDaemon", "ClusterManifest"],
  dependsOn: ["event_router"],
  emits: ["REPLICATION_ALERT", "REPAIR_COMPLETED", "REPAIR_FAILED"],
} as const satisfies Wiring;

/** What it orders for its own reasons is done under this name. */
const REPLICATION = "replication";

/** What was last told of too few copies. */
const told = defineTable<Alarm>("sync_replication");
const ONLY = "copies";

interface Cache {
  lookedAt: number | null;
  places: number;
  short: number;
  /** Why nothing is done about some, by how many. */
  stuck: Readonly<Record<string, number>>;
}
type Context = ContextOf<typeof wiring, Cache>;
type NodeId = PayloadFor<"REPAIR_COMPLETED">["node_id"];
type Hash = PayloadFor<"REPAIR_COMPLETED">["artifact_hash"];

type Ended = OrderRow & { readonly sha256: string; readonly copies: number };
const ENDED = `SELECT o.*, a.sha256, (SELECT count(*) FROM sync_held h WHERE h.seq = o.seq AND h.state = 'held') AS copies
  FROM sync_orders o JOIN sync_artifacts a ON a.seq = o.seq
  WHERE o.told = 0 AND o.reason = 'repair' AND o.state IN ('done', 'failed') ORDER BY o.order_id LIMIT 200`;

/** Who has copies in the books, or had some: also this node under a name of before. One look for each of them. */
const HOLDERS = `WITH RECURSIVE holders (node_id) AS (
    SELECT min(node_id) FROM sync_held
    UNION ALL SELECT (SELECT min(node_id) FROM sync_held WHERE node_id > holders.node_id) FROM holders WHERE node_id IS NOT NULL
  ) SELECT node_id FROM holders WHERE node_id IS NOT NULL UNION SELECT node_id FROM sync_storage`;

/**
 * Sees to it that everything has as many verified copies as there must be: counts them by their receipts, has nodes fetch what
 * is missing, has a copy sent back where the store itself lost one, and calls a person when that does not help.
 */
export const replicationDaemon = (
  services: Pick<SyncUnitServices, "store" | "copies" | "desk" | "nodeId" | "policy">,
  limits = replicationLimits,
) => {
  const { store, copies, desk, nodeId, policy } = services;

  /** Copies of before this was counted, and of nodes that nobody knows any more. */
  const setRight = async (isFirst: boolean): Promise<void> => {
    // One of several coordinators has what it has said that it has: others had the files while they led.
    const isAlone = copies.coordinators().length < 2;
    for (let after: number | null = isFirst && isAlone ? 0 : null; after !== null; )
      after = (await store.commit([claimOwnCopies({ node_id: nodeId, after, max: limits.page })]))[0].upto;
    const known = copies.nodes();
    for (const { node_id } of store.read<{ node_id: string }>(HOLDERS))
      if (!known.has(node_id)) await store.commit([forgetHolder({ node_id, max: limits.page })]);
  };

  /** Says how repairs ended, each once. */
  const emitEnded = ({ emit, rows }: Context): void => {
    const ended = store.read<Ended>(ENDED);
    if (ended.length > 0) rows.apply(noteTold({ orderIds: ended.map(({ order_id }) => order_id) }));
    for (const order of ended) {
      const isHome = order.action === "send";
      const about = { artifact_hash: order.sha256 as Hash, copies: order.copies };
      const node_id = (isHome ? nodeId : order.node_id) as NodeId;
      const source_node_id = (isHome ? order.node_id : nodeId) as NodeId;
      const duration_seconds = Math.max(0, (order.ended_at ?? order.created_at) - order.created_at) / 1_000;
      if (order.state === "done") emit.REPAIR_COMPLETED({ ...about, node_id, source_node_id, duration_seconds });
      else
        emit.REPAIR_FAILED({
          ...about,
          node_id,
          source_node_id,
          error: order.error ?? "no reason given",
          retryable: true,
        });
    }
  };

  const emitAlarm = ({ emit }: Context, trouble: CopyTrouble | null): void => {
    const { level: severity, files, games, what } = trouble ?? { level: "info", files: 0, games: 0, what: "" };
    const message =
      trouble === null
        ? "every file has as many copies as required"
        : `${what}: files ${files}, games ${games}; 'ringrift artifacts copies' shows them`;
    const node_id = nodeId as NodeId;
    emit.REPLICATION_ALERT({ node_id, severity, message, artifacts: files, ...(games > 0 ? { games } : {}) });
  };

  /** All of it is decided anew from the rows each time: a look that is missed is made up for by the next. */
  const look = async (context: Context): Promise<void> => {
    const { rows, cache, now, log } = context;
    await setRight(cache.lookedAt === null);
    cache.lookedAt = now;
    const oldBefore = now - limits.youngMs;
    const shortage = await findShorts(store, copies, { max: limits.maxShorts, oldBefore }, policy);
    const plan = planRepairs(shortage.shorts, repairNodes(copies.nodes(), nodeId, desk), limits);
    if (plan.orders.length > 0) {
      rows.apply(placeOrders({ sync_id: REPLICATION, orders: plan.orders, at: now }));
      log.debug("copies are ordered", { orders: plan.orders.length });
    }
    const known = rows.get(told, ONLY);
    const trouble = troubleOf(shortage);
    const { alarm, isDue } = nextAlarm(known, trouble?.level ?? "none", now, limits);
    if (isDue) emitAlarm(context, trouble);
    emitEnded(context);
    const isNews = known === undefined ? trouble !== null : JSON.stringify(alarm) !== JSON.stringify(known);
    if (isNews) rows.put(told, ONLY, alarm);
    Object.assign(cache, { places: copies.counting().length, short: shortage.shorts.length, stuck: plan.stuck });
  };
  /** Events come in crowds; the loop looks soon anyway. */
  const wake = (_: unknown, context: Context): Promise<void> | undefined =>
    context.now - (context.cache.lookedAt ?? 0) < limits.wakeMs ? undefined : look(context);

  return defineDaemon({
    ...wiring,
    state: { tables: { told }, cache: (): Cache => ({ lookedAt: null, places: 0, short: 0, stuck: {} }) },
    on: {
      HOST_ONLINE: wake,
      HOST_OFFLINE: wake,
      DATA_SYNC_COMPLETED: wake,
      // A set that stands for many segments has one copy when it is made.
      CONSOLIDATION_COMPLETE: wake,
      GAME_SYNCED: wake,
      MODEL_CORRUPTED: wake,
      DISK_CLEANUP_TRIGGERED: wake,
      DATA_BACKUP_COMPLETED: wake,
      S3_BACKUP_COMPLETED: wake,
    },
    loop: {
      everyMs: limits.everyMs,
      async tick(context) {
        await look(context);
        context.rows.apply(forgetSyncs({ before: context.now - limits.keepOrdersMs }));
        context.rows.apply(forgetOrders({ before: context.now - limits.keepOrdersMs, max: limits.page }));
      },
    },
    health: ({ cache, rows }) => ({
      status: "running",
      message: standing(cache, maxFactorOf(policy), rows.get(told, ONLY)?.is_open === true),
      details: { short: cache.short, stuck: cache.stuck },
    }),
  });
};
