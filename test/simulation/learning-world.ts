/**
 * A seeded world around the shipped units of training, evaluation and models: an orchestrator of a few lines, workers that
 * die with their jobs, deliveries that are dropped or doubled, and a process that crashes in the moment of a commit and starts
 * again. One seed is one history; what comes out must be the same in all of them.
 */
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import { DaemonManager, defineDaemon, type Unit, type UnitContext } from "../../src/daemons/index.ts";
import { createUnitRuntime } from "../../src/daemons/unit/runtime.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import {
  type Clock,
  isOperatingError,
  pick,
  type Random,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../src/kernel/index.ts";
import { createRatingEngine } from "../../src/pipeline/evaluation/rating-engine.ts";
import { evaluationModule } from "../../src/pipeline/evaluation/tables.ts";
import { champions } from "../../src/pipeline/models/champion.ts";
import { modelsModule } from "../../src/pipeline/models/tables.ts";
import {
  configPlanSchema,
  configs,
  evaluationWork,
  exportWork,
  type Iteration,
  isFor,
  iterations,
  promotionWork,
  type StageWork,
  syncWork,
  trainingWork,
} from "../../src/pipeline/stage/index.ts";
import { type AnyEvent, createWriteSet, EventRouter } from "../../src/router/index.ts";
import { type EvidenceInput, type Lease, WorkQueue } from "../../src/work/index.ts";
import { defineKind } from "../../src/work/job/kinds.ts";
import { type FileShelf, fileShelf, inputOf, learningUnits, playMatch, sha } from "../unit/pipeline/learning-world.ts";
import { testServices } from "../unit/pipeline/services.ts";

export interface LearningFaults {
  /** Chance that a delivery never reaches its handler, and that it does twice. */
  readonly drop: number;
  readonly double: number;
  /** Chance of a crash around a commit. */
  readonly crash: number;
  /** Chance that a worker dies with a job. */
  readonly death: number;
}

export const CALM: LearningFaults = { drop: 0, double: 0, crash: 0, death: 0 };
export const ROUGH: LearningFaults = { drop: 0.2, double: 0.2, crash: 0.004, death: 0.05 };

/** A fault that is planted in the world, to prove that the test would see it. */
export type LearningPlant = "none" | "second-crown";

export interface LearningReport {
  /** What was champion, from which iteration on and why. */
  readonly champions: readonly string[];
  readonly verdicts: readonly string[];
  readonly violations: readonly string[];
  readonly crashes: number;
  readonly dropped: number;
  readonly doubled: number;
  readonly ended: boolean;
}

/** Each once, whether the program has it among its own or not. */
const modules = [
  ...new Map([...storeModules, modelsModule, evaluationModule].map((module) => [module.name, module])).values(),
];

const CONFIG = "sim_2p";
const NODE_MS = 3_600_000;
const OFFER = { cpu: 4, gpu: 0, memory_gb: 16, gpu_memory_gb: 0, tags: [] };
const kinds = {
  training: defineKind({ evidence: { outputs: 1, counts: [] }, maxAttempts: 100 }),
  evaluation: defineKind({ evidence: { outputs: 0, counts: ["games"] }, maxAttempts: 100 }),
};
const plan = configPlanSchema().parse({
  config_key: CONFIG,
  seed: 3,
  kinds: ["selfplay", "training", "evaluation"],
  least_rows: 10,
  games_per_iteration: 100,
  rating_share: 0.2,
  gate: { batch_blocks: 8, most_blocks: 64 },
});

/** The stages that are not in this world leave a file for each round, always the same. */
const leaveData = (iteration: number, { rows, now }: UnitContext<"PIPELINE_STAGE_ENTERED">) => {
  const file = (name: string) => ({ sha256: sha(name), kind: "training_set", bytes: 10, rows: 100 });
  const window = Array.from({ length: iteration }, (_, i) => ({
    ...file(`shard ${i + 1}`),
    first_iteration: i + 1,
    last_iteration: i + 1,
    holdout: null,
  }));
  const done = {
    iteration,
    attempt: 1,
    state: "done" as const,
    since: now,
    ended_at: now,
    jobs: {},
    outputs: [],
    evidence: {},
    failure: null,
    waits: [],
  };
  rows.put(syncWork, CONFIG, { ...done, own: { accepted: [], rejected: [] } });
  rows.put(exportWork, CONFIG, { ...done, own: { window, total_rows: 100 * iteration, new_rows: 100 } });
};

