import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Counter, Gauge, Histogram, type LabelValues, Registry } from "@prometheus-io/client";
import { DAEMON_STATES, type DaemonManager, type UnitStatus } from "../../daemons/index.ts";
import type { Clock, Timer } from "../../kernel/index.ts";
import { consumerStatus, type EventRouter, journalBytes, type Store } from "../../router/index.ts";

/** Whom the figures are asked of when somebody collects them. */
export interface MetricSources {
  readonly router: EventRouter;
  readonly daemons: DaemonManager;
  readonly units: () => readonly UnitStatus[];
  /** How many alerts are not closed, by severity. */
  readonly openAlerts?: (() => Readonly<Record<string, number>>) | undefined;
}

export interface Metrics {
  readonly contentType: string;
  /** All figures in the text format of Prometheus. */
  render(): Promise<string>;
  request(method: string, route: string, status: number, seconds: number): void;
  commit(seconds: number, ok: boolean): void;
  failedLogin(): void;
  /** A request was turned away, for this reason. */
  refused(code: string): void;
  /** One more endless answer, or one less. */
  streams(change: 1 | -1): void;
  /** What a node measured and told. */
  sample(nodeId: string, values: Readonly<Record<string, number>>): void;
  stop(): void;
}

const ROTATE_EVERY_MS = 30_000;
/** Names from outside become labels; beyond so many, new ones are left out. */
const MOST_SAMPLES = 1_000;

const RESOLUTION_MS = 10;

/** The delay of the event loop over the last half to whole minute, whoever asks and however often. */
function loopDelay(clock: Clock) {
  const monitor = () => monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const monitors = [monitor(), monitor()] as const;
  for (const each of monitors) each.enable();
  let older = 0;
  let timer: Timer;
  const rotate = () => {
    monitors[older as 0 | 1].reset();
    older = 1 - older;
    timer = clock.after(ROTATE_EVERY_MS, rotate);
  };
  timer = clock.after(ROTATE_EVERY_MS, rotate);
  return {
    read() {
      const seen = monitors[older as 0 | 1];
      // A sample is the time between two beats, of which the beat itself is no delay.
      const seconds = (nanoseconds: number) =>
        Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1_000) : 0;
      if (seen.count === 0) return { mean: 0, p50: 0, p99: 0, max: 0 };
      return {
        mean: seconds(seen.mean),
        p50: seconds(seen.percentile(50)),
        p99: seconds(seen.percentile(99)),
        max: seconds(seen.max),
      };
    },
    stop() {
      timer.cancel();
      for (const each of monitors) each.disable();
    },
  };
}

