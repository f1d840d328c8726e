import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { DAEMON_STATES, type DaemonManager, type UnitStatus } from "../../daemons/index.ts";
import type { Clock } from "../../kernel/index.ts";
import type { PipelineSnapshot } from "../../pipeline/index.ts";
import { type EventRouter, journalBytes, type Store, unresolvedByType } from "../../router/index.ts";
import type { Define, Reading } from "./figure.ts";
import { pipelineFigures } from "./pipeline-figures.ts";
import { loopDelay, processFigures } from "./process-figures.ts";
import { artifactFigures, type WorkSources, workFigures } from "./work-figures.ts";

/** Whom the figures are asked of when somebody collects them. */
export interface MetricSources {
  readonly router: EventRouter;
  readonly daemons: DaemonManager;
  readonly units: () => readonly UnitStatus[];
  /** How many alerts are not closed, by severity. */
  readonly openAlerts?: (() => Readonly<Record<string, number>>) | undefined;
  readonly pipeline?: (() => PipelineSnapshot) | undefined;
  readonly work?: WorkSources | undefined;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Names from outside become labels; beyond so many, new ones are left out. */
const MAX_SAMPLES = 5_000;
/** Nodes tell their measurements several times in it; who has told nothing for so long has ended or is silent. */
const LATELY_MS = 60_000;

const BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

type Sources = () => MetricSources | undefined;

function* seriesOf(
  reading: Reading,
  [label = "", ...rest]: readonly string[],
  labels: Record<string, string> = {},
): Generator<[labels: Record<string, string>, value: number]> {
  if (typeof reading === "number") yield [labels, reading];
  else
    for (const [key, inner] of Object.entries(reading ?? {})) yield* seriesOf(inner, rest, { ...labels, [label]: key });
}

/** The figures of one coordination, in a registry of its own: two may live in one process. */
export function createMetrics(clock: Clock, sources: Sources) {
  const registry = new Registry();
  const registers = [registry];
  const delay = loopDelay(clock);
  const samples = new Map<string, Record<string, { readonly value: number; readonly at: number }>>();
  let sampleCount = 0;
  const toldBy = (nodeId: string, withinMs = Number.POSITIVE_INFINITY): Partial<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(samples.get(nodeId) ?? {}).flatMap(([name, { value, at }]) =>
        clock.monotonic() - at <= withinMs ? [[name, value]] : [],
      ),
    );
  const pools = { commits: 0, scans: 0 };

  const define =
    (Kind: typeof Gauge | typeof Counter): Define =>
    (name, help, labelNames, read) =>
      new Kind({
        name: `ringrift_${name}`,
        help,
        labelNames,
        registers,
        async collect() {
          const reading = await read();
          this.reset();
          for (const [labels, value] of seriesOf(reading, labelNames)) this.inc(labels, value);
        },
      });
  const gauge = define(Gauge);
  const counter = define(Counter);

  processFigures(gauge, counter, clock);
  gauge("event_loop_delay_seconds", "How late the event loop was, over the last minute.", ["stat"], delay.read);
  gauge("store_waiting", "Commits and reads of many rows that another thread has in hand.", ["pool"], () => pools);
  eventFigures(gauge, counter, sources);
  daemonFigures(gauge, counter, sources);
  // It is put together from many rows: once for each time that somebody collects.
  let pipeline: PipelineSnapshot | undefined;
  pipelineFigures(gauge, counter, () => {
    pipeline ??= sources()?.pipeline?.();
    return pipeline;
  });
  workFigures(gauge, () => sources()?.work);
  artifactFigures(
    gauge,
    counter,
    () => sources()?.work,
    () => clock.monotonic(),
  );
  gauge("node_sample", "The newest value of a measurement that a node told.", ["node_id", "name"], () =>
    Object.fromEntries([...samples.keys()].map((nodeId) => [nodeId, toldBy(nodeId)])),
  );
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
    /** All figures in the text format of Prometheus. */
    render() {
      pipeline = undefined;
      return registry.metrics();
    },
    request: (method: string, route: string, status: number, seconds: number) =>
      requests.observe({ method, route, status }, seconds),
    commit: (seconds: number, ok: boolean) => commits.observe({ outcome: ok ? "done" : "refused" }, seconds),
    /** One more commit or read that another thread has in hand, or one less. */
    handed(pool: keyof typeof pools, change: 1 | -1) {
      pools[pool] += change;
    },
    /** What waits for other threads: commits for the writer, reads of many rows for the reader. */
    pools: () => ({ ...pools }),
    failedLogin: () => logins.inc(),
    /** A request was turned away, for this reason. */
    refused: (code: string) => refusals.inc({ code }),
    /** One more endless answer, or one less. */
    streams: (change: 1 | -1) => open.inc(change),
    /** How late the event loop was over the last minute, in seconds. */
    loopDelay: () => delay.read(),
    /** What a node measured and told. */
    sample(nodeId: string, values: Readonly<Record<string, number>>) {
      for (const [name, value] of Object.entries(values)) {
        const known = samples.get(nodeId) ?? {};
        const isNew = !Object.hasOwn(known, name);
        if (!Number.isFinite(value) || (isNew && sampleCount >= MAX_SAMPLES)) continue;
        if (isNew) sampleCount += 1;
        samples.set(nodeId, { ...known, [name]: { value, at: clock.monotonic() } });
      }
    },
    /** What a node has told lately, by name. */
    toldLately: (nodeId: string) => toldBy(nodeId, LATELY_MS),
    stop: () => delay.stop(),
  };
}

