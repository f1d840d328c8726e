import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defineTable } from "../../../router/index.ts";
import { BOOKS_UNBALANCED } from "../../books.ts";
import { cleanups, type DiskSpace } from "../../disk-space.ts";
import { diskSpaceLimits } from "../../limits.ts";
import { cleaningFor, type Graces, isDue, pressureOf, standing } from "./decide.ts";

const wiring = {
  name: "disk_space_manager",
  layer: 7,
  placement: "each-node",
  profiles: ["coordinator", "training_node"],
  daemonTypes: ["DISK_SPACE_MANAGER", "COORDINATOR_DISK_MANAGER", "DATA_CLEANUP"],
  alsoKnownAs: ["DiskSpaceManager", "CleanupDaemon", "CoordinatorDiskManager"],
  dependsOn: ["event_router"],
  emits: ["DISK_CLEANUP_TRIGGERED"],
} as const satisfies Wiring;

/** Configs whose books do not balance, by config_key: until then their files stay. */
const unbalanced = defineTable<{ readonly until: number }>("sync_cleanup_holds");

interface Cache {
  lookedAt: number | null;
  /** Bytes that the last look freed. */
  freed: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type Payload = PayloadFor<"DISK_CLEANUP_TRIGGERED">;

export interface DiskSpaceServices {
  readonly nodeId: string;
  readonly space: DiskSpace;
  readonly graces: Graces;
}

/**
 * The only unit that frees files: artifacts that nobody holds, what lies in quarantine, and old logs. What is freed was given up in
 * a commit before, all its copies with it, and what is pinned or in flight stays however full the disk is. The fuller it is, the
 * sooner the rest goes; whoever makes files is held by `daemon_control` before the room of the journal is touched.
 */
export const diskSpaceManager = ({ nodeId, space, graces }: DiskSpaceServices, limits = diskSpaceLimits) => {
  const held = ({ rows, now }: Pick<Context, "rows" | "now">): string[] =>
    rows.list(unbalanced).flatMap(([configKey, { until }]) => (until > now ? [configKey] : []));

  const look = async (context: Context): Promise<void> => {
    const { rows, cache, now, signal, log, emit } = context;
    const { level, why } = pressureOf(space.measured(), limits);
    if (!isDue(cache.lookedAt, level, now, limits)) return;
    cache.lookedAt = now;
    if (space.tidyLogs()) log.info("a new log file was started");
    for (const [configKey, { until }] of rows.list(unbalanced)) if (until <= now) rows.delete(unbalanced, configKey);
    const { sha256s, bytes, fromQuarantine } = await space.clean(
      cleaningFor(level, graces, held(context), limits),
      signal,
    );
    cache.freed = bytes;
    const files = sha256s.length + fromQuarantine;
    if (files === 0) return;
    const before = rows.get(cleanups, nodeId);
    rows.put(cleanups, nodeId, {
      at: now,
      reason: why,
      bytes,
      files,
      all_bytes: (before?.all_bytes ?? 0) + bytes,
      all_files: (before?.all_files ?? 0) + files,
    });
    log.info("files were deleted", { files, bytes, reason: why });
    emit.DISK_CLEANUP_TRIGGERED({
      node_id: nodeId as Payload["node_id"],
      bytes_freed: bytes,
      artifacts: sha256s.length,
      artifact_hashes: sha256s.slice(0, limits.maxTold) as Payload["artifact_hashes"],
      reason: why,
    });
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { cleanups, unbalanced }, cache: (): Cache => ({ lookedAt: null, freed: 0 }) },
    on: {
      DISK_SPACE_LOW({ payload: { node_id } }, { cache }) {
        // The next look is now, whatever was cleaned up a moment ago.
        if (node_id === nodeId) cache.lookedAt = null;
      },
      DATA_BACKUP_COMPLETED({ payload: { node_id } }, { cache }) {
        // What was read for it counts as used; the look after it finds what nobody has held since.
        if (node_id === nodeId) cache.lookedAt = null;
      },
      DATA_QUALITY_ALERT({ payload: { config_key, error_code, severity } }, { rows, now }) {
        if (error_code !== BOOKS_UNBALANCED) return;
        if (severity === "info") rows.delete(unbalanced, config_key);
        else rows.put(unbalanced, config_key, { until: now + limits.holdMs });
      },
    },
    loop: { everyMs: limits.lookMs, tick: look },
    health: ({ cache, rows }) => {
      const { isWell, message } = standing(space.measured(), cache.freed);
      const last = rows.get(cleanups, nodeId);
      const kept = rows.list(unbalanced).map(([configKey]) => configKey);
      const details = { disk: space.measured() ?? null, last: last ?? null, kept_for_their_books: kept };
      return { status: isWell ? "running" : "degraded", message, details };
    },
  });
};
