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

export interface LivePorts extends Omit<OwnUnitsPorts, "leaderUnits"> {
  readonly surface?: HttpSurfacePort;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** For whoever only reads the declarations: a process that serves nobody has no doors. */
const noSurface: HttpSurfacePort = { check: async () => [], reopen: async () => {}, sample() {} };

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = ({ surface = noSurface, clock, random, ...ports }: LivePorts): Registry => {
  const leaderUnits = () =>
    new Set(registry.units.filter(({ placement }) => placement === "leader").map(({ name }) => name));
  const registry: Registry = createRegistry({
    catalog: createCatalog(builtinRows),
    units: [
      ...ownUnits({ ...ports, leaderUnits }),
      httpServerDaemon({ surface, clock: clock ?? systemClock(), random: random ?? systemRandom() }),
    ],
    parts: ownParts,
    ingress: [],
    excused: {
      ...ownExcuses,
      deadSubscriptions: {
        ...ownExcuses.deadSubscriptions,
        METRICS_UPDATED: "emitted by resource_monitor and metrics_orchestrator, which come with their stages",
      },
    },
  }) as unknown as Registry;
  return registry;
};

/** Units of the user's own stand beside ours, and are audited with them. */
export const withOwnUnits = (registry: Registry, own: readonly Unit[]): Registry => ({
  ...registry,
  units: [...registry.units, ...own],
});
