// Mutant: the part no longer emits what the unit hears.
import { createRegistry } from "../../../src/daemons/unit/registry.ts";
import { defineCoordinator, definePart } from "../../../src/daemons/unit/shape.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";

const watcher = defineCoordinator({
  name: "watcher",
  layer: 1,
  placement: "leader",
  emits: ["HOST_OFFLINE"],
  on: {
    MODEL_PROMOTED(_event, { emit }) {
      emit.HOST_OFFLINE({ node_id: "gpu-7", reason: "silent" });
    },
  },
});
const promoter = definePart({ name: "promoter", emits: [] });

export const registry = createRegistry({
  catalog: createCatalog(builtinRows),
  units: [watcher],
  parts: [promoter],
  ingress: [],
});