/** Says whose turn it is, as the real one does: by rows, with an event to save the wait. */
const orchestrator = (most: number) => {
  const enter = (
    iteration: number,
    stage: Iteration["stage"],
    attempt: number,
    context: UnitContext<"PIPELINE_STAGE_ENTERED">,
  ) => {
    const { rows, now, emit } = context;
    if (stage === "training" && iteration > 0) leaveData(iteration, context);
    const opened = {
      opened_at: now,
      stage_since: now,
      deadline: now + NODE_MS,
      waits: [],
      failures: [],
      not_before: null,
    };
    const champion = rows.get(champions, CONFIG)?.model ?? null;
    rows.put(iterations, CONFIG, {
      ...opened,
      iteration,
      stage,
      attempt,
      state: iteration > most ? "complete" : "running",
      champion,
    });
    if (iteration <= most)
      emit.PIPELINE_STAGE_ENTERED({ config_key: CONFIG, pipeline_stage: stage, iteration, attempts: attempt });
  };
  return defineDaemon({
    name: "pipeline_orchestrator",
    layer: 6,
    placement: "leader",
    emits: ["PIPELINE_STAGE_ENTERED"],
    loop: {
      everyMs: 1_000,
      tick(context) {
        const { rows } = context;
        const at = rows.get(iterations, CONFIG);
        if (at === undefined) return enter(0, "training", 1, context);
        const tables = { training: trainingWork, evaluation: evaluationWork, promotion: promotionWork } as const;
        const work = rows.get(tables[at.stage as "training"] as never, CONFIG) as StageWork | undefined;
        if (at.state === "complete" || !isFor(work, at) || work!.state === "running") return;
        if (work!.state === "failed") return enter(at.iteration, at.stage, at.attempt + 1, context);
        if (at.stage === "training")
          return enter(at.iteration, at.iteration === 0 ? "promotion" : "evaluation", 1, context);
        if (at.stage === "evaluation") return enter(at.iteration, "promotion", 1, context);
        enter(at.iteration + 1, "training", 1, context);
      },
    },
  });
};

/** Events that the world told a second time. */
const TWICE = "told twice";

/** Deliveries that are lost, and events that come a second time, when the first has had its effect. */
const unreliable = (
  unit: Unit,
  faults: LearningFaults,
  random: Random,
  onDrop: () => void,
  again: (event: AnyEvent) => void,
): Unit => ({
  ...unit,
  behaviour: {
    ...unit.behaviour,
    async handle(event, context) {
      const luck = random.next();
      if (luck < faults.drop) return onDrop();
      if (luck > 1 - faults.double && event.source !== TWICE) context.afterCommit(() => again(event));
      await unit.behaviour.handle(event, context);
    },
  },
});

interface Process {
  alive: boolean;
  queue: WorkQueue;
}

