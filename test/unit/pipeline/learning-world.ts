/**
 * The units of training, evaluation and models over a real router, queue and SQLite in memory, with a clock that only the
 * test moves. The test is the orchestrator and the worker: it says whose turn it is, and does the jobs.
 */
import { hash } from "node:crypto";
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { DaemonManager, type Part, type Unit } from "../../../src/daemons/index.ts";
import { createUnitRuntime, type UnitRuntime } from "../../../src/daemons/unit/runtime.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import {
  defined,
  type Json,
  OperatingError,
  seededRandom,
  silentLog,
  virtualClock,
} from "../../../src/kernel/index.ts";
import { eloService, evaluationDaemon, modelPerformanceWatchdog } from "../../../src/pipeline/evaluation/index.ts";
import { createRatingEngine } from "../../../src/pipeline/evaluation/rating-engine.ts";
import { evaluationModule } from "../../../src/pipeline/evaluation/tables.ts";
import type { PipelineServices } from "../../../src/pipeline/index.ts";
import { champions } from "../../../src/pipeline/models/champion.ts";
import { modelCoordinator } from "../../../src/pipeline/models/index.ts";
import { modelsModule } from "../../../src/pipeline/models/tables.ts";
import { autoPromotion, modelRollback } from "../../../src/pipeline/promotion/index.ts";
import {
  type ConfigPlanInput,
  configPlanSchema,
  configs,
  evaluationWork,
  exportWork,
  type Iteration,
  iterations,
  type Stage,
  syncWork,
  trainingWork,
} from "../../../src/pipeline/stage/index.ts";
import { trainingCoordinator, trainingTrigger } from "../../../src/pipeline/training/index.ts";
import {
  createWriteSet,
  EventRouter,
  type StateTable,
  type Store,
  type StoreModule,
  type WriteSet,
} from "../../../src/router/index.ts";
import { type EvidenceInput, type Lease, WorkQueue } from "../../../src/work/index.ts";
import { defineKind, type WorkKinds } from "../../../src/work/job/kinds.ts";
import { driver } from "../../support/virtual-time.ts";
import { testServices } from "./services.ts";

const CONFIG = "tictac_2p";
const PLENTY = { cpu: 1_000, gpu: 1_000, memory_gb: 100_000, gpu_memory_gb: 100, tags: [] as string[] };

const own = [modelsModule, evaluationModule];
const learningModules: readonly StoreModule[] = [
  ...storeModules.filter(({ name }) => !own.some((module) => module.name === name)),
  ...own,
];

const learningKinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }),
  training: defineKind({ evidence: { outputs: 1, counts: [] } }),
  evaluation: defineKind({ evidence: { outputs: 0, counts: ["games"] } }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
} satisfies WorkKinds;

export const sha = (text: string): string => hash("sha256", text, "hex");

interface JobInput {
  readonly parameters: { readonly [name: string]: Json };
  readonly seed: number;
  readonly inputs: readonly { readonly name: string; readonly sha256: string }[];
}
export const inputOf = (lease: Lease): JobInput => lease.payload as unknown as JobInput;

/** Files by hash, as a store would hand them out. */
export function fileShelf() {
  const files = new Map<string, Uint8Array>();
  const trouble: { fault: OperatingError | undefined } = { fault: undefined };
  return {
    files,
    /** What every read ends with while it is set. */
    trouble,
    put(text: string): { sha256: string; bytes: number } {
      const bytes = Buffer.from(text);
      const sha256 = hash("sha256", bytes, "hex");
      files.set(sha256, bytes);
      return { sha256, bytes: bytes.length };
    },
    async read(sha256: string): Promise<Uint8Array> {
      if (trouble.fault !== undefined) throw trouble.fault;
      const found = files.get(sha256);
      if (found === undefined) throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `there is no artifact ${sha256}`);
      return found;
    },
  };
}
export type FileShelf = ReturnType<typeof fileShelf>;

