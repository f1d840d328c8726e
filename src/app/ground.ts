/** The first phase of a start: the data folder with its lock, its log and its database, and the router over them. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { threadedStore } from "../adapters/sqlite/threaded-store.ts";
import { createUses, type UsesRecorder } from "../daemons/index.ts";
import { builtinRows, createCatalog, type Rows } from "../events/index.ts";
import {
  createLog,
  DISK_CLOSED,
  defined,
  type Edges,
  type LogFile,
  logPathOf,
  type Moment,
  makeFolders,
  momentOf,
  OperatingError,
  openLogFile,
  systemClock,
  systemRandom,
  translateDiskFault,
} from "../kernel/index.ts";
import { EventRouter, type Store } from "../router/index.ts";
import { createMetrics, measuredStore } from "../surfaces/index.ts";
import type { BootstrapOptions } from "./bootstrap-options.ts";
import { guardDataDir } from "./data-folder/folder-lock.ts";
import { lostJournal } from "./data-folder/lost-journal.ts";
import { makePrivateFile } from "./data-folder/private-file.ts";
import { watchStore } from "./data-folder/watch-store.ts";
import type { Settings } from "./settings.ts";
import { readVersion } from "./version.ts";

export const DATABASE_FILE = "coordination.db";

/** What everything in the process stands on. */
export interface Ground<R extends Rows = Record<never, never>> extends Edges {
  readonly settings: Settings;
  /** Its own log file, unless whoever starts it has a log. */
  readonly logFile: LogFile | undefined;
  /** Log lines go to a stream that was chosen, not to standard error as JSON. */
  readonly speaksInSentences: boolean;
  readonly databasePath: string;
  readonly store: Store;
  /** What units are seen to read and to change, for the audit. */
  readonly uses: UsesRecorder;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly router: EventRouter<typeof builtinRows & R>;
  readonly version: string;
  readonly started: Moment;
  readonly broken: Promise<OperatingError>;
}

function makeDataDir(dataDir: string): void {
  try {
    makeFolders(dataDir);
    // Asked for by its name here: what fails later in it would only speak of some file.
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    throw translateDiskFault(thrown, DISK_CLOSED);
  }
}

/** Takes the folder; who else wants it is refused. What it opens is closed by `undo`. */
export function openFolder<R extends Rows>(
  options: BootstrapOptions<R>,
  undo: AsyncDisposableStack,
): Pick<Ground, "log" | "logFile"> {
  const { settings, term } = options;
  if (term !== undefined) return { log: term.log, logFile: term.logFile };
  if (settings.p2p.raftEnabled)
    throw OperatingError.conflict("IS_A_MEMBER", "this coordinator is one of several, and does not lead by itself", {
      hint: "Start it with 'ringrift up', or unset RINGRIFT_RAFT_ENABLED.",
    });
  return takeFolder(options, undo);
}

/** The same for whoever holds the folder longer than one coordination lasts. */
export function takeFolder<R extends Rows>(
  options: Pick<BootstrapOptions<R>, "settings" | "log" | "logStream">,
  undo: AsyncDisposableStack,
): Pick<Ground, "log" | "logFile"> {
  const { settings } = options;
  makeDataDir(settings.dataDir);
  const guard = guardDataDir(settings.dataDir);
  undo.defer(() => guard.release());
  const logFile =
    options.log === undefined ? openLogFile({ path: logPathOf(settings.dataDir), ...settings.logFile }) : undefined;
  undo.defer(() => logFile?.close());
  const log = options.log ?? createLog(settings.logLevel, defined({ file: logFile, stream: options.logStream }));
  for (const notice of settings.notices) log.warn(notice);
  return { log, logFile };
}

export async function openStore<R extends Rows>(
  options: BootstrapOptions<R>,
  { log, logFile }: Pick<Ground, "log" | "logFile">,
  status: Parameters<typeof createMetrics>[1],
  undo: AsyncDisposableStack,
): Promise<Ground<R>> {
  const { settings, clock = systemClock(), random = systemRandom() } = options;
  const lost = lostJournal(settings.dataDir);
  if (lost !== undefined) throw lost;
  const databasePath = makePrivateFile(join(settings.dataDir, DATABASE_FILE));
  const bare =
    options.term?.store ??
    (await threadedStore({
      path: databasePath,
      modulesUrl: new URL(`./store-modules.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url).href,
      clock,
    }));
  undo.defer(() => bare.close());
  const metrics = createMetrics(clock, status);
  undo.defer(() => metrics.stop());
  const uses = createUses(() => clock.now());
  const store = uses.tap(measuredStore(options.wrapStore?.(bare) ?? bare, clock, metrics));
  const broken = watchStore(store, log);
  const telemetry = await options.telemetry?.(log);
  if (telemetry !== undefined) undo.defer(() => telemetry.close());
  const router = new EventRouter<typeof builtinRows & R>({
    catalog: createCatalog({ ...builtinRows, ...(options.events ?? ({} as R)) }) as never,
    store,
    clock,
    random,
    log,
    nodeId: settings.nodeId,
    settings: settings.router,
    ...defined({ spanIds: telemetry?.spanIds }),
  });
  const [version, started] = [readVersion(), momentOf(clock)];
  const place = { databasePath, store, uses, metrics, router, version, started, broken };
  const speaksInSentences = options.logStream !== undefined;
  return { settings, clock, random, log, logFile, speaksInSentences, ...place };
}