export async function simulateLearning(
  seed: number,
  faults: LearningFaults,
  most = 6,
  plant: LearningPlant = "none",
): Promise<LearningReport> {
  const random = seededRandom(seed);
  const clock = virtualClock();
  const writer = memoryWriter(modules);
  const shelf: FileShelf = fileShelf();
  /** Strength follows from content: what a model was trained on, and luck that is in its bytes. */
  const strengths = new Map<string, number>();
  const violations: string[] = [];
  let crashes = 0;
  let dropped = 0;
  let doubled = 0;
  let over = false;
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

  const crash = (mine: Process): boolean => {
    crashes += 1;
    mine.alive = false;
    clock.after(100 + pick(random, 1_000), () => {
      current = boot();
    });
    return true;
  };

  const boot = (): Process => {
    const mine: Process = { alive: true, queue: undefined as never };
    const own: Clock = { ...clock, after: (ms, run) => clock.after(ms, () => (mine.alive ? run() : undefined)) };
    const store = inThreadStore(writer, {
      clock: own,
      carry: (apply) =>
        void clock.after(0, () => {
          if (!mine.alive) return;
          const luck = random.next();
          if (!over && luck < faults.crash / 2 && crash(mine)) return;
          const answer = apply();
          if (!over && luck >= faults.crash / 2 && luck < faults.crash && crash(mine)) return;
          clock.after(0, () => (mine.alive ? answer() : undefined));
        }),
    });
    const catalog = createCatalog(builtinRows);
    const log = silentLog();
    const router = new EventRouter({ catalog, store, clock: own, random, log, nodeId: "sim" });
    mine.queue = new WorkQueue({
      router,
      store,
      clock: own,
      random,
      kinds,
      lease: { silentMs: 10_000, graceMs: 2_000 },
      limits: { maxReturns: 100 },
    });
    const drop = () => {
      dropped += 1;
    };
    const again = ({ eventType, payload }: AnyEvent) => {
      doubled += 1;
      // With its process the second telling may die: then it was told once.
      router.publish(eventType, payload as never, { source: TWICE }).catch(() => undefined);
    };
    const units = [
      ...learningUnits(
        testServices({
          clock: own,
          queue: mine.queue,
          store,
          readArtifact: ({ sha256 }) => shelf.read(sha256),
          engine: createRatingEngine(1_000),
          anchors: () => ["random", "mcts"],
        }),
      ),
      orchestrator(most),
    ].map((unit) => unreliable(unit as Unit, faults, random, drop, again));
    const registry = { catalog, units, parts: [], ingress: [], excused: {}, delegations: [] };
    const manager = new DaemonManager({ clock: own, random, log, nodeId: "sim", pid: 1 });
    const runtime = createUnitRuntime({ registry, router: router as unknown as EventRouter, clock: own, log, manager });
    const begin = async () => {
      if (createWriteSet(store).get(configs, CONFIG) === undefined)
        await router.transact({ source: "test" }, ({ rows }) => rows.put(configs, CONFIG, { plan, paused: null }));
      await runtime.start();
    };
    begin().catch((thrown: unknown) => {
      if (mine.alive) violations.push(`the process does not start: ${String(thrown)}`);
    });
    return mine;
  };
  let current = boot();

  /** A call that a crash leaves without an answer. */
  const call = async <T>(run: (queue: WorkQueue) => Promise<T>): Promise<T | undefined> => {
    const asked = current;
    const answer = run(asked.queue).catch((thrown: unknown) => {
      if (!isOperatingError(thrown)) throw thrown;
      return undefined;
    });
    return Promise.race([answer, wait(3_000).then(() => undefined)]);
  };

  const evidenceOf = (lease: Lease): EvidenceInput => {
    if (lease.work_type === "evaluation") return playMatch(lease, shelf, (player) => strengths.get(player) ?? 0);
    const { parameters, seed: its, inputs } = inputOf(lease);
    const text = JSON.stringify([parameters, its, inputs]);
    const fresh = parameters.fresh === true;
    const model = shelf.put(`model ${text}`);
    const checkpoint = shelf.put(`checkpoint ${text}`);
    const base = strengths.get(inputs.find(({ name }) => name === "checkpoint")?.sha256 ?? "") ?? 0;
    const luck = Number.parseInt(sha(text).slice(0, 4), 16) / 0xffff;
    const strength = fresh ? 0 : base + 300 * luck - 60;
    strengths.set(model.sha256, strength);
    strengths.set(checkpoint.sha256, strength);
    return {
      outputs: [
        { name: "model.arena", ...model },
        { name: "checkpoint.arena", ...checkpoint },
      ],
      counts: fresh ? { fresh: 1, steps: 0 } : { steps: 5, rows: 100 },
      summary: fresh ? {} : { policy_loss: 1.5, value_loss: 0.5 },
    };
  };

  const worker = async (name: string) => {
    for (let life = 0; !over; life += 1) {
      const node_id = `${name}.${life}`;
      for (let lives = true; lives && !over; ) {
        const leases = await call((queue) => queue.claim({ node_id, most: 1, offer: OFFER }));
        const lease = leases?.[0];
        if (lease === undefined) {
          await wait(200 + pick(random, 300));
          continue;
        }
        await call((queue) => queue.start(lease));
        await wait(50 + pick(random, 500));
        lives = random.next() >= faults.death;
        if (!lives) break;
        const evidence = evidenceOf(lease);
        // Said until it is answered: a result is not lost because an answer is.
        for (
          let tries = 0;
          tries < 5 && (await call((queue) => queue.complete(lease, evidence))) === undefined;
          tries += 1
        )
          await wait(500);
      }
      await wait(pick(random, 2_000));
    }
  };

  const reaper = async () => {
    while (!over) {
      await wait(2_000);
      await call((queue) => queue.reap());
    }
  };

  const read = <T>(sql: string): T[] => writer.db.prepare(sql).all() as T[];
  const isComplete = () =>
    read<{ value: string }>(`SELECT value FROM state_rows WHERE table_name = 'pipeline_iterations'`).some(
      ({ value }) => (JSON.parse(value) as Iteration).state === "complete",
    );

  const judge = async (): Promise<boolean> => {
    const until = clock.now() + 6 * NODE_MS;
    for (;;) {
      await wait(1_000);
      const [row] = read<{ value: string }>(`SELECT value FROM state_rows WHERE table_name = 'pipeline_champions'`);
      if (row !== undefined) {
        const { model } = JSON.parse(row.value) as { model: string };
        if (!shelf.files.has(model)) violations.push(`the champion ${model} does not exist`);
      }
      if (isComplete()) return true;
      if (clock.now() > until) return false;
    }
  };

  const tasks = [worker("a"), worker("b"), reaper()];
  const judged = judge();
  let done = false;
  judged.then(
    () => (done = true),
    () => (done = true),
  );
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve));
  await breathe();
  while (!done) {
    clock.step();
    await breathe();
  }
  const ended = await judged;
  if (plant === "second-crown")
    writer.db.exec(
      `INSERT INTO champion_history SELECT config_key, generation + 1, model, previous, iteration, 'gate', by, evidence, at
       FROM champion_history ORDER BY generation DESC LIMIT 1`,
    );
  over = true;
  void tasks;
  const history = read<{ generation: number; model: string; cause: string; iteration: number }>(
    "SELECT generation, model, cause, iteration FROM champion_history ORDER BY generation",
  );
  const verdicts = read<{ iteration: number; verdict: string; candidate: string; games: number; llr: number }>(
    "SELECT iteration, verdict, candidate, games, llr FROM gate_verdicts ORDER BY iteration, attempt",
  );
  checkHistory(writer, history, verdicts, violations);
  return {
    champions: history.map(({ iteration, cause, model }) => `${iteration} ${cause} ${model}`),
    verdicts: verdicts.map(
      ({ iteration, verdict, candidate, games, llr }) => `${iteration} ${verdict} ${candidate} ${games} ${llr}`,
    ),
    violations: [...new Set(violations)],
    crashes,
    dropped,
    doubled,
    ended,
  };
}

