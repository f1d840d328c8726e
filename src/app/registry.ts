import { type ClusterPorts, clusterExcuses, clusterUnits } from "../cluster/index.ts";
import { createRegistry, type OwnUnitsPorts, ownExcuses, ownParts, ownUnits, type Registry } from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";

export interface LivePorts extends OwnUnitsPorts {
  /** Left out where the wiring is only looked at. */
  readonly cluster?: ClusterPorts;
}

/** For declarations that are never run. */
const unusedClusterPorts: ClusterPorts = {
  nodeId: "none",
  resources: {
    sampler: { sample: () => Promise.reject(new Error("these units are declarations only")), close() {} },
  },
};

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = ({ cluster = unusedClusterPorts, ...own }: LivePorts): Registry =>
  createRegistry({
    catalog: createCatalog(builtinRows),
    units: [...ownUnits(own), ...clusterUnits(cluster)],
    parts: ownParts,
    ingress: [],
    excused: { orphans: { ...ownExcuses.orphans, ...clusterExcuses.orphans } },
  }) as unknown as Registry;
