/**
 * The control surface over a large state: 200 units, 100,000 events in the journal, dead letters. What one answer costs, and
 * how long the main loop is held up while it is made.
 */
import { rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { threadedStore } from "../../src/adapters/sqlite/threaded-store.ts";
import { serveControl } from "../../src/app/serving.ts";
import { readSettings } from "../../src/app/settings.ts";
import { createUnitRuntime, DaemonManager, defineCoordinator } from "../../src/daemons/index.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/kernel/index.ts";
import { EventRouter } from "../../src/router/index.ts";
import { createMetrics, statusOf } from "../../src/surfaces/index.ts";
import { owned } from "../support/process.ts";
import { atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "the control surface over 100,000 events and 200 units";

const UNITS = 200;
const HEARD = ["HOST_OFFLINE", "HOST_ONLINE", "NODE_RECOVERED"] as const;

const spread = (samples: readonly number[]) => {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]!;
  return { median: at(0.5), p99: at(0.99), most: at(1) };
};

async function world(folder: string, events: number) {
  const clock = systemClock();
  const random = systemRandom();
  const log = silentLog();
  const store = await threadedStore({
    path: join(folder, "coordination.db"),
    modulesUrl: new URL("../../src/app/store-modules.ts", import.meta.url).href,
    clock,
  });
  const catalog = createCatalog(builtinRows);
  const router = new EventRouter({ catalog, store, clock, random, log, nodeId: "bench" }) as unknown as EventRouter;
  const daemons = new DaemonManager({ clock, random, log, nodeId: "bench", pid: process.pid });
  const units = Array.from({ length: UNITS }, (_, i) =>
    defineCoordinator({
      name: `unit_${i}`,
      layer: 3,
      placement: "leader",
      emits: [],
      on: Object.fromEntries(HEARD.map((name) => [name, () => {}])) as never,
    }),
  );
  const registry = { catalog, units, parts: [], ingress: [], excused: {}, delegations: [] };
  const runtime = createUnitRuntime({ registry, router, clock, log, manager: daemons });
  const metrics = createMetrics(clock, () => ({ router, daemons, units: () => runtime.status() }));
  const startedAt = clock.now();
  const status = () =>
    statusOf({
      router,
      daemons,
      units: () => runtime.status(),
      readiness: () => runtime.readiness(),
      phase: () => "ready",
      clock,
      startedAt,
      version: "bench",
    });
  const control = serveControl({
    settings: readSettings({ RINGRIFT_RATE_FACTOR: "10000" }, folder, { dataDir: folder, port: 0 }),
    socketPath: join(folder, "s.sock"),
    localToken: "t".repeat(43),
    clock,
    random,
    log,
    ports: {
      router,
      store,
      version: "bench",
      daemons,
      metrics,
      phase: () => "ready",
      readiness: () => runtime.readiness(),
      units: () => runtime.status(),
      status,
      audit: () => ({}),
      shutdown() {},
    },
  });
  await control.surface.open();
  await runtime.start();
  let first = "";
  for (let n = 0; n < events; ) {
    const size = Math.min(1_000, events - n);
    const batch = Array.from({ length: size }, (_, i) =>
      router.prepare(
        "NEW_GAMES_AVAILABLE",
        {
          config_key: `hex${5 + ((n + i) % 50)}_2p`,
          node_id: `n${(n + i) % 100}`,
          new_games: 1,
          total_games: n + i,
        },
        { source: "bench", ...(n + i < 1_000 ? { traceId: "a".repeat(32) } : {}) },
      ),
    );
    const published = await router.publishAll(batch);
    first ||= published[0]!.eventId;
    n += size;
  }
  return {
    control,
    router,
    store,
    first,
    async close() {
      await runtime.stop();
      await daemons.shutdown();
      await router.stop();
      await control.surface.close();
      metrics.stop();
      await store.close();
    },
  };
}

/** Milliseconds from a request to the last byte of its answer. */
const timed = (agent: Agent, socketPath: string, path: string): Promise<{ ms: number; bytes: number }> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    request({ agent, socketPath, path }, (answer) => {
      let bytes = 0;
      answer.on("data", (part: Buffer) => {
        bytes += part.length;
      });
      answer.once("end", () =>
        answer.statusCode === 200
          ? resolve({ ms: performance.now() - began, bytes })
          : reject(new Error(`${path}: ${answer.statusCode}`)),
      );
    })
      .once("error", reject)
      .end();
  });

export async function run(options: { events?: number; rounds?: number } = {}) {
  await using own = owned();
  const folder = own.folder();
  const { events = 100_000, rounds = 200 } = options;
  const built = await world(folder, events);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const measure = async (path: string, times: number) => {
    for (let i = 0; i < Math.min(10, times); i += 1) await timed(agent, built.control.surface.socketPath, path);
    const held = monitorEventLoopDelay({ resolution: 1 });
    held.enable();
    const samples: number[] = [];
    let bytes = 0;
    for (let i = 0; i < times; i += 1) {
      const answer = await timed(agent, built.control.surface.socketPath, path);
      samples.push(answer.ms);
      bytes = answer.bytes;
    }
    held.disable();
    return { ...spread(samples), held: held.max / 1e6, bytes };
  };
  const status = await measure("/status", rounds);
  const metrics = await measure("/metrics", rounds);
  const ready = await measure("/readyz", rounds);
  const history = await measure("/v1/events?limit=100", rounds);
  const needle = await measure("/v1/events?source=nobody&limit=10", 5);
  const trace = await measure(`/v1/events/${built.first}/trace`, 3);
  agent.destroy();
  await built.close();
  rmSync(folder, { recursive: true, force: true });
  const goals: Goal[] = [
    atMost("GET /status, median ms", status.median, 20),
    atMost("GET /metrics, median ms", metrics.median, 20),
    atMost("main loop held up by a search through the whole journal, ms", needle.held, 50),
    atMost("main loop held up by a trace of 1,000 events, ms", trace.held, 50),
  ];
  const notes = Object.fromEntries(
    Object.entries({ status, metrics, ready, history, needle, trace }).flatMap(([name, figures]) =>
      Object.entries(figures).map(([what, value]) => [`${name}: ${what}${what === "bytes" ? "" : " ms"}`, value]),
    ),
  );
  const section: Section = { title: `${UNITS} units, ${events} events`, measured: [], goals, notes };
  return { bench: "surface", met: goals.every(({ met }) => met), sections: [section] };
}

export const print = ({ sections }: { sections: readonly Section[] }): string => printSections(sections);

if (import.meta.main) console.log(print(await run()));