function eventFigures(gauge: Define, counter: Define, sources: Sources): void {
  const router = () => sources()?.router;
  const stats = () => router()?.statistics.report();
  counter(
    "events_published_total",
    "Events that passed through the router, by name.",
    ["event_type"],
    () => stats()?.events_routed,
  );
  counter(
    "events_unheard_total",
    "Events that nobody heard, by name.",
    ["event_type"],
    () => stats()?.emitted_without_subscriber,
  );
  counter("events_suppressed_total", "Repeats that were suppressed, by what was the same.", ["by"], () => ({
    event_id: stats()?.duplicates_prevented ?? 0,
    content: stats()?.content_duplicates_prevented ?? 0,
  }));
  counter("handler_failures_total", "Tries of handlers that failed.", [], () => stats()?.handler_failures ?? 0);
  counter(
    "handler_timeouts_total",
    "Tries of handlers that ran into their time limit.",
    ["consumer"],
    () => stats()?.handler_timeouts,
  );
  gauge("journal_head", "Number of the newest event in the journal.", [], () => router()?.getStats().journal_head);
  gauge("journal_bytes", "Size of the journal, without what is free in it.", [], () => {
    const known = router();
    return known && journalBytes(known.store);
  });
  gauge("store_fault", "1 while the store refuses to commit.", [], () => (router()?.store.fault ? 1 : 0));
  gauge("consumer_lag_events", "Journal rows above a consumer's mark.", ["consumer"], () => {
    const known = router();
    return known && lagOfConsumers(known);
  });
  gauge("dead_letters_unresolved", "Deliveries that failed and wait for a decision, by event.", ["event_type"], () => {
    const known = router();
    return known && unresolvedLetters(known.store);
  });
  gauge("dead_letters", "Deliveries whose tries are spent, by what became of them.", ["status"], () =>
    router()?.deadLetters.counts(),
  );
}

const MAX_CONSUMERS = 500;
const MAX_TYPES = 200;

const unresolvedLetters = (store: Store) =>
  Object.fromEntries(unresolvedByType(store, MAX_TYPES).map(({ event_type, letters }) => [event_type, letters]));

/** Names of consumers come from outside: the furthest behind are the ones worth a series. */
const lagOfConsumers = (router: EventRouter) => {
  const all = router.consumers().filter(({ expired_at }) => expired_at === null);
  const worst = all.sort((a, b) => b.lag - a.lag).slice(0, MAX_CONSUMERS);
  return Object.fromEntries(worst.map(({ consumer, lag }) => [consumer, lag]));
};

function daemonFigures(gauge: Define, counter: Define, sources: Sources): void {
  const daemons = () => Object.values(sources()?.daemons.getStatus() ?? {});
  const ofUnits = (read: (unit: UnitStatus) => Reading) => () =>
    Object.fromEntries(
      sources()
        ?.units()
        .map((unit) => [unit.name, read(unit)]) ?? [],
    );
  gauge("daemons", "Daemons, by the state that they are in.", ["state"], () =>
    Object.fromEntries(DAEMON_STATES.map((state) => [state, daemons().filter((info) => info.state === state).length])),
  );
  gauge("daemon_restarts", "Restarts of a daemon that its budget remembers.", ["daemon"], () =>
    Object.fromEntries(daemons().map(({ name, restarts }) => [name, restarts])),
  );
  counter(
    "unit_events_total",
    "Events that a unit worked on, by how it went.",
    ["unit", "outcome"],
    ofUnits(({ handled_events: handled, failed_events: failed }) => ({ handled, failed })),
  );
  counter(
    "unit_ticks_total",
    "Rounds of a unit's loop, by how they went.",
    ["unit", "outcome"],
    ofUnits(({ ticks: done, tick_errors: failed }) => ({ done, failed })),
  );
  gauge("alerts_open", "Alerts that are not closed, by severity.", ["severity"], () => sources()?.openAlerts?.());
}

/** The same store, with the time of every commit measured. */
export const measuredStore = (store: Store, clock: Clock, metrics: Pick<Metrics, "commit" | "handed">): Store => ({
  async commit(operations) {
    const began = clock.monotonic();
    let ok = false;
    metrics.handed("commits", 1);
    try {
      const results = await store.commit(operations);
      ok = true;
      return results;
    } finally {
      metrics.handed("commits", -1);
      metrics.commit((clock.monotonic() - began) / 1_000, ok);
    }
  },
  read: (sql, ...params) => store.read(sql, ...params),
  async scan(sql, params, signal) {
    metrics.handed("scans", 1);
    try {
      return await store.scan(sql, params, signal);
    } finally {
      metrics.handed("scans", -1);
    }
  },
  get fault() {
    return store.fault;
  },
  onFault: (listen) => store.onFault(listen),
  close: () => store.close(),
});
