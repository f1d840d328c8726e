import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteCare } from "../adapters/sqlite/care.ts";
import { threadedStore } from "../adapters/sqlite/threaded-store.ts";
import {
  type AuditReport,
  auditBaseline,
  auditWiring,
  createUnitRuntime,
  DaemonManager,
  type Registry,
  routerLedger,
  runtimeFacts,
  type Unit,
  type UnitRuntime,
  watchMainLoop,
  why,
  whyFacts,
} from "../daemons/index.ts";
import { builtinRows, createCatalog, type Rows } from "../events/index.ts";
import {
  type Clock,
  createLog,
  type Log,
  type LogPlaces,
  logPathOf,
  messageOf,
  type OperatingError,
  openLogFile,
  type Random,
  systemClock,
  systemRandom,
} from "../kernel/index.ts";
import { type LoopSnapshot, loopSnapshot } from "../pipeline/index.ts";
import { EventRouter, type Store } from "../router/index.ts";
import {
  createMetrics,
  ENDPOINT_FILE,
  type EndpointFile,
  measuredStore,
  type Phase,
  type Surface,
  statusOf,
} from "../surfaces/index.ts";
import type { BootstrapStatus, FeatureSwitches } from "./bootstrap-status.ts";
import { createBringUp } from "./bring-up.ts";
import { alertsPortOf, clusterPortsOf, judgedHealth, openAlertsOf, workOf } from "./cluster-ports.ts";
import { guardDataDir } from "./guard.ts";
import { createLoopConsole } from "./loop/loop-console.ts";
import { loopPartsOf, type ScrubPace } from "./loop/loop-ports.ts";
import { ensurePlans, plansFor, type WantedPlan } from "./loop/plans.ts";
import { whyConfigNamed } from "./loop/why-config.ts";
import { artifactStoreOf, nodePortsOf, nodesThatWork, ownCapabilities } from "./node-ports.ts";
import { ownFile } from "./own-file.ts";
import { profileOf } from "./profile.ts";
import { liveRegistry, withOwnUnits } from "./registry.ts";
import { serveControl } from "./serving.ts";
import type { Settings } from "./settings.ts";
import { readToken, writeWhole } from "./token.ts";
import { createUndo } from "./undo.ts";
import { readVersion } from "./version.ts";
import { watchStore } from "./watch-store.ts";
import { whySubject } from "./why-subjects.ts";
import { kindsOf, workPortsOf } from "./work-ports.ts";
import { workloadList } from "./worker/workload-list.ts";

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
  /** What shall be learned here. */
  readonly plans?: readonly WantedPlan[];
  /** How often files are looked at in the background; once a day unless said. */
  readonly scrub?: ScrubPace;
  /** Stands between a unit and its events; for tests that lose or repeat them. */
  readonly wrapUnit?: (unit: Unit) => Unit;
  /** Stands between the router and the store; for tests that cut the line. */
  readonly wrapStore?: (store: Store) => Store;
}

/** A running coordination: a value with a life, not a place in the module. Two of them may live in one process. */
export interface Coordination<R extends Rows> {
  readonly router: EventRouter<R>;
  readonly settings: Settings;
  readonly api: Pick<Surface, "socketPath" | "port" | "host" | "secure">;
  readonly units: UnitRuntime;
  /** The one supervisor of this process. */
  readonly daemons: DaemonManager;
  /** The closed loop, as it stands on disk. */
  loop(): LoopSnapshot;
  readonly startedAt: number;
  /** Resolves if the process cannot go on, whatever it tries; whoever runs it should end it, and start it again. */
  readonly broken: Promise<OperatingError>;
  status(): Record<string, unknown>;
  bootstrapStatus(): BootstrapStatus;
  /** Brings up what was left out or failed. What runs goes on. */
  complete(enable?: FeatureSwitches): Promise<BootstrapStatus>;
  /** The wiring, judged from the declarations and from what was seen here. */
  audit(): AuditReport;
  /** Resolves once the process was told through the API to stop, with who asked; it is on its way down by then. */
  readonly stopRequested: Promise<{ readonly reason: string; readonly actor: string }>;
  /** Ends all of it in reverse order. Doing it twice is doing it once. */
  shutdown(): Promise<void>;
}

/** `get_bootstrap_status` and `shutdown_coordination` of the Python system: here they are asked of a coordination. */
export const getBootstrapStatus = (coordination: Pick<Coordination<Rows>, "bootstrapStatus">): BootstrapStatus =>
  coordination.bootstrapStatus();
