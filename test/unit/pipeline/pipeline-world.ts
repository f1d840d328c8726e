/** The units between the first game and the training file, with real router, queue and SQL, and time that the test moves. */
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { DaemonManager } from "../../../src/daemons/index.ts";
import { createUnitRuntime, type UnitRuntime } from "../../../src/daemons/unit/runtime.ts";
import type { Unit } from "../../../src/daemons/unit/shape.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { defined, type Json, seededRandom, silentLog, virtualClock } from "../../../src/kernel/index.ts";
import { autoExport } from "../../../src/pipeline/data/units/auto-export/auto-export.unit.ts";
import { dataConsolidation } from "../../../src/pipeline/data/units/data-consolidation/data-consolidation.unit.ts";
import { parityValidator } from "../../../src/pipeline/data/units/parity-validator/parity-validator.unit.ts";
import { qualityMonitor } from "../../../src/pipeline/data/units/quality-monitor/quality-monitor.unit.ts";
import { recordCrowning } from "../../../src/pipeline/models/champion-history.ts";
import { ladderKey, ladders, type RatedChampion } from "../../../src/pipeline/models/index.ts";
import { queuePopulator, selfplayOrchestrator, selfplayScheduler } from "../../../src/pipeline/selfplay/index.ts";
import {
  type ConfigPlanInput,
  configPlanSchema,
  configs,
  type Iteration,
  iterations,
  type Stage,
} from "../../../src/pipeline/stage/index.ts";
import type { PipelineSettings } from "../../../src/pipeline/stage/settings.ts";
import {
  curriculumIntegration,
  explorationScheduler,
  feedbackLoop,
  gauntletFeedback,
  metricsOrchestrator,
} from "../../../src/pipeline/steering/index.ts";
import { pipelineOrchestrator } from "../../../src/pipeline/units/pipeline-orchestrator/pipeline-orchestrator.unit.ts";
import { progressWatchdog } from "../../../src/pipeline/units/progress-watchdog/progress-watchdog.unit.ts";
import { EventRouter, type StateTable, type WriteSet } from "../../../src/router/index.ts";
import { WorkQueue } from "../../../src/work/index.ts";
import type { WorkKinds } from "../../../src/work/job/kinds.ts";
import type { JobFilter } from "../../../src/work/views.ts";
import { driver } from "../../support/virtual-time.ts";
import { PLENTY } from "../work/work-world.ts";
import { createPlayer, type PlayerOptions, pipelineKinds, sha } from "./player.ts";
import { testServices } from "./services.ts";
import { booksOf, createShelf, withSync } from "./shelf.ts";

export const KEY = "othello6_2p";
export const CHAMPION = sha("champion");

export interface PipelineWorldOptions extends PlayerOptions {
  readonly nodes?: readonly string[];
  readonly allowPendingGate?: boolean;
  readonly kinds?: WorkKinds;
  /** Time between two ticks; a test of events sets it so high that no tick comes. */
  readonly everyMs?: number;
}

const HOUR = 3_600_000;

