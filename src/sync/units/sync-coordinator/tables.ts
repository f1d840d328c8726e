import { defineTable } from "../../../router/index.ts";
import type { HostTrouble } from "./decide.ts";

/** Hosts whose transfers fail again and again, by node. Written by `sync_coordinator`. */
export const hostTroubles = defineTable<HostTrouble>("sync_host_troubles");
