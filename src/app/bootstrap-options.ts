import type { ClusterPort } from "../cluster/index.ts";
import type { Unit } from "../daemons/index.ts";
import type { Rows } from "../events/index.ts";
import type { Clock, Log, LogFile, LogPlaces, Random } from "../kernel/index.ts";
import type { Store } from "../router/index.ts";
import type { ScrubPace } from "../sync/index.ts";
import type { FeatureSwitches } from "./bootstrap-status.ts";
import type { WantedPlan } from "./pipeline/plans.ts";
import type { Settings } from "./settings.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

/** A term that this process leads, where it is one of several coordinators. The folder and its log outlive it. */
export interface TermGround {
  readonly number: number;
  /** Its commits go through the shared log. It is closed by whoever it is given to. */
  readonly store: Store;
  readonly log: Log;
  readonly logFile: LogFile | undefined;
  /** The cluster, as it is seen here. */
  readonly cluster: ClusterPort;
}

export interface BootstrapOptions<R extends Rows = Record<never, never>> {
  readonly settings: Settings;
  /** Events of your own, from `defineEvents`. */
  readonly events?: R;
  /** Units of your own; they run in every profile. */
  readonly units?: readonly Unit[];
  /** Which units run here, by what the process is for; the setting unless said. */
  readonly profile?: string;
  /** Features to leave out, `{ health: false }`; they can be switched on later by `complete`. */
  readonly enable?: FeatureSwitches;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Where log lines go besides the log file; standard error unless given. */
  readonly logStream?: LogPlaces["stream"];
  /** Starts what sends spans away, for the program; who embeds this registers an SDK of its own. */
  readonly telemetry?: (log: Log) => Promise<Telemetry | undefined>;
  /** What shall be learned here. */
  readonly plans?: readonly WantedPlan[];
  /** How often files are looked at in the background; once a day unless said. */
  readonly scrub?: ScrubPace;
  /** Stands between a unit and its events; for tests that lose or repeat them. */
  readonly wrapUnit?: (unit: Unit) => Unit;
  /** Stands between the router and the store; for tests that cut the line. */
  readonly wrapStore?: (store: Store) => Store;
  /** The term that it leads; one coordinator by itself needs none. */
  readonly term?: TermGround;
}
