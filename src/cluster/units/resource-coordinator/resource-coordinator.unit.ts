import { type ContextOf, defineCoordinator, type Wiring } from "../../../daemons/index.ts";
import { defineTable } from "../../../router/index.ts";
import type { ClusterSettings } from "../../settings.ts";

const wiring = {
  name: "resource_coordinator",
  layer: 1,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "resources",
  alsoKnownAs: ["ResourceMonitoringCoordinator", "CapacityCoordinator"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["CAPACITY_LOW", "CAPACITY_RESTORED"],
} as const satisfies Wiring;

/** Whether what the cluster has suffices, as it was emitted last. */
type Supply = { readonly gpus: number; readonly low: boolean };
const supplies = defineTable<Supply>("cluster_supply");
const WHOLE = "cluster";

/** Judges whether what the cluster has suffices. What it has is told by `cluster_monitor`, once it has lasted. */
export const resourceCoordinator = ({ settings }: { readonly settings: Pick<ClusterSettings, "nodes"> }) => {
  const { requiredGpus } = settings.nodes;

  const judge = (gpus: number, { rows, emit }: ContextOf<typeof wiring>) => {
    const before = rows.get(supplies, WHOLE);
    const low = gpus < requiredGpus;
    if (before?.gpus === gpus && before.low === low) return;
    rows.put(supplies, WHOLE, { gpus, low });
    const capacity = { scope: WHOLE, gpus, required_gpus: requiredGpus };
    if (low && before?.low !== true) emit.CAPACITY_LOW(capacity);
    if (!low && before?.low === true) emit.CAPACITY_RESTORED(capacity);
  };

  return defineCoordinator({
    ...wiring,
    state: { tables: { supplies } },
    on: {
      CLUSTER_CAPACITY_CHANGED: ({ payload: { total_gpus } }, context) => judge(total_gpus, context),
      // Every node speaks within seconds: after a start with another requirement nobody waits for a change.
      NODE_CAPACITY_UPDATED(_event, context) {
        const known = context.rows.get(supplies, WHOLE);
        if (known !== undefined) judge(known.gpus, context);
      },
    },
    health: ({ rows }) => {
      const now = rows.get(supplies, WHOLE);
      const details = { ...(now ?? {}), required_gpus: requiredGpus };
      return now?.low === true
        ? { status: "degraded", message: `${now.gpus} of ${requiredGpus} accelerators are there`, details }
        : { status: "running", message: "", details };
    },
  });
};