const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** The figures of one coordination, in a registry of its own: two may live in one process. */
export function createMetrics(clock: Clock, sources: () => MetricSources | undefined): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const delay = loopDelay(clock);
  const samples = new Map<string, { node_id: string; name: string; value: number }>();

  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[], read: Reading<L>) =>
    new Gauge<L>({
      name: `ringrift_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        read((value, labels) => this.set(labels as LabelValues<L>, value));
      },
    });
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[], read: Reading<L>) =>
    new Counter<L>({
      name: `ringrift_${name}_total`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        read((value, labels) => this.inc(labels as LabelValues<L>, value));
      },
    });

  processFigures(gauge, counter, clock);
  gauge("event_loop_delay_seconds", "How late the event loop was, over the last minute.", ["stat"], (set) => {
    for (const [stat, value] of Object.entries(delay.read())) set(value, { stat });
  });
  eventFigures(gauge, counter, sources);
  daemonFigures(gauge, counter, sources);
  gauge("node_sample", "The newest value of a measurement that a node told.", ["node_id", "name"], (set) => {
    for (const { node_id, name, value } of samples.values()) set(value, { node_id, name });
  });
  const requests = new Histogram({
    name: "ringrift_http_request_duration_seconds",
    help: "Time from a request to the head of its answer, by route template.",
    labelNames: ["method", "route", "status"],
    buckets: BUCKETS,
    registers,
  });
  const commits = new Histogram({
    name: "ringrift_store_commit_duration_seconds",
    help: "Time from a commit to its answer.",
    labelNames: ["outcome"],
    buckets: BUCKETS,
    registers,
  });
  const logins = new Counter({
    name: "ringrift_http_failed_logins_total",
    help: "Requests with a token that opens nothing.",
    registers,
  });
  const refusals = new Counter({
    name: "ringrift_http_refusals_total",
    help: "Requests that were turned away, by the code of the problem.",
    labelNames: ["code"],
    registers,
  });
  const open = new Gauge({ name: "ringrift_http_streams", help: "Endless answers under way.", registers });
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    request: (method, route, status, seconds) => requests.observe({ method, route, status }, seconds),
    commit: (seconds, ok) => commits.observe({ outcome: ok ? "done" : "refused" }, seconds),
    failedLogin: () => logins.inc(),
    refused: (code) => refusals.inc({ code }),
    streams: (change) => open.inc(change),
    sample(nodeId, values) {
      for (const [name, value] of Object.entries(values)) {
        const key = `${nodeId}\u0000${name}`;
        if (Number.isFinite(value) && (samples.has(key) || samples.size < MOST_SAMPLES))
          samples.set(key, { node_id: nodeId, name, value });
      }
    },
    stop: () => delay.stop(),
  };
}

type Reading<L extends string> = (set: (value: number, labels: Partial<Record<L, string>>) => void) => void;
type Define = <L extends string>(name: string, help: string, labelNames: readonly L[], read: Reading<L>) => unknown;

function processFigures(gauge: Define, counter: Define, clock: Clock): void {
  const startedAt = clock.now() / 1_000;
  gauge("process_start_time_seconds", "When this process began, in Unix seconds.", [], (set) => set(startedAt, {}));
  gauge("process_resident_memory_bytes", "Memory of the process that is resident.", [], (set) =>
    set(process.memoryUsage.rss(), {}),
  );
  gauge("process_heap_bytes", "The heap of JavaScript.", ["state"], (set) => {
    const { heapUsed, heapTotal, external } = process.memoryUsage();
    set(heapUsed, { state: "used" });
    set(heapTotal, { state: "reserved" });
    set(external, { state: "external" });
  });
  counter("process_cpu_seconds", "Time of the processor that the process took.", ["mode"], (inc) => {
    const { user, system } = process.cpuUsage();
    inc(user / 1e6, { mode: "user" });
    inc(system / 1e6, { mode: "system" });
  });
  counter("event_loop_seconds", "How long the event loop worked, and how long it waited.", ["state"], (inc) => {
    const { active, idle } = performance.eventLoopUtilization();
    inc(active / 1_000, { state: "active" });
    inc(idle / 1_000, { state: "idle" });
  });
}

const every = <L extends string>(
  counts: Readonly<Record<string, number>>,
  label: L,
  put: (n: number, l: never) => void,
) => {
  for (const [key, n] of Object.entries(counts)) put(n, { [label]: key } as never);
};

function eventFigures(gauge: Define, counter: Define, sources: () => MetricSources | undefined): void {
  const router = () => sources()?.router;
  const stats = () => router()?.statistics.report();
  counter("events_published", "Events that passed through the router, by name.", ["event_type"], (inc) =>
    every(stats()?.events_routed ?? {}, "event_type", inc),
  );
  counter("events_unheard", "Events that nobody heard, by name.", ["event_type"], (inc) =>
    every(stats()?.emitted_without_subscriber ?? {}, "event_type", inc),
  );
  counter("events_suppressed", "Repeats that were suppressed, by what was the same.", ["by"], (inc) => {
    inc(stats()?.duplicates_prevented ?? 0, { by: "event_id" });
    inc(stats()?.content_duplicates_prevented ?? 0, { by: "content" });
  });
  counter("handler_failures", "Tries of handlers that failed.", [], (inc) => inc(stats()?.handler_failures ?? 0, {}));
  counter("handler_timeouts", "Tries of handlers that ran into their time limit.", ["consumer"], (inc) =>
    every(stats()?.handler_timeouts ?? {}, "consumer", inc),
  );
  gauge("journal_head", "Number of the newest event in the journal.", [], (set) => {
    const known = router();
    if (known !== undefined) set(known.getStats().journal_head, {});
  });
  gauge("journal_bytes", "Size of the journal, without what is free in it.", [], (set) => {
    const known = router();
    if (known !== undefined) set(journalBytes(known.store), {});
  });
  gauge("store_fault", "1 while the store refuses to commit.", [], (set) => set(router()?.store.fault ? 1 : 0, {}));
  gauge("consumer_lag_events", "Journal rows above a consumer's mark.", ["consumer"], (set) => {
    const known = router();
    if (known === undefined) return;
    for (const { consumer, lag } of boundedConsumers(known.store)) set(lag, { consumer });
  });
  gauge(
    "dead_letters_unresolved",
    "Deliveries that failed and wait for a decision, by event.",
    ["event_type"],
    (set) => {
      for (const { event_type, letters } of unresolvedByType(router()?.store)) set(letters, { event_type });
    },
  );
  gauge("dead_letters", "Deliveries whose tries are spent, by what became of them.", ["status"], (set) =>
    every(router()?.deadLetters.counts() ?? {}, "status", set),
  );
}

const MOST_CONSUMERS = 500;
const MOST_TYPES = 200;

const unresolvedByType = (store: Store | undefined) =>
  store?.read<{ event_type: string; letters: number }>(
    `SELECT event_type, count(*) AS letters FROM dead_letters WHERE status IN ('pending', 'retrying')
     GROUP BY event_type ORDER BY letters DESC, event_type LIMIT ?`,
    MOST_TYPES,
  ) ?? [];

/** Names of consumers come from outside: the furthest behind are the ones worth a series. */
const boundedConsumers = (store: Store) => {
  const all = consumerStatus(store).filter(({ expired_at }) => expired_at === null);
  return all.length <= MOST_CONSUMERS ? all : all.sort((a, b) => b.lag - a.lag).slice(0, MOST_CONSUMERS);
};

function daemonFigures(gauge: Define, counter: Define, sources: () => MetricSources | undefined): void {
  gauge("daemons", "Daemons, by the state that they are in.", ["state"], (set) => {
    const infos = Object.values(sources()?.daemons.getStatus() ?? {});
    for (const state of DAEMON_STATES) set(infos.filter((info) => info.state === state).length, { state });
  });
  gauge("daemon_restarts", "Restarts of a daemon that its budget remembers.", ["daemon"], (set) => {
    for (const { name, restarts } of Object.values(sources()?.daemons.getStatus() ?? {}))
      set(restarts, { daemon: name });
  });
  counter("unit_events", "Events that a unit worked on, by how it went.", ["unit", "outcome"], (inc) => {
    for (const { name, handled_events, failed_events } of sources()?.units() ?? []) {
      inc(handled_events, { unit: name, outcome: "handled" });
      inc(failed_events, { unit: name, outcome: "failed" });
    }
  });
  counter("unit_ticks", "Rounds of a unit's loop, by how they went.", ["unit", "outcome"], (inc) => {
    for (const { name, ticks, tick_errors } of sources()?.units() ?? []) {
      inc(ticks, { unit: name, outcome: "done" });
      inc(tick_errors, { unit: name, outcome: "failed" });
    }
  });
  gauge("alerts_open", "Alerts that are not closed, by severity.", ["severity"], (set) => {
    every(sources()?.openAlerts?.() ?? {}, "severity", set);
  });
}

/** The same store, with the time of every commit told. */
export const measuredStore = (store: Store, clock: Clock, told: Pick<Metrics, "commit">): Store => ({
  async commit(operations) {
    const began = clock.monotonic();
    try {
      const results = await store.commit(operations);
      told.commit((clock.monotonic() - began) / 1_000, true);
      return results;
    } catch (thrown) {
      told.commit((clock.monotonic() - began) / 1_000, false);
      throw thrown;
    }
  },
  read: (sql, ...params) => store.read(sql, ...params),
  get fault() {
    return store.fault;
  },
  onFault: (listen) => store.onFault(listen),
  close: () => store.close(),
});
