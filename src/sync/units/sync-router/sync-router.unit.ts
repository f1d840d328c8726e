import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { dataTypeOf } from "../../artifact.ts";
import { planSync, type WantedFile } from "../../facade/plan.ts";
import { routeLimits } from "../../limits.ts";
import { placeOrders, rerouteOrders } from "../../orders/order-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { neededFiles } from "../training-activity/needed.ts";
import { freshness } from "../training-activity/tables.ts";
import { failingOrders } from "./failing.ts";

const wiring = {
  name: "sync_router",
  layer: 3,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["SyncRouter", "SyncStallHandler"],
  dependsOn: ["sync_coordinator"],
  emits: ["SYNC_REQUEST", "SYNC_RETRY_REQUESTED"],
} as const satisfies Wiring;

interface Cache {
  lookedAt: number;
  rerouted: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type Request = PayloadFor<"SYNC_REQUEST">;

/** What may have made a way bad, a node lack data, or data need another place. The rows say what of it is true. */
const WAKES = [
  "DATA_STALE",
  "DISTRIBUTION_INCOMPLETE",
  "HOST_OFFLINE",
  "HOST_ONLINE",
  "MODEL_SYNC_REQUESTED",
  "REPLICATION_ALERT",
  "SYNC_CHECKSUM_FAILED",
  "SYNC_FAILURE_CRITICAL",
  "SYNC_NODE_UNREACHABLE",
  "SYNC_STALLED",
  "SYNC_TRIGGERED",
] as const;

const HIGH = 2;

/**
 * Chooses targets for what is wanted, and the next way for what has failed: a transfer that another holder can give is not
 * made to wait. Orders are the truth; whoever misses its events still gets them.
 */
export const syncRouter = ({ store, sources, planNodes }: SyncUnitServices, limits = routeLimits) => {
  /**
   * A transfer whose way failed goes by another at once; what failed once in vain is remembered with its order. Its node is told whom to ask
   * by the same choice, when it takes the order.
   */
  const reroute = ({ rows, emit, now, cache, afterCommit }: Context): void => {
    const orderIds: number[] = [];
    for (const order of failingOrders(store, now, limits.maxOrders)) {
      const { order_id, sync_id, node_id, kind, transports } = order;
      const { givers, isExhausted } = sources.choose(node_id, order);
      const [next] = givers;
      // Where all have failed only time helps, and the next try comes when it is due.
      if (next === undefined || isExhausted) continue;
      orderIds.push(order_id);
      emit.SYNC_RETRY_REQUESTED({
        sync_id: sync_id as Request["sync_id"],
        data_type: dataTypeOf([kind]) as Request["data_type"],
        node_id: node_id as Request["node_id"],
        transport: sources.waysOf(next)[0] ?? "coordinator",
        failed_transports: [...transports],
      });
    }
    if (orderIds.length === 0) return;
    rows.apply(rerouteOrders({ orderIds, at: now }));
    afterCommit(() => {
      cache.rerouted += orderIds.length;
    });
  };

  /** Orders files of a config for the node that needs them, unless they are ordered for it already. */
  const bring = ({ rows, emit, now }: Context, key: string, to: string, files: readonly WantedFile[]): void => {
    const open = new Set(store.read<{ seq: number }>(OPEN_OF_NODE, to).map(({ seq }) => seq));
    const ask = { nodes: planNodes(), targets: [to], excluded: [], urgency: HIGH, maxRate: null };
    const { orders } = planSync("router", { ...ask, files: files.filter(({ seq }) => !open.has(seq)) });
    if (orders.length === 0) return;
    const sync_id = `fresh-${key}` as Request["sync_id"];
    const node_id = to as Request["node_id"];
    const config_key = key as NonNullable<Request["config_key"]>;
    const reason = `the next run of ${key} needs it`;
    rows.apply(placeOrders({ sync_id, orders, at: now }));
    emit.SYNC_REQUEST({
      sync_id,
      node_id,
      target_node_ids: [node_id],
      config_key,
      data_type: "npz",
      urgency: "high",
      reason,
    });
  };

  const look = async (context: Context): Promise<void> => {
    const { rows, cache, now, afterCommit } = context;
    reroute(context);
    const stale = rows.list(freshness);
    const needed = stale.length === 0 ? undefined : await neededFiles(store);
    for (const [key, { node_id }] of stale) {
      const files = (needed?.get(key) ?? []).map((file) => ({ ...file, dataType: "npz" as const }));
      bring(context, key, node_id, files);
    }
    afterCommit(() => {
      cache.lookedAt = now;
    });
  };

  return defineDaemon({
    ...wiring,
    state: { cache: (): Cache => ({ lookedAt: 0, rerouted: 0 }) },
    on: onEach(WAKES, (_: unknown, context: Context) =>
      context.now - context.cache.lookedAt < limits.wakeMs ? undefined : look(context),
    ),
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ cache: { rerouted, lookedAt } }) => ({
      status: "running",
      message: "",
      details: { rerouted, looked_at: lookedAt / 1_000 },
    }),
  });
};

const OPEN_OF_NODE = "SELECT seq FROM sync_orders WHERE node_id = ? AND state IN ('waiting', 'running')";
