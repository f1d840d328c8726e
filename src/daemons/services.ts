import type { Clock, LogFile, Random } from "../kernel/index.ts";
import type { EventRouter, Store } from "../router/index.ts";
import type { MaintenanceLimits } from "./limits.ts";
import type { MainLoopWatch } from "./main-loop/main-loop-watch.ts";
import type { DaemonManager } from "./supervisor/daemon-manager.ts";
import type { HttpSurfacePort } from "./units/http-server/http-surface.port.ts";
import type { Chore } from "./units/maintenance/chore.ts";
import type { DatabaseCare } from "./units/maintenance/database-care.port.ts";

/** What the units of this room work with, as one value that `app` builds. What is left out is work that is not done. */
export interface DaemonsServices {
  readonly router: Pick<EventRouter, "flushMarks" | "consumerLag" | "deadLetters" | "nodeId"> & {
    readonly settings: Pick<
      EventRouter["settings"],
      "retentionSeconds" | "retentionBytes" | "consumerExpirySeconds" | "dedupWindowSeconds"
    >;
  };
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** The one supervisor of this process; without it cluster events pause nothing. */
  readonly supervisor?: Pick<DaemonManager, "pause" | "resume" | "holds">;
  /** From `watchMainLoop`; without it the main loop is not being watched. */
  readonly mainLoop?: Pick<MainLoopWatch, "reports" | "noted" | "blocks" | "fault" | "loopDelay">;
  /** The database file behind the store; without it nobody checks it. */
  readonly database?: DatabaseCare;
  /** The log file of this process; without it there is none to rotate. */
  readonly logFile?: Pick<LogFile, "lost"> | undefined;
  /** What the rooms above have to be tidied. */
  readonly chores?: readonly Chore[];
  readonly maintenance?: Partial<MaintenanceLimits>;
  /** The API's doors, kept open by `http_server`. */
  readonly surface: HttpSurfacePort;
}
