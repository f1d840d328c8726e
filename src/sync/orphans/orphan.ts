import { defineTable, type Store } from "../../router/index.ts";
import type { OrphanRule } from "../states.ts";

/** A file of games on this node that no manifest knows. Times are milliseconds since the epoch. */
export type Orphan = {
  readonly sha256: string;
  /** The folder that it was found in, and its path within. */
  readonly folder: string;
  readonly name: string;
  readonly bytes: number;
  readonly config_key: string | null;
  readonly games: number;
  readonly rule: OrphanRule;
  readonly why: string;
  readonly at: number;
  /** It was moved aside. */
  readonly aside: boolean;
};

/** An orphan of any node, as the coordinator knows it. Times are milliseconds since the epoch. */
export type Rescue = {
  readonly node_id: string;
  readonly sha256: string;
  readonly place: string;
  readonly bytes: number;
  readonly config_key: string | null;
  readonly games: number;
  readonly rule: OrphanRule;
  /** Waiting until its bytes are here and were looked at; told is what only a person can deal with. */
  readonly state: "told" | "waiting" | "registered" | "refused";
  readonly why: string;
  readonly since: number;
  readonly ended_at: number | null;
};
/** By node and hash. Written by `pipeline_orchestrator`. */
export const rescues = defineTable<Rescue>("sync_rescues");

/** Every orphan that a node has told of, the newest first. */
export const rescuesIn = (store: Pick<Store, "read">): Rescue[] =>
  store
    .read<{ value: string }>("SELECT value FROM state_rows WHERE table_name = ?", rescues.table)
    .map(({ value }) => JSON.parse(value) as Rescue)
    .sort((a, b) => b.since - a.since || (a.sha256 < b.sha256 ? -1 : 1));

/** By its hash. Written by `orphan_detection_daemon` of this node; what stands here the sweep does not take. */
export const orphans = defineTable<Orphan>("sync_orphans");
