/** The rows of steering. */
import { defineTable } from "../../router/index.ts";

/** What was told last of a config's weight. Written by `curriculum_integration`, by config_key. */
export type Curriculum = {
  readonly weight: number;
  /** The weight before that. */
  readonly previous: number;
  /** What a person held it at when it was looked at last; null for nobody. */
  readonly held: number | null;
};
export const curricula = defineTable<Curriculum>("pipeline_curricula");
