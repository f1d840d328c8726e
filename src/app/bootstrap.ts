import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  type UnitRuntime,
} from "../daemons/index.ts";
import { builtinRows, createCatalog, type Rows } from "../events/index.ts";
import { type Clock, createLog, type Log, type Random, systemClock, systemRandom } from "../kernel/index.ts";
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
import { guardDataDir } from "./guard.ts";
import { liveRegistry } from "./registry.ts";
import { serveControl } from "./serving.ts";
import type { Settings } from "./settings.ts";
import { readToken, writeWhole } from "./token.ts";
import { readVersion } from "./version.ts";

export interface BootstrapOptions<R extends Rows = Record<never, never>> {
  readonly settings: Settings;
  /** Events of your own, from `defineEvents`. */
  readonly events?: R;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
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
  readonly startedAt: number;
  status(): Record<string, unknown>;
  /** The wiring, judged from the declarations and from what was seen here. */
  audit(): AuditReport;
  /** Resolves once the process was told through the API to stop, with who asked; it is on its way down by then. */
  readonly stopRequested: Promise<{ readonly reason: string; readonly actor: string }>;
  /** Ends all of it in reverse order. Doing it twice is doing it once. */
  shutdown(): Promise<void>;
}

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
  const log = options.log ?? createLog(settings.logLevel);
  for (const notice of settings.notices) log.warn(notice);
  mkdirSync(settings.dataDir, { recursive: true, mode: 0o700 });
  const guard = guardDataDir(settings.dataDir);
  const undo: (() => unknown)[] = [() => guard.release()];
  let phase: Phase = "starting";
  let ending: Promise<void> | undefined;
  const unwind = () => {
    phase = "stopping";
    ending ??= (async () => {
      for (const step of undo.splice(0).reverse()) await step();
    })();
    return ending;
  };
  try {
    const bare = await threadedStore({
      path: join(settings.dataDir, "coordination.db"),
      modulesUrl: new URL(`./store-modules.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url).href,
      clock,
    });
    undo.push(() => bare.close());
    const metrics = createMetrics(clock, () => sources);
    undo.push(() => metrics.stop());
    const store = measuredStore(options.wrapStore?.(bare) ?? bare, clock, metrics);
    store.onFault((fault) =>
      fault === null
        ? log.info("the store works again")
        : log.error("the store refuses to commit; publishing is refused until it recovers", { ...fault }),
    );
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
    const daemons = new DaemonManager({ clock, random, log, nodeId, pid: process.pid, ledger });
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
        shutdown(reason, actor) {
          log.info("told to stop", { reason, actor });
          // The answer to this request comes first.
          clock.after(0, () => {
            requestStop({ reason, actor });
            void unwind();
          });
        },
      },
    });
    const registry: Registry = liveRegistry({ router: inner, store, clock, random, surface: control.kept });
    const units = createUnitRuntime({ registry, router: inner, clock, log, manager: daemons });
    const sources = { router: inner, daemons, units: () => units.status() };
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
    await control.surface.open();
    undo.push(() => router.stop());
    undo.push(() => units.stop());
    undo.push(() => daemons.shutdown());
    undo.push(() => control.endStreams());
    await units.start();
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
    return { router, settings, api, units, daemons, startedAt, status, audit, stopRequested, shutdown: unwind };
  } catch (thrown) {
    await unwind();
    throw thrown;
  }
}
