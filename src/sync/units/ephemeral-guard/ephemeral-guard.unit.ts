import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { sumOf } from "../../../kernel/index.ts";
import { dataTypeOf } from "../../artifact.ts";
import { type AloneFile, aloneOn, goingNodes } from "../../copies/alone.ts";
import { guardLimits } from "../../limits.ts";
import { MAX_URGENCY } from "../../orders/order.ts";
import { hastenOrders, placeOrders } from "../../orders/order-operations.ts";
import type { SyncUnitServices } from "../../services.ts";
import { planRescue } from "./decide.ts";

const wiring = {
  name: "ephemeral_guard",
  layer: 4,
  placement: "leader",
  profiles: ["coordinator"],
  alsoKnownAs: ["EphemeralDataGuard"],
  pattern: "WIRE",
  dependsOn: ["sync_router"],
  emits: ["SYNC_TRIGGERED"],
} as const satisfies Wiring;

interface Cache {
  lookedAt: number;
  files: number;
  games: number;
  stuck: number;
  /** Since when something is at risk without a break; null while nothing is. */
  since: number | null;
}
type Context = ContextOf<typeof wiring, Cache>;
type Triggered = PayloadFor<"SYNC_TRIGGERED">;

/** What it orders for its own reasons is done under this name. */
const RESCUE = "rescue";

/**
 * Sees to it that what lies on rented and drained nodes alone comes to one that stays, before everything else. A node that is told
 * to end sends home by itself what it alone has; this is for those that are not told, or not yet.
 */
export const ephemeralGuard = ({ store, copies, planNodes }: SyncUnitServices, limits = guardLimits) => {
  const emitTriggered = ({ emit }: Context, files: readonly AloneFile[]): void => {
    const byConfig = Map.groupBy(files, ({ config_key, holders }) => `${config_key} ${holders[0]}`);
    for (const own of byConfig.values()) {
      const { config_key, holders } = own[0]!;
      if (config_key === null) continue;
      emit.SYNC_TRIGGERED({
        config_key: config_key as Triggered["config_key"],
        reason: `${own.length} files lie on nodes alone that are rented or drained`,
        urgency: "critical",
        data_type: dataTypeOf(own.map(({ kind }) => kind)) as NonNullable<Triggered["data_type"]>,
        source_node_id: holders[0] as NonNullable<Triggered["source_node_id"]>,
      });
    }
  };

  /** All of it is decided anew from the rows each time: a look that is missed is made up for by the next. */
  const look = async (context: Context): Promise<void> => {
    const { rows, cache, now, afterCommit } = context;
    const going = goingNodes(copies);
    const ask = { heldBefore: now - limits.youngMs, max: limits.maxFiles };
    const files = await aloneOn(store, going, copies.counting(), ask);
    const names = copies.nodes();
    const nodes = planNodes().map((node) => ({ ...node, ...names.get(node.node_id), name: node.node_id }));
    const { orders, hasten, stuck } = planRescue(files, nodes);
    if (orders.length > 0) {
      rows.apply(placeOrders({ sync_id: RESCUE, orders, at: now }));
      const ordered = new Set(orders.map(({ seq }) => seq));
      emitTriggered(
        context,
        files.filter(({ seq }) => ordered.has(seq)),
      );
    }
    if (hasten.length > 0) rows.apply(hastenOrders({ seqs: hasten, urgency: MAX_URGENCY, at: now }));
    afterCommit(() =>
      Object.assign(cache, {
        lookedAt: now,
        files: files.length,
        games: sumOf(files, ({ counted }) => counted),
        stuck,
        since: files.length === 0 ? null : (cache.since ?? now),
      }),
    );
  };
  const wake = (_: unknown, context: Context): Promise<void> | undefined =>
    context.now - context.cache.lookedAt < limits.wakeMs ? undefined : look(context);

  return defineDaemon({
    ...wiring,
    state: { cache: (): Cache => ({ lookedAt: 0, files: 0, games: 0, stuck: 0, since: null }) },
    on: onEach(["GAME_SYNCED", "HOST_OFFLINE", "HOST_ONLINE"], wake),
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ cache: { files, games, stuck, since }, now }) => {
      const isLong = since !== null && now - since >= limits.patienceMs;
      const what = `${files} files with ${games} games lie on nodes alone that are rented or drained`;
      const why =
        stuck === 0 ? "they are brought to one that stays" : `no node that stays has room for ${stuck} of them`;
      return {
        status: isLong ? "degraded" : "running",
        message: files === 0 ? "nothing is at risk" : `${what}; ${why}`,
        details: { files, games, stuck },
      };
    },
  });
};