export const shutdownCoordination = (coordination: Pick<Coordination<Rows>, "shutdown">): Promise<void> =>
  coordination.shutdown();

/** Unix socket paths may have 107 bytes; a deep data folder gets its socket in the temporary folder instead. */
const socketPathFor = (dataDir: string): string => {
  const beside = join(dataDir, "ringrift.sock");
  return Buffer.byteLength(beside) < 100 ? beside : join(tmpdir(), `ringrift-${randomBytes(8).toString("hex")}.sock`);
};

const announce = (dataDir: string, endpoint: EndpointFile): void =>
  writeWhole(join(dataDir, ENDPOINT_FILE), `${JSON.stringify(endpoint)}\n`);

export async function bootstrapCoordination<R extends Rows = Record<never, never>>(
  options: BootstrapOptions<R>,
): Promise<Coordination<typeof builtinRows & R>> {
  const { settings } = options;
  const clock = options.clock ?? systemClock();
  const random = options.random ?? systemRandom();
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  const guard = guardDataDir(settings.dataDir);
  const undo = createUndo();
  undo.push(() => guard.release());
  const logFile =
    options.log === undefined ? openLogFile({ path: logPathOf(settings.dataDir), ...settings.logFile }) : undefined;
  undo.push(() => logFile?.close());
  const log =
    options.log ??
    createLog(settings.logLevel, {
      ...(logFile === undefined ? {} : { file: logFile }),
      ...(options.logStream === undefined ? {} : { stream: options.logStream }),
    });
  for (const notice of settings.notices) log.warn(notice);
  let phase: Phase = "starting";
  const shutdown = () => {
    phase = "stopping";
    return undo.run();
  };
  try {
    const path = ownFile(join(settings.dataDir, "coordination.db"));
    const bare = await threadedStore({
      path,
      modulesUrl: new URL(`./store-modules.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url).href,
      clock,
    });
    undo.push(() => bare.close());
    const metrics = createMetrics(clock, () => sources);
    undo.push(() => metrics.stop());
    const store = measuredStore(options.wrapStore?.(bare) ?? bare, clock, metrics);
    const broken = watchStore(store, log);
    const catalog = createCatalog({ ...builtinRows, ...(options.events ?? ({} as R)) });
    const router = new EventRouter<typeof builtinRows & R>({
      catalog: catalog as never,
      store,
      clock,
      random,
      log,
      nodeId: settings.nodeId,
      settings: settings.router,
    });
    const startedAt = clock.now();
    const version = readVersion();
    const inner = router as unknown as EventRouter;
    const { nodeId } = settings;
    const ledger = routerLedger(inner);
    const daemons = new DaemonManager({
      clock,
      random,
      log,
      nodeId,
      pid: process.pid,
      ledger,
      config: settings.daemons,
    });
    const mainLoop = watchMainLoop({
      clock,
      log,
      ...settings.watchdog,
      ...(logFile === undefined ? {} : { logFile: logPathOf(settings.dataDir) }),
    });
    undo.push(() => mainLoop.stop());
    const nodes = nodePortsOf({ settings, store, clock, log, version });
    const cluster = clusterPortsOf({
      settings,
      store,
      clock,
      random,
      log,
      catalog: catalog as never,
      nodes,
      work: () => workOf(registry, units),
    });
    undo.push(() => cluster.resources.sampler.close());
    const alerts = alertsPortOf(cluster);
    const workloads = workloadList(settings.worker.configFile, settings.worker.graceMs / 1_000);
    const work = workPortsOf({
      router: inner,
      store,
      clock,
      random,
      leaseSilenceMs: settings.work.leaseSilenceMs,
      kinds: kindsOf(workloads),
      barred: (node) => nodes.book.barred(node),
    });
    const files = artifactStoreOf(settings, clock);
    undo.push(() => files.close());
    const loop = loopPartsOf({
      router: inner,
      store,
      clock,
      log,
      nodeId,
      queue: work.queue,
      freeSlots: () => work.desk.freeSlots,
      files,
      nodes: () => nodesThatWork(nodes.book),
      allowPendingGate: settings.loop.allowPendingGate,
      scrub: options.scrub,
    });
    undo.push(() => loop.close());
    const loopNow = () => loopSnapshot({ store, queue: work.queue, catalog: loop.catalog }, clock.now());
    const { promise: stopRequested, resolve: requestStop } = Promise.withResolvers<{ reason: string; actor: string }>();
    const control = serveControl({
      settings,
      socketPath: socketPathFor(settings.dataDir),
      localToken: settings.token?.reveal() ?? readToken(settings.dataDir),
      clock,
      random,
      log,
      ports: {
        router: inner,
        store,
        version,
        daemons,
        metrics,
        phase: () => phase,
        readiness: () => units.readiness(),
        units: () => units.status(),
        status: () => status(),
        audit: () => audit(),
        why: (subject) =>
          whySubject(subject, { queue: work.queue, book: nodes.book, now: clock.now() }) ??
          whyConfigNamed(subject, loopNow()) ??
          why(
            subject,
            whyFacts({ now: clock.now(), registry, manager: daemons, runtime: units, router: inner, store, profile }),
          ),
        health: () => judgedHealth(store, clock.now(), units, daemons),
        alerts,
        bootstrapStatus: () => ({ ...bringUp.status() }),
        work,
        nodes,
        artifacts: files,
        loop: createLoopConsole({ router: inner, store, clock, queue: work.queue, catalog: loop.catalog }),
        shutdown(reason, actor) {
          log.info("told to stop", { reason, actor });
          // The answer to this request comes first.
          clock.after(0, () => {
            requestStop({ reason, actor });
            void shutdown();
          });
        },
      },
    });
    const live = liveRegistry({
      router: inner,
      store,
      clock,
      random,
      supervisor: daemons,
      mainLoop,
      database: sqliteCare(path),
      logFile,
      maintenance: {
        ...settings.maintenance,
        ...(options.scrub === undefined ? {} : { everyMs: options.scrub.everyMs }),
      },
      surface: control.kept,
      cluster,
      queue: work.queue,
      loop: loop.ports,
      chores: loop.chores,
      pressure: settings.work.pressure,
    });
    const profile = profileOf(options.profile ?? settings.profile, options.units ?? []);
    const { wrapUnit = (unit) => unit } = options;
    const registry: Registry = withOwnUnits({ ...live, units: live.units.map(wrapUnit) }, options.units ?? []);
    const units = createUnitRuntime({ registry, router: inner, clock, log, manager: daemons });
    const sources = { router: inner, daemons, units: () => units.status(), openAlerts: () => openAlertsOf(cluster) };
    const status = () =>
      statusOf({
        router: inner,
        daemons,
        units: () => units.status(),
        readiness: () => units.readiness(),
        phase: () => phase,
        clock,
        startedAt,
        version,
      });
    const audit = () => auditWiring(registry, { baseline: auditBaseline, facts: runtimeFacts(store, inner) });
    // Probes are answered from here on, until all else has ended; the rest is told to come back.
    undo.push(() => control.close());
    undo.push(() => router.stop());
    await control.surface.open();
    undo.push(() => units.stop());
    undo.push(() => daemons.shutdown());
    const bringUp = createBringUp({
      registry,
      units,
      router: inner,
      clock,
      log,
      profile,
      problems: () => (store.fault === null ? [] : [`the store refuses to commit: ${store.fault.message}`]),
    });
    undo.push(() => bringUp.sayGoodbye("the process ends in order"));
    undo.push(() => control.endStreams());
    undo.push(() => work.desk.close());
    await nodes.book
      .ensureLocal(ownCapabilities())
      .catch((thrown: unknown) => log.error("this node was not written down", { error: messageOf(thrown) }));
    await ensurePlans(inner, [
      ...plansFor(settings.loop.configs, {}, { configFile: settings.worker.configFile, workloads }),
      ...(options.plans ?? []),
    ]);
    await bringUp.start(options.enable);
    // Whoever finds the API open finds the starts in the journal, unless the disk is in trouble.
    await daemons.flush(1_000);
    const api = control.surface;
    phase = "ready";
    announce(settings.dataDir, {
      pid: process.pid,
      socket_path: api.socketPath,
      port: api.port,
      node_id: settings.nodeId,
      version,
      started_at: startedAt / 1_000,
    });
    undo.push(() => rmSync(join(settings.dataDir, ENDPOINT_FILE), { force: true }));
    return {
      router,
      settings,
      api,
      units,
      daemons,
      loop: loopNow,
      startedAt,
      broken,
      status,
      bootstrapStatus: bringUp.status,
      complete: bringUp.start,
      audit,
      stopRequested,
      shutdown,
    };
  } catch (thrown) {
    // What led here is what counts; a step back that fails as well is only logged.
    await shutdown().catch((failure: unknown) =>
      log.error("a step of the shutdown failed", { error: messageOf(failure) }),
    );
    throw thrown;
  }
}
