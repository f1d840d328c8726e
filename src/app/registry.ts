import { type FleetServices, fleetUnits } from "../cluster/fleet/index.ts";
import { type ClusterServices, clusterParts, clusterUnits, nodeSettings } from "../cluster/index.ts";
import {
  coordinatorsAmong,
  createRegistry,
  type DaemonsServices,
  daemonsParts,
  daemonsUnits,
  type Registry,
  type Unit,
} from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";
import { settingDefaults } from "../kernel/settings/index.ts";
import { type PipelineServices, pipelineParts, pipelineUnits } from "../pipeline/index.ts";
import { artifactStorePart, type SyncUnitServices, syncFacadePart, syncUnits } from "../sync/index.ts";
import { type WorkServices, workerPart, workSettings, workStorePart, workUnits } from "../work/index.ts";
import { onlyDeclared } from "./only-declared.ts";

/** What the units of each room work with. */
export interface Services {
  readonly daemons: DaemonsServices;
  readonly cluster: ClusterServices;
  readonly fleet: FleetServices;
  readonly work: Pick<WorkServices, "queue" | "settings">;
  readonly sync: SyncUnitServices;
  readonly pipeline: PipelineServices;
}

/** Rules of the user may watch for what nobody says yet; that is theirs to decide. */
const watchedByUser = (registry: Registry, cluster: ClusterServices): Record<string, string> => {
  const said = new Set([...registry.units, ...registry.parts].flatMap(({ emits }) => emits));
  const watched = cluster.absence.filter(({ event }) => !said.has(event));
  return Object.fromEntries(watched.map(({ event, name }) => [event, `the rule '${name}' watches for it`]));
};

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = ({ daemons, cluster, fleet, work, sync, pipeline }: Services): Registry => {
  const leaderUnits = () =>
    new Set(registry.units.filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const registry: Registry = createRegistry({
    catalog: createCatalog(builtinRows),
    units: [
      ...daemonsUnits(daemons, leaderUnits),
      ...clusterUnits(cluster),
      ...fleetUnits(fleet),
      ...workUnits(work),
      ...syncUnits(sync),
      ...pipelineUnits(pipeline),
    ],
    parts: [
      ...daemonsParts,
      ...clusterParts,
      workStorePart,
      workerPart,
      artifactStorePart,
      syncFacadePart,
      ...pipelineParts,
    ],
    ingress: [],
  }) as unknown as Registry;
  return { ...registry, excused: { deadSubscriptions: watchedByUser(registry, cluster) } };
};

/** Services that fail when they are used, for units that are looked at and not run. They give what a declaration needs. */
export const declaredServices = (): Parameters<typeof liveRegistry>[0] => ({
  daemons: onlyDeclared({ chores: [] }),
  cluster: onlyDeclared({
    ...{ sinks: [], absence: [], leadership: undefined },
    settings: onlyDeclared({ nodes: settingDefaults(nodeSettings) }),
  }),
  fleet: onlyDeclared({}),
  work: onlyDeclared({ settings: settingDefaults(workSettings) }),
  sync: onlyDeclared({}),
  pipeline: onlyDeclared({ everyMs: undefined }),
});

/** The same for whoever only reads the wiring; a unit of it that is run fails. */
export const declaredRegistry = (): Registry => liveRegistry(declaredServices());

/** The coordinators of the Python system that are brought up, layer by layer. */
export const COORDINATOR_REGISTRY = coordinatorsAmong(declaredRegistry().units);

/** Units of the user's own stand beside ours, and are audited with them. */
export const withOwnUnits = (registry: Registry, own: readonly Unit[]): Registry => ({
  ...registry,
  units: [...registry.units, ...own],
});
