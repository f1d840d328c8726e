import type { Rows } from "../../../events/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import type { Coordination } from "../../bootstrap.ts";
import type { BootstrapOptions } from "../../bootstrap-options.ts";
import type { Settings } from "../../settings.ts";
import type { LocalWorker } from "../../worker/local-worker.ts";
import type { LogStream } from "./log-stream.ts";
import type { Sample } from "./up-view.ts";

type Main = Coordination<Rows>;

/** What somebody who runs more than the main process adds to it. */
export interface MainGuest {
  /** Once it is ready; of several coordinators whenever it begins to lead. */
  arrived?(main: Main, worker: LocalWorker | undefined): void | Promise<void>;
  /** The live lines in place of the usual ones. */
  lines?(main: Main, sample: Sample): string[];
  /** Every second; returns true when it is time to end. */
  look?(main: Main, sample: Sample): boolean;
  /** Every second while another coordinator leads; returns true when it is time to end. */
  wait?(): boolean;
  /** Before anything ends: the last look at what is. */
  leaving?(main: Main): void | Promise<void>;
  /** After all has ended in order; throws where the exit code shall say that something was not well. */
  left?(): void;
}

export type Start = (
  options: Pick<BootstrapOptions, "telemetry" | "term"> & { settings: Settings; clock: Clock; logStream?: LogStream },
) => Promise<Main>;