/** One promotion for each verdict, never two; nothing counted twice; nothing crowned that does not exist. */
function checkHistory(
  writer: SqliteWriter,
  history: readonly { generation: number; model: string; cause: string; iteration: number }[],
  verdicts: readonly { iteration: number; verdict: string; candidate: string; games: number }[],
  violations: string[],
): void {
  const read = <T>(sql: string): T[] => writer.db.prepare(sql).all() as T[];
  const promoted = verdicts.filter(({ verdict }) => verdict === "promote");
  const crowned = history.filter(({ cause }) => cause === "gate");
  for (const { iteration, candidate } of promoted) {
    const times = crowned.filter((line) => line.iteration === iteration && line.model === candidate).length;
    if (times !== 1) violations.push(`the verdict of iteration ${iteration} led to ${times} promotions`);
  }
  if (crowned.length !== promoted.length)
    violations.push(`${crowned.length} promotions from ${promoted.length} verdicts`);
  const told = read<{ payload: string }>(
    "SELECT payload FROM events WHERE event_type = 'MODEL_PROMOTED' AND source <> 'told twice'",
  );
  if (told.length !== crowned.length)
    violations.push(`${told.length} promotions were told, ${crowned.length} happened`);
  const registered = new Set(read<{ model: string }>("SELECT model FROM model_registry").map(({ model }) => model));
  for (const { model } of history.slice(0, -1))
    if (!registered.has(model)) violations.push(`champion ${model} is in no registry`);
  for (const { candidate, games } of verdicts) {
    const [sum] = read<{ games: number }>(
      `SELECT coalesce(sum(games), 0) AS games FROM match_tallies WHERE purpose = 'gate' AND candidate = '${candidate}'`,
    );
    if (sum!.games !== games)
      violations.push(`the ledger has ${sum!.games} games of ${candidate}, its verdict ${games}`);
  }
  const [books] = read<{ blocks: number; counted: number }>(
    "SELECT (SELECT count(*) FROM match_ledger) AS blocks, (SELECT sum(blocks) FROM match_tallies) AS counted",
  );
  if (books!.blocks !== books!.counted) violations.push(`${books!.blocks} blocks are counted as ${books!.counted}`);
}
