/**
 * A seeded world around the units between the first game and the training file: a main process that dies in the moment of a
 * commit and starts again, events that are lost or told twice, workers that fail, die or make wrong labels. Whoever says
 * whose turn it is does so by hand here. One seed is one history; what is made must be the same in all of them.
 */
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../src/adapters/sqlite/writer.ts";
import { DaemonManager, defineDaemon, onEach, type UnitContext } from "../../src/daemons/index.ts";
import { createUnitRuntime } from "../../src/daemons/unit/runtime.ts";
import type { Unit } from "../../src/daemons/unit/shape.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import {
  type Clock,
  isOperatingError,
  type Json,
  pick,
  type Random,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../src/kernel/index.ts";
import { autoExport } from "../../src/pipeline/data/units/auto-export/auto-export.unit.ts";
import { parityValidator } from "../../src/pipeline/data/units/parity-validator/parity-validator.unit.ts";
import { qualityMonitor } from "../../src/pipeline/data/units/quality-monitor/quality-monitor.unit.ts";
import { queuePopulator, selfplayOrchestrator, selfplayScheduler } from "../../src/pipeline/selfplay/index.ts";
import {
  type ConfigPlan,
  configPlanSchema,
  configs,
  type ExportOwn,
  type Iteration,
  isFor,
  iterations,
  type SelfplayOwn,
  type Stage,
  type StageWork,
  type SyncOwn,
  workOf,
} from "../../src/pipeline/stage/index.ts";
import { createWriteSet, EventRouter, type Store } from "../../src/router/index.ts";
import { type Lease, WorkQueue } from "../../src/work/index.ts";
import { createPlayer, type Player, pipelineKinds, sha } from "../unit/pipeline/player.ts";
import { testServices } from "../unit/pipeline/services.ts";
import { booksOf, createShelf, withSync } from "../unit/pipeline/shelf.ts";

export interface LoopFaults {
  /** Chance that a handler never hears an event. */
  readonly lost: number;
  /** Chance that an event is told once more, later. */
  readonly doubled: number;
  /** Chance of a crash, at each commit: before it, and after it. */
  readonly crash: number;
  /** Chance that a worker fails at a job, or dies over it. */
  readonly failing: number;
  /** Whether one of the workers makes wrong labels. */
  readonly poisoned: boolean;
  /** A planted fault of the code: units that trust events and never look by themselves. */
  readonly plant?: "no-ticks";
}
const NO_FAULTS: LoopFaults = { lost: 0, doubled: 0, crash: 0, failing: 0, poisoned: false };
export const ALL_AT_ONCE: LoopFaults = { lost: 0.2, doubled: 0.2, crash: 0.005, failing: 0.1, poisoned: true };

export interface LoopReport {
  /** What was made, freed of times, names of nodes and numbers of jobs: it must not depend on luck. */
  readonly made: Json;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly crashes: number;
  /** Games. */
  readonly rejected: number;
  readonly virtualSeconds: number;
}

const CONFIGS = ["othello6_2p", "hex5_3p"] as const;
const LAST = 3;
const STAGES: readonly Stage[] = ["selfplay", "data_sync", "npz_export"];
const OFFER = { cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] };
const HOUR = 3_600_000;

const planOf = (config_key: string): ConfigPlan =>
  configPlanSchema().parse({ config_key, seed: 11, games_per_iteration: 30, games_per_job: 6, holdout_share: 0.1 });

type Context = UnitContext<"PIPELINE_STAGE_ENTERED">;

