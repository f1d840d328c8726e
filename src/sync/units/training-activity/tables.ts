import { defineTable } from "../../../router/index.ts";
import type { Freshness } from "./decide.ts";

/** Whether a node that trains has the data of a config. By config_key; written by `training_activity`, no row is fresh. */
export const freshness = defineTable<Freshness>("sync_freshness");
