/** The disk under a data folder: what was measured of it, and what can be freed there. */
import { defineTable, type Store } from "../router/index.ts";

export type DiskLevel = "none" | "high" | "critical";

/** What `resource_monitor` measured last. */
export interface DiskMeasure {
  readonly level: DiskLevel;
  /** Share in use. */
  readonly usage: number;
  readonly freeBytes: number;
  /** When it is full at the rate of now; null where nothing can be said. */
  readonly fullInMs: number | null;
}

/** How thoroughly files are freed: how long each sort stays that nobody holds. */
export interface Cleaning {
  readonly level: DiskLevel;
  readonly graceMs: number;
  readonly strayGraceMs: number;
  readonly quarantineMs: number;
  /** Configs of which nothing goes for now. */
  readonly exceptConfigs: readonly string[];
}

/** What went. */
export interface Cleaned {
  readonly sha256s: readonly string[];
  readonly bytes: number;
  readonly fromQuarantine: number;
}

/** What frees the files of a node. */
export interface DiskSpace {
  /** Undefined before the first measurement. */
  measured(): DiskMeasure | undefined;
  clean(how: Cleaning, signal: AbortSignal): Promise<Cleaned>;
  /** Begins a new log file if this one is full, and lets the oldest go. True if it did. */
  tidyLogs(): boolean;
}

/** What was freed on a node: the last time that anything was, and since the beginning. Times are milliseconds since the epoch. */
export type Cleanup = {
  readonly at: number;
  readonly reason: string;
  readonly bytes: number;
  readonly files: number;
  readonly all_bytes: number;
  readonly all_files: number;
};
/** By node. Written by `disk_space_manager`. */
export const cleanups = defineTable<Cleanup>("sync_cleanups");

/** The disk as people see it. */
export interface DiskView {
  readonly measured: DiskMeasure | undefined;
  readonly last: Cleanup | undefined;
}

/** What was freed last on a node; undefined if nothing ever was. */
export function lastCleanup(store: Pick<Store, "read">, nodeId: string): Cleanup | undefined {
  const [row] = store.read<{ value: string }>(
    "SELECT value FROM state_rows WHERE table_name = ? AND key = ?",
    cleanups.table,
    nodeId,
  );
  return row && (JSON.parse(row.value) as Cleanup);
}