/** Says whose turn it is, as plainly as can be. */
const handMade = () => {
  const workAt = (rows: Context["rows"], stage: Stage, key: string) =>
    rows.get(workOf[stage] as never, key) as StageWork | undefined;
  const enter = (
    { rows, emit, now }: Context,
    config_key: ConfigPlan["config_key"],
    from: Pick<Iteration, "iteration" | "stage">,
  ) => {
    const { iteration, stage } = from;
    const work = workAt(rows, stage, config_key);
    const attempt = work?.iteration === iteration ? work.attempt + 1 : 1;
    const champion = sha(`champion of ${config_key} ${iteration}`);
    const at = { opened_at: now, stage_since: now, deadline: now + HOUR, not_before: null };
    rows.put(iterations, config_key, {
      iteration,
      stage,
      attempt,
      state: "running",
      champion,
      waits: [],
      failures: [],
      ...at,
    });
    emit.PIPELINE_STAGE_ENTERED({ config_key, pipeline_stage: stage, iteration, attempts: attempt });
  };
  const look = (context: Context) => {
    const { rows } = context;
    for (const config_key of CONFIGS) {
      if (rows.get(configs, config_key) === undefined)
        rows.put(configs, config_key, { plan: planOf(config_key), paused: null });
      const at = rows.get(iterations, config_key);
      if (at === undefined) enter(context, config_key, { iteration: 1, stage: "selfplay" });
      if (at === undefined || at.state === "complete") continue;
      const work = workAt(rows, at.stage, config_key);
      if (work === undefined || !isFor(work, at) || work.state === "running") continue;
      const next = STAGES[STAGES.indexOf(at.stage) + 1];
      if (work.state === "failed")
        enter(context, config_key, {
          ...at,
          stage: work.failure?.code === "SEGMENTS_REJECTED" ? "selfplay" : at.stage,
        });
      else if (next !== undefined) enter(context, config_key, { ...at, stage: next });
      else if (at.iteration < LAST) enter(context, config_key, { iteration: at.iteration + 1, stage: "selfplay" });
      else rows.put(iterations, config_key, { ...at, state: "complete" });
    }
  };
  return defineDaemon({
    name: "hand_made",
    layer: 6,
    placement: "leader",
    emits: ["PIPELINE_STAGE_ENTERED"],
    state: { tables: { iterations, configs } },
    on: onEach(["SELFPLAY_COMPLETE", "QUALITY_SCORE_UPDATED", "NPZ_EXPORT_COMPLETE"], (_event, context: Context) =>
      look(context),
    ),
    loop: { everyMs: 2_000, tick: look },
  });
};

/** The unit with bad ears. */
const deaf = (unit: Unit, random: Random, { lost, plant }: LoopFaults): Unit => ({
  ...unit,
  behaviour: {
    ...unit.behaviour,
    handle: (event, context) => (random.next() < lost ? undefined : unit.behaviour.handle(event, context)),
    tick: (context) => (plant === "no-ticks" && unit.name !== "hand_made" ? undefined : unit.behaviour.tick(context)),
  },
});

interface Process {
  readonly queue: WorkQueue;
  readonly store: Store;
  alive: boolean;
}

interface Surroundings {
  readonly writer: SqliteWriter;
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: () => LoopFaults;
  crash(mine: Process, at: string): void;
}