/** Results of a match whose outcome follows from the strengths, the seed and the block alone, as those of real games do. */
export function playMatch(
  lease: Lease,
  shelf: FileShelf,
  eloOf: (player: string) => number,
  players = 2,
): EvidenceInput {
  const { parameters, seed } = inputOf(lease);
  const { candidate, opponent, blocks, first_block } = parameters as {
    candidate: string;
    opponent: string;
    blocks: number;
    first_block: number;
  };
  const odds = 10 ** ((eloOf(candidate) - eloOf(opponent)) / 400);
  const chance = odds / (odds + players - 1);
  const played = Array.from({ length: blocks }, (_, i) => {
    const block = first_block + i;
    const random = seededRandom(Number.parseInt(sha(`${seed}/${block}/${candidate}/${opponent}`).slice(0, 8), 16));
    const scores = Array.from({ length: players }, () => {
      const luck = random.next();
      return luck < 0.1 ? 1 / players : (luck - 0.1) / 0.9 < chance ? 1 : 0;
    });
    return { opening: `${seed}-${block}`, scores };
  });
  const file = shelf.put(`${JSON.stringify({ candidate, opponent, blocks: played })}\n`);
  const scores = played.flatMap((block) => block.scores);
  return {
    outputs: [{ name: "pairs.jsonl", ...file }],
    counts: {
      games: scores.length,
      wins: scores.filter((score) => score === 1).length,
      losses: scores.filter((score) => score === 0).length,
    },
    summary: { score: scores.reduce((sum, score) => sum + score, 0) / scores.length, redundancy: 0.07 },
  };
}

/** A trained model is a file whose bytes follow from what the job was given. */
export function train(lease: Lease, shelf: FileShelf, losses: { [name: string]: Json } = {}): EvidenceInput {
  const { parameters, seed, inputs } = inputOf(lease);
  const text = JSON.stringify([lease.config_key, parameters, seed, inputs]);
  const fresh = parameters.fresh === true;
  return {
    outputs: [
      { name: "model.arena", ...shelf.put(`model ${text}`) },
      { name: "checkpoint.arena", ...shelf.put(`checkpoint ${text}`) },
    ],
    counts: fresh ? { fresh: 1, steps: 0 } : { steps: 40, rows: 2_000 },
    summary: fresh ? {} : { policy_loss: 1.2, value_loss: 0.6, validation_loss: 1.9, ...losses },
  };
}

/** The units of training, evaluation and models. */
export const learningUnits = (services: PipelineServices): readonly Unit[] => [
  modelCoordinator(services),
  trainingCoordinator(services),
  trainingTrigger(services),
  evaluationDaemon(services),
  eloService(services),
  modelPerformanceWatchdog(services),
  autoPromotion(services),
  modelRollback(services),
];

type Chosen = Partial<
  Pick<PipelineServices, "catalog" | "anchors" | "holders" | "freeSlots" | "workersFor" | "isOfOthers">
>;

export interface WorldOptions extends Chosen {
  readonly settings?: Partial<PipelineServices["settings"]>;
  readonly plan?: Partial<ConfigPlanInput>;
  readonly configKey?: string;
  /** Units to run; all eight unless said. */
  readonly only?: readonly string[];
  /** Units besides. */
  readonly more?: (services: PipelineServices) => readonly Unit[];
}

