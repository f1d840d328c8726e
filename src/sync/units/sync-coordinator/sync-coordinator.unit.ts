import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { deliveryLimits } from "../../limits.ts";
import { failuresByHost, openOrdersBut } from "../../orders/hosts.ts";
import { giveUpOrders } from "../../orders/order-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { hopeless, judgeHost } from "./decide.ts";
import { hostTroubles } from "./tables.ts";

const wiring = {
  name: "sync_coordinator",
  layer: 3,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["SyncScheduler", "SyncPlanner"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["SYNC_FAILURE_CRITICAL"],
} as const satisfies Wiring;

interface Cache {
  lookedAt: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type NodeId = PayloadFor<"SYNC_FAILURE_CRITICAL">["node_id"];

/** What may have changed the books. */
const WAKES = [
  "DATA_SYNC_COMPLETED",
  "DATA_SYNC_FAILED",
  "HOST_OFFLINE",
  "MODEL_DISTRIBUTION_FAILED",
  "PRIORITY_SYNC_FAILED",
  "REPAIR_COMPLETED",
  "SYNC_STALLED",
] as const;

/**
 * Keeps the books on what each host lacks and what its transfers came to. When each try is made again is decided where it is
 * noted; here it is decided which host fails too often, and whose orders nobody should wait for.
 */
export const syncCoordinator = ({ store, copies }: SyncUnitServices, limits = deliveryLimits) => {
  const emitTroubles = ({ rows, emit, now }: Context): void => {
    const there = copies.nodes();
    // Of a node that was removed nobody expects anything.
    const failing = new Map(
      failuresByHost(store).flatMap((host) => (there.has(host.node_id) ? [[host.node_id, host] as const] : [])),
    );
    const known = new Map(rows.list(hostTroubles));
    for (const node_id of new Set([...failing.keys(), ...known.keys()])) {
      const found = failing.get(node_id);
      const before = known.get(node_id);
      const { trouble, isDue } = judgeHost(before, found, now, limits);
      if (trouble === undefined) {
        if (before === undefined) continue;
        rows.delete(hostTroubles, node_id);
        const error = "its transfers succeed again, or nobody waits for them any more";
        emit.SYNC_FAILURE_CRITICAL({ node_id: node_id as NodeId, severity: "info", error });
        continue;
      }
      if (trouble.failures !== before?.failures || isDue) rows.put(hostTroubles, node_id, trouble);
      if (isDue)
        emit.SYNC_FAILURE_CRITICAL({
          node_id: node_id as NodeId,
          severity: "critical",
          consecutive_failures: trouble.failures,
          error: `${trouble.error} (${trouble.code})`,
          ...(found?.last_success_at == null ? {} : { last_success_at: found.last_success_at / 1_000 }),
        });
    }
  };

  const look = (context: Context): void => {
    const { rows, cache, now, log, afterCommit } = context;
    const nodes = copies.nodes();
    const there = [...nodes.values()].filter(({ isThere }) => isThere).map(({ node_id }) => node_id);
    const lost = hopeless(openOrdersBut(store, there, limits.maxGivenUp), nodes, now, limits.awayMs);
    if (lost.length > 0) {
      const orderIds = lost.map(({ order_id }) => order_id);
      rows.apply(giveUpOrders({ orderIds, code: "NODE_AWAY", error: "its node is away", at: now }));
      afterCommit(() => log.info("transfers of offline nodes are cancelled", { orders: lost.length }));
    }
    emitTroubles(context);
    afterCommit(() => {
      cache.lookedAt = now;
    });
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { hostTroubles }, cache: (): Cache => ({ lookedAt: 0 }) },
    // Events come in crowds; the loop looks soon anyway.
    on: onEach(WAKES, (_: unknown, context: Context) => {
      if (context.now - context.cache.lookedAt >= limits.wakeMs) look(context);
    }),
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ rows, cache: { lookedAt } }) => {
      const hosts = rows.list(hostTroubles);
      return {
        status: hosts.length === 0 ? "running" : "degraded",
        message: hosts.map(([id, { failures, error }]) => `${id}: ${failures} transfers failed, ${error}`).join("; "),
        details: { hosts: hosts.map(([id]) => id), looked_at: lookedAt / 1_000 },
      };
    },
  });
};
