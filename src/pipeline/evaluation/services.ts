import type { StageServices } from "../stage/index.ts";
import type { RatingEngine } from "./rating-engine.ts";

export interface EvaluationServices extends StageServices {
  /** Where ratings are computed. */
  readonly engine: Pick<RatingEngine, "rate">;
  /** Baselines that the workload of a config can play by name, weakest first; the middle one is the zero of the ladder. */
  anchors(configKey: string): readonly string[];
  /** Whether a config is of somebody's own program, of whose models only use can tell whether they are any; none is unless said. */
  isOfOthers?(configKey: string): boolean;
  /** Nodes from which a model can be fetched; without it every model counts as there. */
  holders?(sha256: string): number | Promise<number>;
}
