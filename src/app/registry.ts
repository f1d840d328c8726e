import {
  createRegistry,
  type HttpSurfacePort,
  httpServerDaemon,
  type OwnUnitsPorts,
  ownExcuses,
  ownParts,
  ownUnits,
  type Registry,
} from "../daemons/index.ts";
import { builtinRows, createCatalog } from "../events/index.ts";
import { type Clock, type Random, systemClock, systemRandom } from "../kernel/index.ts";

export interface LivePorts extends OwnUnitsPorts {
  readonly surface?: HttpSurfacePort;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** For whoever only reads the declarations: a process that serves nobody has no doors. */
const noSurface: HttpSurfacePort = { check: async () => [], reopen: async () => {}, sample() {} };

/** Every unit and part that exists, wired. A subscription that nobody feeds does not compile here. */
export const liveRegistry = ({ surface = noSurface, clock, random, ...ports }: LivePorts): Registry =>
  createRegistry({
    catalog: createCatalog(builtinRows),
    units: [
      ...ownUnits(ports),
      httpServerDaemon({ surface, clock: clock ?? systemClock(), random: random ?? systemRandom() }),
    ],
    parts: ownParts,
    ingress: [],
    excused: {
      ...ownExcuses,
      deadSubscriptions: {
        METRICS_UPDATED: "emitted by resource_monitor and metrics_orchestrator, which come with their stages",
      },
    },
  }) as unknown as Registry;
