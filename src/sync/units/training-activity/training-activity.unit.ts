import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { freshnessLimits } from "../../limits.ts";
import type { SyncUnitServices } from "../../services.ts";
import { lagOf, nextFreshness } from "./decide.ts";
import { neededFiles } from "./needed.ts";
import { freshness } from "./tables.ts";

const wiring = {
  name: "training_activity",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["TRAINING_NODE_WATCHER", "TRAINING_DATA_SYNC"],
  alsoKnownAs: ["TrainingActivityDaemon", "TrainingFreshness", "TrainingDataSyncDaemon"],
  pattern: "GET",
  dependsOn: ["sync_router"],
  emits: ["DATA_STALE", "DATA_FRESH", "SYNC_TRIGGERED"],
} as const satisfies Wiring;

interface Cache {
  lookedAt: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type ConfigKey = PayloadFor<"DATA_STALE">["config_key"];
type NodeId = NonNullable<PayloadFor<"DATA_STALE">["node_id"]>;

/** What may have brought data to a node that trains, or a node that trains to the data. */
const WAKES = [
  "DATA_SYNC_FAILED",
  "HOST_OFFLINE",
  "HOST_ONLINE",
  "NPZ_EXPORT_COMPLETE",
  "PRIORITY_SYNC_COMPLETED",
  "TRAINING_STARTED",
] as const;

/**
 * Judges whether a node that trains has the window of each config, and has it brought there before a run. A run waits for it a
 * minute at most: then its node fetches what it lacks itself. Where home trains, the data is there by itself.
 */
export const trainingActivity = ({ store, planNodes }: SyncUnitServices, limits = freshnessLimits) => {
  const look = async ({ rows, emit, cache, now, afterCommit }: Context): Promise<void> => {
    const needed = await neededFiles(store);
    const nodes = planNodes();
    const known = new Map(rows.list(freshness));
    for (const key of new Set([...needed.keys(), ...known.keys()])) {
      const before = known.get(key);
      const lag = lagOf(needed.get(key) ?? [], nodes, now);
      const { row, news } = nextFreshness(before, lag, now, limits.patienceMs);
      if (row === undefined && before !== undefined) rows.delete(freshness, key);
      const isNews =
        row?.state !== before?.state || row?.missing !== before?.missing || row?.node_id !== before?.node_id;
      if (row !== undefined && isNews) rows.put(freshness, key, row);
      const config_key = key as ConfigKey;
      const ages = { data_age_seconds: (lag?.lag_ms ?? 0) / 1_000, max_age_seconds: limits.patienceMs / 1_000 };
      if (news === "fresh") emit.DATA_FRESH({ config_key, ...ages });
      if (news !== "stale" || row === undefined) continue;
      const node_id = row.node_id as NodeId;
      emit.DATA_STALE({ config_key, node_id, ...ages });
      const reason = `${row.missing} of ${row.wanted} files that a run needs are not at the node that trains`;
      emit.SYNC_TRIGGERED({ config_key, reason, urgency: "high", data_type: "npz", target_node_id: node_id });
    }
    afterCommit(() => {
      cache.lookedAt = now;
    });
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { freshness }, cache: (): Cache => ({ lookedAt: 0 }) },
    on: onEach(WAKES, (_: unknown, context: Context) =>
      context.now - context.cache.lookedAt < limits.wakeMs ? undefined : look(context),
    ),
    loop: { everyMs: limits.everyMs, tick: look },
    health: ({ rows, cache: { lookedAt } }) => {
      const late = rows
        .list(freshness)
        .map(([key, { node_id, missing }]) => `${key}: ${node_id} lacks ${missing} files`);
      const message = late.length === 0 ? "who trains has its data" : late.join("; ");
      return { status: "running", message, details: { looked_at: lookedAt / 1_000 } };
    },
  });
};
