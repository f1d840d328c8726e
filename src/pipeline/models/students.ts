import { defineTable } from "../../router/index.ts";
import type { Student } from "./registry.ts";

/** The newest model of each kind that was made of a champion, for the registry to enter. By config_key; written by `derived_training`. */
export const students = defineTable<{ readonly [kind: string]: Student }>("pipeline_students");
