/** What the units of the pipeline work with, as a test gives it: what it does not say is there and does nothing. */
import type { Clock } from "../../../src/kernel/index.ts";
import { type PipelineServices, pipelineDefaults } from "../../../src/pipeline/index.ts";
import { createArtifactCatalog } from "../../../src/sync/index.ts";

type Given = Pick<PipelineServices, "queue" | "store"> & Partial<Omit<PipelineServices, "settings">>;

export const testServices = (
  { clock, ...given }: Given & { readonly clock: Clock },
  settings: Partial<PipelineServices["settings"]> = {},
): PipelineServices => ({
  catalog: createArtifactCatalog({ store: given.store, clock }),
  nodeId: "n1",
  workersFor: () => [],
  spread: { unfit: () => [], isOut: () => true },
  freeSlots: () => Number.POSITIVE_INFINITY,
  readArtifact: () => Promise.reject(new Error("this world holds no files")),
  verify: () => {},
  engine: { rate: () => Promise.reject(new Error("this world rates nobody")) },
  anchors: () => [],
  brought: { look: async () => ({ state: "away" }), note: () => undefined },
  desk: { wake: () => {} },
  handOver: { syncBatch: () => {}, distribute: () => {} },
  everyMs: 1_000,
  ...given,
  settings: { ...pipelineDefaults, ...settings },
});
