import { type ClusterPorts, clusterExcuses, clusterUnits } from "../cluster/index.ts";
import { createRegistry, type OwnUnitsPorts, ownExcuses, ownParts, ownUnits, type Registry } from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";
import { systemClock, systemRandom } from "../kernel/index.ts";

export interface LivePorts extends OwnUnitsPorts {
  /** Left out where the wiring is only looked at. */
  readonly cluster?: ClusterPorts;
}

/** For declarations that are never run. */
const unusedClusterPorts = ({ store }: OwnUnitsPorts): ClusterPorts => ({
  nodeId: "none",
  store,
  clock: systemClock(),
  random: systemRandom(),
  resources: {
    sampler: { sample: () => Promise.reject(new Error("these units are declarations only")), close() {} },
  },
  health: { work: () => [] },
  alerts: { sinks: [] },
});

/** Rules of the user may watch for what nobody says yet; that is theirs to decide. */
const watchedByUser = (registry: Registry, cluster: ClusterPorts): Record<string, string> => {
  const said = new Set([...registry.units, ...registry.parts].flatMap(({ emits }) => emits));
  const watched = (cluster.alerts.absence ?? []).filter(({ event }) => !said.has(event));
  return Object.fromEntries(watched.map(({ event, name }) => [event, `the rule '${name}' watches for it`]));
};

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = ({ cluster: given, ...own }: LivePorts): Registry => {
  const cluster = given ?? unusedClusterPorts(own);
  const registry = createRegistry({
    catalog: createCatalog(builtinRows),
    units: [...ownUnits(own), ...clusterUnits(cluster)],
    parts: ownParts,
    ingress: [],
    excused: {
      orphans: { ...ownExcuses.orphans, ...clusterExcuses.orphans },
      deadSubscriptions: clusterExcuses.deadSubscriptions,
    },
  }) as unknown as Registry;
  const { deadSubscriptions } = registry.excused;
  const more = { ...watchedByUser(registry, cluster), ...deadSubscriptions };
  return { ...registry, excused: { ...registry.excused, deadSubscriptions: more } };
};