export async function learningWorld(options: WorldOptions = {}) {
  const clock = virtualClock();
  const store: Store = memoryStore(learningModules, clock);
  const catalog = createCatalog(builtinRows);
  const log = silentLog();
  const router = new EventRouter({ catalog, store, clock, random: seededRandom(1), log, nodeId: "n1" });
  const queue = new WorkQueue({
    router,
    store,
    clock,
    random: seededRandom(2),
    kinds: learningKinds,
  });
  const driven = driver(clock);
  const shelf = fileShelf();
  const engine = createRatingEngine();
  const configKey = (options.configKey ?? CONFIG) as `${string}_2p`;
  const strengths = new Map<string, number>();
  const players = Number(/_(\d)p$/.exec(configKey)![1]);
  const { plan: _plan, configKey: _key, only, more, settings, ...chosen } = options;
  const services = testServices(
    { clock, queue, store, engine, readArtifact: ({ sha256 }) => shelf.read(sha256), ...chosen },
    settings,
  );
  const units = learningUnits(services);
  const change = (write: (rows: WriteSet) => void) => router.transact({ source: "test" }, ({ rows }) => write(rows));
  const plan = configPlanSchema().parse({
    config_key: configKey,
    seed: 7,
    kinds: ["selfplay", "training", "evaluation"],
    least_rows: 100,
    gate: { batch_blocks: 10, most_blocks: 100 },
    ...options.plan,
  });
  await driven(change((rows) => rows.put(configs, configKey, { plan, paused: null })));
  const runtimes: UnitRuntime[] = [];
  const managers: DaemonManager[] = [];

  const start = async (parts: readonly Part[] = []) => {
    const chosen = units.filter(({ name }) => only === undefined || only.includes(name));
    const registry = {
      catalog,
      units: [...chosen, ...(more?.(services) ?? [])],
      parts,
      ingress: [],
      excused: {},
      delegations: [],
    };
    const manager = new DaemonManager({ clock, random: seededRandom(3), log, nodeId: "n1", pid: 1 });
    managers.push(manager);
    const runtime = createUnitRuntime({ registry, router: router as unknown as EventRouter, clock, log, manager });
    runtimes.push(runtime);
    await driven(runtime.start());
    return runtime;
  };
  await start();

  const world = {
    clock,
    store,
    router,
    queue,
    shelf,
    units,
    strengths,
    configKey,
    plan,
    driven,
    change,
    services,
    runtime: runtimes[0]!,
    manager: () => managers.at(-1)!,
    /** The process ends and another one begins: nothing is left but rows. */
    async restart() {
      await driven(runtimes.at(-1)!.stop());
      await start();
    },
    pass: (ms: number) => driven(new Promise<void>((resolve) => void clock.after(ms, resolve))),
    row: <T extends Json>(table: StateTable<T>, key: string = configKey): T | undefined =>
      createWriteSet(store).get(table, key),
    champion: () => createWriteSet(store).get(champions, configKey),
    /** The orchestrator's word: this stage of this iteration is due. */
    async turn(stage: Stage, iteration: number, attempt = 1, changes: Partial<Iteration> = {}) {
      const row: Iteration = {
        iteration,
        stage,
        attempt,
        state: "running",
        opened_at: clock.now(),
        stage_since: clock.now(),
        deadline: clock.now() + 3_600_000,
        champion: createWriteSet(store).get(champions, configKey)?.model ?? null,
        waits: [],
        failures: [],
        not_before: null,
        ...changes,
      };
      await driven(change((rows) => rows.put(iterations, configKey, row)));
      await driven(
        router
          .publish(
            "PIPELINE_STAGE_ENTERED",
            { config_key: configKey, pipeline_stage: stage, iteration, attempts: attempt },
            { source: "test" },
          )
          .then(() => undefined),
      );
      await world.pass(50);
    },
    /** What the stages before training leave behind. */
    async exported(iteration: number, rows = 1_000, evidence: { [name: string]: Json } = {}) {
      const shard = (n: number) => {
        const { sha256, bytes } = shelf.put(`shard ${configKey} ${n}`);
        const held = shelf.put(`holdout ${configKey} ${n}`);
        return {
          sha256,
          kind: "training_set",
          bytes,
          rows,
          first_iteration: n,
          last_iteration: n,
          holdout: { ...held, kind: "holdout", rows: 20 },
        };
      };
      const window = Array.from({ length: iteration }, (_, i) => shard(i + 1));
      const done = {
        iteration,
        attempt: 1,
        state: "done" as const,
        since: clock.now(),
        ended_at: clock.now(),
        jobs: {},
        outputs: [],
        failure: null,
        waits: [],
      };
      const segment = {
        part: "p0",
        work_id: "w0",
        producer: "n1",
        games: 160,
        rows,
        games_file: null,
        samples_file: { sha256: sha("samples"), kind: "samples", bytes: 1, rows },
      };
      await driven(
        change((set) => {
          set.put(syncWork, configKey, { ...done, evidence, own: { accepted: [segment], rejected: [] } });
          set.put(exportWork, configKey, {
            ...done,
            evidence: {},
            own: { window, total_rows: rows * iteration, new_rows: rows },
          });
        }),
      );
    },
    async claim(work_type?: string): Promise<Lease | undefined> {
      const [lease] = await queue.claim({
        node_id: "worker",
        most: 1,
        offer: PLENTY,
        ...(work_type === undefined ? {} : { kinds: [work_type] }),
      });
      return lease;
    },
    /** Does one job as the built-in workload would. */
    async finish(lease: Lease) {
      await queue.start(lease);
      const eloOf = (player: string) => strengths.get(player) ?? 0;
      const evidence = lease.work_type === "training" ? train(lease, shelf) : playMatch(lease, shelf, eloOf, players);
      await queue.complete(lease, evidence);
      await world.pass(20);
    },
    /** Does jobs until none is left, or until so many are done. */
    async work(most = 1_000, until: () => boolean = () => false): Promise<number> {
      let done = 0;
      for (let idle = 0; done < most && idle < 3 && !until(); ) {
        const lease = await world.claim();
        if (lease === undefined) {
          idle += 1;
          await world.pass(1_500);
          continue;
        }
        idle = 0;
        done += 1;
        await world.finish(lease);
      }
      return done;
    },
    /** The first champion, made from nothing. */
    async first(): Promise<string> {
      await world.turn("training", 0);
      await world.work(1, () => world.row(trainingWork)?.state === "done");
      await world.turn("promotion", 0);
      return world.champion()!.model;
    },
    /** Trains a candidate that is so much stronger than the champion. */
    async trained(iteration: number, gain: number): Promise<string> {
      await world.exported(iteration);
      await world.turn("training", iteration);
      await world.work(1_000, () => {
        const work = world.row(trainingWork);
        return work?.iteration === iteration && work.state === "done";
      });
      const candidate = world.row(trainingWork)!.own.model!;
      strengths.set(candidate, (strengths.get(world.champion()!.model) ?? 0) + gain);
      return candidate;
    },
    /** Lets the gate of an iteration come to its end. */
    async evaluated(iteration: number) {
      await world.turn("evaluation", iteration);
      await world.work(1_000, () => {
        const work = world.row(evaluationWork);
        return work?.iteration === iteration && work.state !== "running";
      });
      return world.row(evaluationWork)!;
    },
    /** One round of training, evaluation and promotion. */
    async round(iteration: number, gain: number): Promise<string> {
      const candidate = await world.trained(iteration, gain);
      await world.evaluated(iteration);
      await world.turn("promotion", iteration);
      return candidate;
    },
    said: (eventType?: string) =>
      router
        .history({ fromJournal: true, limit: 10_000, ...defined({ eventType }) })
        .map((event) => ({ eventType: event.eventType, payload: event.payload as Record<string, unknown> })),
    /** Fails the test when a unit had to swallow something. */
    troubles: () =>
      runtimes.flatMap((runtime) =>
        runtime
          .status()
          .filter(({ failed_events, tick_errors }) => failed_events + tick_errors > 0)
          .map(({ name, recent_errors }) => `${name}: ${JSON.stringify(recent_errors)}`),
      ),
    async close() {
      for (const runtime of runtimes) await driven(runtime.stop());
      await driven(router.stop());
      await store.close();
      await engine.close();
    },
  };
  return world;
}
export type LearningWorld = Awaited<ReturnType<typeof learningWorld>>;
