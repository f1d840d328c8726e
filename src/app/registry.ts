import { type ClusterPorts, clusterExcuses, clusterUnits, type NodeBook } from "../cluster/index.ts";
import {
  createRegistry,
  type HttpSurfacePort,
  httpServerDaemon,
  type OwnUnitsPorts,
  ownExcuses,
  ownParts,
  ownUnits,
  type Registry,
  type Unit,
} from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";
import { type Clock, type Random, systemClock, systemRandom } from "../kernel/index.ts";
import { type PipelinePorts, pipelineExcuses, pipelineParts, pipelineUnits } from "../pipeline/index.ts";
import { artifactStorePart } from "../sync/index.ts";
import { type PressurePolicy, type WorkQueue, workExcuses, workStorePart, workUnits } from "../work/index.ts";

export interface LivePorts extends Omit<OwnUnitsPorts, "leaderUnits"> {
  readonly clock?: Clock;
  readonly random?: Random;
  /** These are left out where the wiring is only looked at. */
  readonly surface?: HttpSurfacePort;
  readonly cluster?: ClusterPorts;
  readonly queue?: WorkQueue;
  readonly loop?: PipelinePorts;
  /** From where on the queue presses producers. */
  readonly pressure?: PressurePolicy;
}

/** For whoever only reads the declarations: a process that serves nobody has no doors. */
const noSurface: HttpSurfacePort = { check: async () => [], reopen: async () => {}, sample() {} };

/** For declarations that are never run. */
const unusedClusterPorts = ({ store }: Pick<LivePorts, "store">, clock: Clock, random: Random): ClusterPorts => ({
  nodeId: "none",
  store,
  clock,
  random,
  resources: {
    sampler: { sample: () => Promise.reject(new Error("these units are declarations only")), close() {} },
  },
  health: { work: () => [] },
  nodes: { book: {} as NodeBook, refusals: { news: () => [] }, clusterId: "none" },
  alerts: { sinks: [] },
});

/** The units only keep them for when they run. */
const noQueue = {} as WorkQueue;
const noLoop = {} as PipelinePorts;

/** Rules of the user may watch for what nobody says yet; that is theirs to decide. */
const watchedByUser = (registry: Registry, cluster: ClusterPorts): Record<string, string> => {
  const said = new Set([...registry.units, ...registry.parts].flatMap(({ emits }) => emits));
  const watched = (cluster.alerts.absence ?? []).filter(({ event }) => !said.has(event));
  return Object.fromEntries(watched.map(({ event, name }) => [event, `the rule '${name}' watches for it`]));
};

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = (ports: LivePorts): Registry => {
  const {
    surface = noSurface,
    queue = noQueue,
    pressure,
    clock = systemClock(),
    random = systemRandom(),
    ...own
  } = ports;
  const cluster = ports.cluster ?? unusedClusterPorts(ports, clock, random);
  const leaderUnits = () =>
    new Set(registry.units.filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const registry: Registry = createRegistry({
    catalog: createCatalog(builtinRows),
    units: [
      ...ownUnits({ ...own, leaderUnits }),
      ...clusterUnits(cluster),
      ...workUnits({ queue, ...(pressure === undefined ? {} : { pressure }) }),
      ...pipelineUnits(ports.loop ?? noLoop),
      httpServerDaemon({ surface, clock, random }),
    ],
    parts: [...ownParts, workStorePart, artifactStorePart, ...pipelineParts],
    ingress: [],
    excused: {
      orphans: { ...clusterExcuses.orphans, ...workExcuses.orphans, ...pipelineExcuses.orphans },
      deadSubscriptions: {
        ...ownExcuses.deadSubscriptions,
        ...clusterExcuses.deadSubscriptions,
        ...workExcuses.deadSubscriptions,
        ...pipelineExcuses.deadSubscriptions,
      },
    },
  }) as unknown as Registry;
  const { deadSubscriptions } = registry.excused;
  const more = { ...watchedByUser(registry, cluster), ...deadSubscriptions };
  return { ...registry, excused: { ...registry.excused, deadSubscriptions: more } };
};

/** Units of the user's own stand beside ours, and are audited with them. */
export const withOwnUnits = (registry: Registry, own: readonly Unit[]): Registry => ({
  ...registry,
  units: [...registry.units, ...own],
});