function boot({ writer, clock, random, faults, crash }: Surroundings): Process {
  const mine = { alive: true } as { alive: boolean; queue: WorkQueue; store: Store };
  const own: Clock = {
    ...clock,
    after: (ms, run, hold) => clock.after(ms, () => (mine.alive ? run() : undefined), hold),
  };
  let arrives = 0;
  const store = inThreadStore(writer, {
    clock: own,
    carry: (apply) => {
      arrives = Math.max(arrives, clock.monotonic() + pick(random, 4));
      clock.after(arrives - clock.monotonic(), () => {
        if (!mine.alive) return;
        const luck = random.next();
        const chance = faults().crash;
        if (luck < chance / 2) return crash(mine, "before a commit");
        const answer = apply();
        if (luck < chance) return crash(mine, "after a commit");
        clock.after(0, () => (mine.alive ? answer() : undefined));
      });
    },
  });
  const catalog = createCatalog(builtinRows);
  const log = silentLog();
  const router = new EventRouter({ catalog, store, clock: own, random, log, nodeId: "sim" });
  const queue = new WorkQueue({
    router,
    store,
    clock: own,
    random,
    kinds: pipelineKinds,
    lease: { silentMs: 20_000 },
  });
  const shelf = createShelf(store, own);
  const workersFor = () => ["a", "b", "c"];
  const services = testServices({ clock: own, queue, store, catalog: shelf, workersFor }, { maxSelfplayJobs: 5 });
  const units: Unit[] = [
    queuePopulator(services),
    parityValidator(services),
    selfplayOrchestrator(services),
    selfplayScheduler(services),
    handMade(),
    qualityMonitor(services),
    autoExport(services),
  ];
  const heard = units.map((unit) => deaf(unit, random, faults()));
  // What is said twice has another id each time, as from somebody who did not notice that he was heard.
  router.subscribe(null, (event) => {
    if (
      event.source === "echo" ||
      random.next() >= faults().doubled ||
      !event.eventType.match(/^(WORK_|SELFPLAY_|PARITY_|NPZ_|PIPELINE_)/)
    )
      return;
    own.after(pick(random, 20_000), () => {
      void router.publish(event.eventType, event.payload as never, { source: "echo" }).catch(() => undefined);
    });
  });
  const registry = { catalog, units: heard, parts: [], ingress: [], excused: {}, delegations: [] };
  const manager = new DaemonManager({ clock: own, random, log, nodeId: "sim", pid: 1 });
  const runtime = createUnitRuntime({ registry, router: router as unknown as EventRouter, clock: own, log, manager });
  void runtime.start().catch(() => undefined);
  mine.queue = queue;
  mine.store = store;
  return mine;
}

/** A row without what luck decides. */
const freed = (rows: { get<T>(stage: Stage, key: string): StageWork<T & Record<string, Json>> | undefined }): Json =>
  Object.fromEntries(
    CONFIGS.map((key) => {
      const played = rows.get<SelfplayOwn>("selfplay", key);
      const judged = rows.get<SyncOwn>("data_sync", key);
      const exported = rows.get<ExportOwn>("npz_export", key);
      const plain = (segments: SelfplayOwn["segments"] = []) =>
        segments.map(({ part, games, rows: n, samples_file, games_file }) => [
          part,
          games,
          n,
          samples_file.sha256,
          games_file?.sha256 ?? null,
        ]);
      return [
        key,
        {
          states: [played?.state ?? null, judged?.state ?? null, exported?.state ?? null],
          played: plain(played?.own.segments),
          accepted: plain(judged?.own.accepted),
          rows: judged?.evidence.rows ?? null,
          quality: judged?.evidence.quality_score ?? null,
          exported: (exported?.own ?? null) as Json,
          evidence: (exported?.evidence ?? null) as Json,
        },
      ];
    }),
  );

