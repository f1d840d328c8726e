/**
 * A main process that is one of several coordinators: it stands by, and whenever it wins a term it brings up a whole coordination over the
 * shared log, and ends all of it with the term. Folder, lock, log file and address stay its own throughout.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createSnapshots } from "../../adapters/sqlite/replica/snapshots.ts";
import { leaseTimingOf } from "../../cluster/leadership/index.ts";
import type { Rows } from "../../events/index.ts";
import {
  type Clock,
  defined,
  isOperatingError,
  type Log,
  messageOf,
  OperatingError,
  type Random,
  systemRandom,
} from "../../kernel/index.ts";
import type { Coordination } from "../bootstrap.ts";
import type { BootstrapOptions, TermGround } from "../bootstrap-options.ts";
import { DATABASE_FILE, takeFolder } from "../ground.ts";
import type { Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { logOptionsOf } from "./log-options.ts";
import { type LedTerm, type Member, startMember } from "./member.ts";
import { openStandby, type Standby } from "./standby.ts";
import { openStandbyFiles, type StandbyFiles } from "./standby-files.ts";

type Main = Coordination<Rows>;

export interface CoordinatorOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logStream?: BootstrapOptions["logStream"];
  /** Brings up what leads. */
  readonly start: (given: { readonly settings: Settings; readonly term: TermGround }) => Promise<Main>;
  /** A coordination of this process leads; what it gives is awaited before that is ended. */
  readonly onLead?: (main: Main, term: number) => Promise<() => Promise<void>>;
}

export interface Coordinator {
  readonly log: Log;
  readonly port: number;
  readonly socketPath: string;
  view: Member["view"];
  /** The coordination that leads here, if one does. */
  readonly main: Main | undefined;
  /** Resolves if this process cannot go on. */
  readonly broken: Promise<OperatingError>;
  /** Resolves once the process was told through the API to stop. */
  readonly stopRequested: Promise<{ readonly reason: string; readonly actor: string }>;
  shutdown(): Promise<void>;
}

const notAMember = (dataDir: string) =>
  OperatingError.conflict("NOT_A_MEMBER", `the data folder ${dataDir} belongs to no cluster of coordinators`, {
    hint: "Run 'ringrift cluster init' on the first machine, or 'ringrift cluster join <url>' on the others.",
  });

export async function startCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { settings, clock, random = systemRandom(), start, onLead = async () => async () => {} } = options;
  const databasePath = join(settings.dataDir, DATABASE_FILE);
  const timing = leaseTimingOf(settings.coordinators.leaseMs);
  if (!existsSync(databasePath)) throw notAMember(settings.dataDir);
  const undo = new AsyncDisposableStack();
  const stop = Promise.withResolvers<{ readonly reason: string; readonly actor: string }>();
  const failed = Promise.withResolvers<OperatingError>();
  let member: Member | undefined;
  let standby: Standby | undefined;
  let main: Main | undefined;
  let kept: StandbyFiles | undefined;
  try {
    const { log, logFile } = takeFolder({ settings, ...defined({ logStream: options.logStream }) }, undo);
    const doors = (port: number) =>
      openStandby({
        ...{ settings, port, databasePath, clock, random, log },
        view: () => member?.view(),
        shutdown: (reason, actor) => stop.resolve({ reason, actor }),
        files: () => kept?.files,
      });
    const keep = () => {
      kept = openStandbyFiles({ settings, databasePath, clock, log, view: () => member?.view() });
    };
    const letGo = async () => {
      const before = kept;
      kept = undefined;
      await before?.close();
    };
    undo.defer(letGo);
    standby = await doors(settings.port);
    undo.defer(() => standby?.close());
    const { port, socketPath } = standby;
    const { url, fingerprint } = standby.address();
    const snapshots = createSnapshots(databasePath, join(settings.dataDir, "snapshot.db"));
    undo.defer(() => snapshots.close());

    /** The doors of whoever stands by are shut before those of the leader open, and the other way round. */
    const lead = async ({ term, store, over }: LedTerm): Promise<() => Promise<void>> => {
      // Those who lead look after the same files by themselves.
      await letGo();
      await standby?.close();
      standby = undefined;
      const ended = { isOver: false };
      void over.then(() => {
        ended.isOver = true;
      });
      const end = async () => {
        const led = main;
        main = undefined;
        await led
          ?.shutdown()
          .catch((thrown: unknown) => log.warn("what led here did not end in order", { error: messageOf(thrown) }));
        await store.close();
        try {
          standby = await doors(port);
          keep();
        } catch (thrown) {
          // Nobody could ask it anything any more: whoever supervises this process starts it again.
          failed.resolve(
            isOperatingError(thrown) ? thrown : OperatingError.internal("CANNOT_LISTEN", messageOf(thrown)),
          );
        }
      };
      const cluster = {
        view: () => member!.view(),
        isTrusted: () => member!.isTrusted(),
        trustedForMs: () => member!.trustedForMs(),
        timing,
        stepDown: (to: string | undefined, reason: string) => member!.stepDown(to, reason),
        verify: () => member!.verify(),
        snapshot: () => snapshots.take(),
        forget: (upTo: number) => member!.forget(upTo),
      };
      try {
        main = await start({ settings: { ...settings, port }, term: { number: term, store, log, logFile, cluster } });
        void main.stopRequested.then(stop.resolve);
        const leave = await onLead(main, term);
        return async () => {
          await leave();
          await end();
        };
      } catch (thrown) {
        await end();
        // A term that was over before all was up is no fault of this process.
        if (ended.isOver) return async () => {};
        throw thrown;
      }
    };
    member = await startMember({
      ...{ path: databasePath, name: settings.nodeId, version: readVersion(), clock, logLines: log, lead },
      isPreferred: settings.coordinators.preferred,
      timing,
      log: logOptionsOf(settings),
      address: { url, fingerprint },
    });
    const joined = member;
    if (standby !== undefined) keep();
    undo.defer(() => joined.stop());
    void joined.broken.then(failed.resolve);
    let stopping: Promise<void> | undefined;
    return {
      log,
      port,
      socketPath,
      view: joined.view,
      get main() {
        return main;
      },
      broken: failed.promise,
      stopRequested: stop.promise,
      shutdown: () => (stopping ??= undo.disposeAsync()),
    };
  } catch (thrown) {
    await undo.disposeAsync();
    throw thrown;
  }
}
