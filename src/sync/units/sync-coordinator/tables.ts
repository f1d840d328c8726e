import { defineTable, type Store } from "../../../router/index.ts";
import type { HostTrouble } from "./decide.ts";

/** Hosts whose transfers fail again and again, by node. Written by `sync_coordinator`. */
export const hostTroubles = defineTable<HostTrouble>("sync_host_troubles");

const TROUBLED = "SELECT key FROM state_rows WHERE table_name = ?";

/** The same, for whoever chooses from whom others fetch. */
export const troubledHosts = (store: Pick<Store, "read">): ReadonlySet<string> =>
  new Set(store.read<{ key: string }>(TROUBLED, hostTroubles.table).map(({ key }) => key));
