import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  componentWork,
  findNode,
  healthyNodesOf,
  Lock,
  type LockOptions,
  type LockStore,
  type NodeHealthState,
  type NodeRegistry,
  nodeHealthOf,
  tellLeaseNews,
} from "../cluster/index.ts";
import type { AuditReport, Cause, DaemonManager, UnitRuntime } from "../daemons/index.ts";
import type { builtinRows, Rows } from "../events/index.ts";
import { createIds, type Log, messageOf, type OperatingError } from "../kernel/index.ts";
import type { PipelineSnapshot } from "../pipeline/index.ts";
import type { EventRouter } from "../router/index.ts";
import { ENDPOINT_FILE, type EndpointFile, type Phase, type Surface, statusOf } from "../surfaces/index.ts";
import type { SyncFacade } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";
import type { BootstrapOptions } from "./bootstrap-options.ts";
import type { BootstrapStatus, FeatureSwitches } from "./bootstrap-status.ts";
import { writeWhole } from "./data-folder/token.ts";
import { type Ground, openFolder, openStore } from "./ground.ts";
import { ensurePlans, plansFor } from "./pipeline/plans.ts";
import { type AppServices, createServices } from "./services.ts";
import type { Settings } from "./settings.ts";
import { type Wired, wireUnits } from "./wiring.ts";