export async function simulateLoopData(seed: number, given: Partial<LoopFaults> = {}): Promise<LoopReport> {
  const whole: LoopFaults = { ...NO_FAULTS, ...given };
  const random = seededRandom(seed);
  const clock = virtualClock();
  const writer = memoryWriter(withSync);
  const player: Player = createPlayer(whole.poisoned ? { vices: { c: "labels" } } : {});
  const trace: string[] = [];
  const violations: string[] = [];
  const say = (line: string) => void trace.push(`${clock.monotonic()} ${line}`);
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  let crashes = 0;
  let over = false;
  const surroundings: Surroundings = {
    writer,
    clock,
    random,
    faults: () => whole,
    crash(mine, at) {
      crashes += 1;
      mine.alive = false;
      say(`crash ${at}`);
      clock.after(50 + pick(random, 2_000), () => {
        process = boot(surroundings);
      });
    },
  };
  let process = boot(surroundings);

  /** A call that is never answered if the process dies over it. */
  const call = async <T>(run: (queue: WorkQueue) => Promise<T>): Promise<T | undefined> => {
    const answer = run(process.queue).catch((thrown: unknown) => {
      if (!isOperatingError(thrown)) throw thrown;
      return undefined;
    });
    return Promise.race([answer, wait(3_000).then(() => undefined)]);
  };

  const workOn = async (node: string, lease: Lease) => {
    await call((queue) => queue.start(lease));
    await wait(200 + pick(random, 3_000));
    const luck = random.next();
    if (luck < whole.failing / 2) return void say(`${node} dies over ${lease.work_id}`);
    if (luck < whole.failing)
      return void (await call((queue) => queue.fail(lease, { class: "retryable", error: "bad luck" })));
    const outcome = player.do(lease, node);
    if (!("evidence" in outcome)) return;
    // Said until it is heard; a repeat of the same word is harmless.
    for (let tries = 0; tries < 5; tries += 1) {
      const done = await call((queue) => queue.complete(lease, outcome.evidence));
      if (done !== undefined) return void say(`${node} completed ${lease.work_type} ${lease.work_id}`);
    }
  };
  const worker = async (node: string) => {
    while (!over) {
      const [lease] = (await call((queue) => queue.claim({ node_id: node, most: 1, offer: OFFER }))) ?? [];
      if (lease === undefined) await wait(300 + pick(random, 700));
      else await workOn(node, lease);
    }
  };
  const reaper = async () => {
    while (!over) {
      await wait(3_000);
      await call((queue) => queue.reap());
    }
  };
  for (const actor of [...["a", "b", "c"].map(worker), reaper()])
    actor.catch((thrown: unknown) => violations.push(`an actor failed: ${String(thrown)}`));

  const read = <T>(sql: string, ...values: string[]) => writer.db.prepare(sql).all(...values) as T[];
  const rows = createWriteSet({ read: read as never });
  const isComplete = () =>
    read<{ value: string }>("SELECT value FROM state_rows WHERE table_name = 'pipeline_iterations'").filter(
      ({ value }) => (JSON.parse(value) as Iteration).state === "complete",
    ).length === CONFIGS.length;
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));
  for (let steps = 0; clock.monotonic() < 2 * HOUR; steps += 1) {
    await breathe();
    if (!clock.step()) break;
    if (steps % 200 === 0 && isComplete()) break;
  }
  over = true;
  if (!isComplete()) violations.push("the iterations did not come to their end");
  const rejected = check(read, clock, violations);
  const made = freed({ get: (stage, key) => rows.get(workOf[stage] as never, key) as never });
  process.alive = false;
  writer.close();
  return { made, violations, trace, crashes, rejected, virtualSeconds: clock.monotonic() / 1_000 };
}

/** What must hold whatever happened, judged from the rows alone. Gives the games that were rejected. */
function check(read: <T>(sql: string, ...values: string[]) => T[], clock: Clock, violations: string[]): number {
  const books = booksOf({ read } as never, clock);
  if (!books.balanced) violations.push(`the books do not balance: ${JSON.stringify(books)}`);
  if (books.by.in_flight !== undefined) violations.push(`${books.by.in_flight} games were never judged`);
  const twice = read<{ dedup_key: string; n: number }>(
    `SELECT dedup_key, count(*) AS n FROM work_jobs WHERE state NOT IN ('failed', 'cancelled') GROUP BY dedup_key HAVING n > 1`,
  );
  if (twice.length > 0) violations.push(`${twice[0]!.dedup_key} was put out ${twice[0]!.n} times`);
  const told = read<{ task: string; n: number }>(
    `SELECT json_extract(payload, '$.task_id') AS task, count(*) AS n FROM events
     WHERE event_type = 'SELFPLAY_COMPLETE' AND source <> 'echo' GROUP BY task HAVING n > 1`,
  );
  if (told.length > 0) violations.push(`the games of ${told[0]!.task} were announced ${told[0]!.n} times`);
  return Object.entries(books.by).reduce(
    (sum, [account, games]) => sum + (account.startsWith("rejected") ? games : 0),
    0,
  );
}
