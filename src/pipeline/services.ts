import type { Brought, Distribution, SyncBatch } from "../sync/index.ts";
import type { EvaluationServices } from "./evaluation/index.ts";

/** What the store of artifacts does for the loop. Both may be asked again and again: what is done is done. */
export interface HandOver {
  /** Verifies and registers the files of a batch; tells it by DATA_SYNC_*. */
  syncBatch(batch: SyncBatch): void;
  /** Makes a model available to whoever plays; tells it by MODEL_DISTRIBUTION_*. */
  distribute(model: Distribution): void;
}

/** What the units of the pipeline work with: one value, which each of them takes whole. */
export interface PipelineServices extends EvaluationServices {
  readonly handOver: HandOver;
  /** Files that came by no job of ours. */
  readonly brought: Brought;
  /** Where nodes are told to ask for their orders soon. */
  readonly desk: { readonly wake: (nodeId: string) => void };
}