/** A running coordination: a value with a life, not a place in the module. Two of them may live in one process. */
export interface Coordination<R extends Rows> {
  readonly router: EventRouter<R>;
  readonly settings: Settings;
  readonly api: Pick<Surface, "socketPath" | "port" | "host" | "secure">;
  readonly units: UnitRuntime;
  /** The one supervisor of this process. */
  readonly daemons: DaemonManager;
  /** The durable queue of jobs. */
  readonly queue: WorkQueue;
  /** `SyncFacade`: brings files to nodes, and waits until they are there. */
  readonly sync: SyncFacade;
  /** The machines of the cluster. */
  readonly nodes: Pick<NodeRegistry, "list" | "find" | "counts">;
  /** Takes a name that one holder has at a time: `await using lock = await coordination.lock("export", { ttlMs: 60_000 })`. */
  lock(name: string, options: LockOptions): Promise<Lock>;
  /** The closed loop, as it stands on disk, and for each config why it stands still. */
  loop(): PipelineSnapshot;
  /** What is wrong, each root once, worst first. */
  causes(): readonly Cause[];
  readonly startedAt: number;
  /** How long it has been up, whatever happened to the wall clock meanwhile. */
  uptimeMs(): number;
  /** Where it logs: the log file, and what was chosen beside it. */
  readonly log: Log;
  /** Resolves if the process cannot go on, whatever it tries; whoever runs it should end it, and start it again. */
  readonly broken: Promise<OperatingError>;
  status(): ReturnType<typeof statusOf>;
  bootstrapStatus(): BootstrapStatus;
  /** Brings up what was left out or failed. What runs goes on. */
  complete(enable?: FeatureSwitches): Promise<BootstrapStatus>;
  /** The wiring, judged from the declarations and from what was seen here. */
  audit(): Promise<AuditReport>;
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

/** `get_node_health` and `get_healthy_nodes`, in the same way. A node is known by its id or its label. */
export const getNodeHealth = ({ nodes }: Pick<Coordination<Rows>, "nodes">, name: string): NodeHealthState =>
  nodeHealthOf(findNode(nodes.list(), name));
export const getHealthyNodes = ({ nodes }: Pick<Coordination<Rows>, "nodes">): string[] => healthyNodesOf(nodes.list());

const LOCK_WAIT_MS = 30_000;

async function lockFor(
  { clock, random, settings }: Ground,
  locks: LockStore,
  name: string,
  { ttlMs, waitMs = LOCK_WAIT_MS, holder, signal }: LockOptions,
): Promise<Lock> {
  const askedAt = clock.monotonic();
  const row = await locks.acquire({
    name,
    holder: holder ?? `${settings.nodeId}/${createIds(clock, random).uuid()}`,
    ttlMs,
    waitMs,
    signal,
  });
  return new Lock(row, askedAt, locks, clock);
}

/** The fourth phase of a start: the doors are opened, the units come up layer by layer, and the process says where it is. */
async function bringUp(
  options: Pick<BootstrapOptions, "plans" | "enable" | "term">,
  { settings, router, version, started, clock, log }: Ground,
  { supervisor, cluster, work, workloads, router: inner }: AppServices,
  wired: Wired,
  undo: AsyncDisposableStack,
): Promise<void> {
  const { control, units } = wired;
  // Probes are answered from here on, until all else has ended; the rest is told to come back.
  undo.defer(() => control.close());
  undo.defer(() => router.stop());
  await control.surface.open();
  undo.defer(() => units.stop());
  undo.defer(async () => void (await supervisor.shutdown()));
  undo.defer(() => wired.bringUp.emitEnd("the process ends in order"));
  undo.defer(() => control.endStreams());
  undo.defer(() => work.desk.close());
  await cluster.enterOwnNode();
  await ensurePlans(inner, [
    ...plansFor(settings.loop.configs, {}, { configFile: settings.configFile, workloads }),
    ...(options.plans ?? []),
  ]);
  if (options.term !== undefined) {
    // Told before any unit runs: those of a leader that lost its lease here begin as those of a new one.
    const news = await tellLeaseNews({ router: inner, cluster: options.term.cluster, clock, log });
    undo.defer(() => news.stop());
  }
  await wired.bringUp.start(options.enable);
  // Whoever finds the API open finds the starts in the journal, unless the disk is in trouble.
  await supervisor.flush(1_000);
  const endpoint: EndpointFile = {
    pid: process.pid,
    socket_path: control.surface.socketPath,
    port: control.surface.port,
    host: control.surface.host,
    secure: control.surface.secure,
    node_id: settings.nodeId,
    version,
    started_at: started.at / 1_000,
  };
  writeWhole(join(settings.dataDir, ENDPOINT_FILE), `${JSON.stringify(endpoint)}\n`);
  undo.defer(() => rmSync(join(settings.dataDir, ENDPOINT_FILE), { force: true }));
}

/** What only the leader of several coordinators does; nothing of it is loaded where one works by itself. */
async function beginDuties(
  { term }: Pick<BootstrapOptions, "term">,
  { settings, store, clock, log }: Ground,
  { files, memberFiles: desk, verify }: AppServices,
  undo: AsyncDisposableStack,
): Promise<void> {
  if (term === undefined || desk === undefined) return;
  const { startTermDuties } = await import("./cluster/term-duties.ts");
  const duties = startTermDuties({ settings, cluster: term.cluster, store, clock, log, files, desk, verify });
  undo.defer(() => duties.stop());
}

export async function bootstrapCoordination<R extends Rows = Record<never, never>>(
  options: BootstrapOptions<R>,
): Promise<Coordination<typeof builtinRows & R>> {
  const { settings } = options;
  const undo = new AsyncDisposableStack();
  const { promise: stopRequested, resolve: requestStop } = Promise.withResolvers<{ reason: string; actor: string }>();
  let phase: Phase = "starting";
  let wired: Wired | undefined;
  let stopping: Promise<void> | undefined;
  const shutdown = () => {
    phase = "stopping";
    stopping ??= undo.disposeAsync();
    return stopping;
  };
  const folder = openFolder(options, undo);
  try {
    const opened = await openStore(options, folder, () => wired?.status, undo);
    const ground = opened as unknown as Ground;
    const components = () => (wired === undefined ? [] : componentWork(wired.registry, wired.units));
    const cause = () => wired?.causes.all().find(({ level }) => level !== "note")?.what;
    const services = createServices(ground, { components, cause }, options, undo);
    const { status, units, control, ...parts } = wireUnits(options, ground, services, {
      phase: () => phase,
      shutdown(reason, actor) {
        folder.log.info("told to stop", { reason, actor });
        // The answer to this request comes first.
        ground.clock.after(0, () => {
          requestStop({ reason, actor });
          void shutdown();
        });
      },
    });
    wired = { status, units, control, ...parts };
    await bringUp(options, ground, services, wired, undo);
    await beginDuties(options, ground, services, undo);
    phase = "ready";
    return {
      router: opened.router,
      settings,
      api: control.surface,
      units,
      daemons: services.supervisor,
      queue: services.work.queue,
      sync: services.facade,
      nodes: services.cluster.nodes,
      lock: (name, asked) => lockFor(ground, services.locks, name, asked),
      loop: parts.causes.snapshot,
      causes: parts.causes.all,
      startedAt: ground.started.at,
      uptimeMs: ground.started.agoMs,
      log: ground.log,
      broken: ground.broken,
      status: () => statusOf(status),
      bootstrapStatus: parts.bringUp.status,
      complete: parts.bringUp.start,
      audit: parts.audit,
      stopRequested,
      shutdown,
    };
  } catch (thrown) {
    // What led here is what counts; a step back that fails as well is only logged.
    await shutdown().catch((failure: unknown) =>
      folder.log.error("a step of the shutdown failed", { error: messageOf(failure) }),
    );
    throw thrown;
  }
}
