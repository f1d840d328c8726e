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
import { consumerStatus, EventRouter, inUnixSeconds, journalBytes, type Store, suppressions } from "../router/index.ts";
import { createApi, ENDPOINT_FILE, type EndpointFile, type Listening, serveApi } from "../surfaces/index.ts";
import { clusterPortsOf, workOf } from "./cluster-ports.ts";
import { guardDataDir } from "./guard.ts";
import { liveRegistry } from "./registry.ts";
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
  readonly api: Listening;
  readonly units: UnitRuntime;
  /** The one supervisor of this process. */
  readonly daemons: DaemonManager;
  readonly startedAt: number;
  status(): Record<string, unknown>;
  /** The wiring, judged from the declarations and from what was seen here. */
  audit(): AuditReport;
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
  const unwind = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const bare = await threadedStore({
      path: join(settings.dataDir, "coordination.db"),
      modulesUrl: new URL(`./store-modules.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url).href,
      clock,
    });
    undo.push(() => bare.close());
    const store = options.wrapStore?.(bare) ?? bare;
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
    undo.push(() => router.stop());
    const startedAt = clock.now();
    const version = readVersion();
    const inner = router as unknown as EventRouter;
    const cluster = clusterPortsOf({
      settings,
      store,
      clock,
      random,
      log,
      catalog: catalog as never,
      work: () => workOf(registry, units.status()),
    });
    undo.push(() => cluster.resources.sampler.close());
    const registry: Registry = liveRegistry({ router: inner, store, cluster });
    const { nodeId } = settings;
    const ledger = routerLedger(inner);
    const daemons = new DaemonManager({ clock, random, log, nodeId, pid: process.pid, ledger });
    const units = createUnitRuntime({ registry, router: inner, clock, log, manager: daemons });
    undo.push(() => units.stop());
    undo.push(() => daemons.shutdown());
    await units.start();
    // Whoever finds the API open finds the starts in the journal, unless the disk is in trouble.
    await daemons.flush(1_000);
    const status = () => ({ ...statusOf(inner, { clock, startedAt, version, settings }), ...unitsOf(units, daemons) });
    const audit = () => auditWiring(registry, { baseline: auditBaseline, facts: runtimeFacts(store, inner) });
    const api = await serveApi(
      createApi({
        router: inner,
        clock,
        token: settings.token?.reveal() ?? readToken(settings.dataDir),
        status,
        audit,
      }),
      {
        socketPath: socketPathFor(settings.dataDir),
        port: settings.port,
      },
    );
    undo.push(() => api.close());
    announce(settings.dataDir, {
      pid: process.pid,
      socket_path: api.socketPath,
      port: api.port,
      node_id: settings.nodeId,
      version,
      started_at: startedAt / 1_000,
    });
    undo.push(() => rmSync(join(settings.dataDir, ENDPOINT_FILE), { force: true }));
    return { router, settings, api, units, daemons, startedAt, status, audit, shutdown: unwind };
  } catch (thrown) {
    await unwind();
    throw thrown;
  }
}

const unitsOf = (units: UnitRuntime, daemons: DaemonManager) => ({
  readiness: units.readiness(),
  units: units.status(),
  daemons: daemons.report(),
});

interface About {
  readonly clock: Clock;
  readonly startedAt: number;
  readonly version: string;
  readonly settings: Settings;
}

/** What `/status` says; seed 003's runbook greps for `event_subscription_status` and `handler_timeouts`. */
function statusOf(router: EventRouter, { clock, startedAt, version, settings }: About): Record<string, unknown> {
  const stats = router.getStats();
  return {
    version,
    pid: process.pid,
    node_id: settings.nodeId,
    uptime_seconds: (clock.now() - startedAt) / 1_000,
    degraded: stats.degraded,
    fault: stats.fault,
    event_subscription_status: stats.subscribers,
    handler_timeouts: stats.handler_timeouts,
    router: stats,
    journal: {
      head: stats.journal_head,
      bytes: journalBytes(router.store),
      consumers: consumerStatus(router.store).map(inUnixSeconds),
    },
    suppressed: suppressions(router.store, 20),
    dead_letters: router.deadLetters.counts(),
  };
}