export function pipelineWorld(options: PipelineWorldOptions = {}) {
  const clock = virtualClock();
  const store = memoryStore(withSync, clock);
  const catalog = createCatalog(builtinRows);
  const log = silentLog();
  const router = new EventRouter({ catalog, store, clock, random: seededRandom(1), log, nodeId: "n1" });
  const queue = new WorkQueue({
    router,
    store,
    clock,
    random: seededRandom(2),
    kinds: options.kinds ?? pipelineKinds,
  });
  const shelf = createShelf(store, clock);
  const player = createPlayer(options);
  const nodes = { known: [...(options.nodes ?? ["a", "b"])] };
  const strongest: RatedChampion[] = [];
  const runtimes: UnitRuntime[] = [];
  const managers: DaemonManager[] = [];
  const driven = driver(clock);
  const everyMs = options.everyMs ?? 1_000;
  /** Whether the champion of now is out, and who cannot play with it. */
  const way = { isOut: true, unfit: [] as string[] };
  const spread = { isOut: () => way.isOut, unfit: () => way.unfit };
  const services = (more: Partial<PipelineSettings> = {}) =>
    testServices(
      { clock, queue, store, catalog: shelf, workersFor: () => nodes.known, everyMs, spread },
      { allowPendingGate: options.allowPendingGate ?? false, ...more },
    );
  const units = {
    scheduler: () => selfplayScheduler(services()),
    populator: (more: Partial<PipelineSettings> = {}) => queuePopulator(services(more)),
    orchestrator: () => selfplayOrchestrator(services()),
    watchdog: () => progressWatchdog(services()),
    validator: () => parityValidator(services()),
    monitor: () => qualityMonitor(services()),
    exporter: () => autoExport(services()),
    consolidation: () => dataConsolidation(services()),
    pipeline: () => pipelineOrchestrator(services()),
    curriculum: () => curriculumIntegration(services()),
    metrics: () => metricsOrchestrator(services()),
    gauntlet: () => gauntletFeedback({ ...services(), anchors: () => ["even", "weak"] }),
    feedback: () => feedbackLoop(services()),
    exploration: () => explorationScheduler(services()),
  };
  const write = (change: (rows: WriteSet) => void) =>
    driven(router.transact({ source: "test" }, ({ rows }) => change(rows)));

  return {
    clock,
    store,
    router,
    queue,
    shelf,
    books: () => booksOf(store, clock),
    player,
    nodes,
    way,
    /** A champion that is rated so. */
    async rated(champion: RatedChampion) {
      strongest.push(champion);
      const players = strongest.map(({ model_id, elo, low, high }) => ({
        player: model_id,
        elo,
        low,
        high,
        games: 100,
        anchor: false,
        linked: true,
      }));
      await write((rows) => {
        rows.put(ladders, ladderKey(KEY, "default"), {
          config_key: KEY,
          budget: "default",
          games: 100,
          zero: null,
          players,
          at: champion.at,
        });
        rows.apply(
          recordCrowning({
            config_key: KEY,
            generation: strongest.length,
            model: champion.model_id,
            previous: null,
            iteration: strongest.length,
            cause: "gate",
            by: "test",
            evidence: {},
            at: champion.at,
          }),
        );
      });
    },
    units,
    driven,
    write,
    allUnits: (): Unit[] => [
      units.scheduler(),
      units.populator(),
      units.orchestrator(),
      units.validator(),
      units.monitor(),
      units.exporter(),
    ],
    pass: (ms: number) => driven(new Promise<void>((resolve) => void clock.after(ms, resolve))),
    /** Of the runtime that was started last. */
    manager: () => managers.at(-1)!,
    async runtime(all: readonly Unit[]): Promise<UnitRuntime> {
      const registry = { catalog, units: all, parts: [], ingress: [], excused: {}, delegations: [] };
      const manager = new DaemonManager({ clock, random: seededRandom(3), log, nodeId: "n1", pid: 1 });
      managers.push(manager);
      const runtime = createUnitRuntime({ registry, router: router as unknown as EventRouter, clock, log, manager });
      runtimes.push(runtime);
      await driven(runtime.start());
      return runtime;
    },
    plan: (given: Partial<ConfigPlanInput> = {}, key = KEY) =>
      write((rows) =>
        rows.put(configs, key, {
          plan: configPlanSchema().parse({
            config_key: key,
            seed: 7,
            games_per_iteration: 40,
            games_per_job: 10,
            ...given,
          }),
          paused: null,
        }),
      ),
    pause: (reason: string | null, key = KEY) =>
      write((rows) =>
        rows.put(configs, key, {
          ...rows.get(configs, key)!,
          paused: reason === null ? null : { by: "ann", at: clock.now(), reason },
        }),
      ),
    /** It is a stage's turn. Only the row says so unless `wake` is set. */
    async turn(stage: Stage, given: Partial<Iteration> & { wake?: boolean; key?: string } = {}) {
      const { wake = false, key = KEY, ...more } = given;
      const row: Iteration = {
        iteration: 1,
        stage,
        attempt: 1,
        state: "running",
        opened_at: clock.now(),
        stage_since: clock.now(),
        deadline: clock.now() + HOUR,
        champion: CHAMPION,
        waits: [],
        failures: [],
        not_before: null,
        ...more,
      };
      await write((rows) => rows.put(iterations, key, row));
      if (!wake) return;
      const { iteration, attempt } = row;
      const payload = { config_key: key, pipeline_stage: stage, iteration, attempts: attempt };
      await driven(router.publish("PIPELINE_STAGE_ENTERED", payload as never, { source: "test" }));
    },
    row: <T extends Json>({ table }: StateTable<T>, key = KEY): T | undefined => {
      const [found] = store.read<{ value: string }>(
        "SELECT value FROM state_rows WHERE table_name = ? AND key = ?",
        table,
        key,
      );
      return found === undefined ? undefined : (JSON.parse(found.value) as T);
    },
    said: (eventType?: string) =>
      router
        .history({ fromJournal: true, limit: 10_000, ...defined({ eventType }) })
        .map((event) => ({ eventType: event.eventType, payload: event.payload as Record<string, unknown> })),
    jobs: (workType: string, more: JobFilter = {}) => queue.list({ workType, limit: 1_000, ...more }),
    /** A node does one job; false if there was none for it. */
    async work(node = "a", kinds?: readonly string[]): Promise<boolean> {
      const [lease] = await queue.claim({
        node_id: node,
        most: 1,
        offer: PLENTY,
        ...defined({ kinds }),
      });
      if (lease === undefined) return false;
      await queue.start(lease);
      const outcome = player.do(lease, node);
      if ("failure" in outcome) await queue.fail(lease, outcome.failure);
      else await queue.complete(lease, outcome.evidence);
      return true;
    },
    /** All nodes in turn, until nothing is left to do. */
    async workAll(): Promise<number> {
      let done = 0;
      for (let idle = 0; idle < nodes.known.length; done += 1) {
        const worked = await this.work(nodes.known[done % nodes.known.length]!);
        idle = worked ? 0 : idle + 1;
      }
      return done;
    },
    async close() {
      for (const runtime of runtimes) await driven(runtime.stop());
      await driven(router.stop());
      await store.close();
    },
  };
}
export type PipelineWorld = ReturnType<typeof pipelineWorld>;
