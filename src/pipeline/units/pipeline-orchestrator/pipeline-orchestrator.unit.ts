import type { Wiring } from "../../../daemons/index.ts";
import { sumOf } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { rescues } from "../../../sync/index.ts";
import { consolidations } from "../../data/index.ts";
import { champions } from "../../models/index.ts";
import { entriesOf } from "../../selfplay/index.ts";
import type { PipelineServices } from "../../services.ts";
import {
  defineConfigUnit,
  everyMs,
  type Iteration,
  iterations,
  type LookOf,
  openedWith,
  STAGES,
  selfplayWork,
  syncWork,
  trainingWork,
  undertakingOf,
  withOpened,
  workOf,
} from "../../stage/index.ts";
import { knobsAt } from "../../steering/index.ts";
import { endedStage } from "../../tables.ts";
import { type PipelineView, reconcile, type Step } from "./decide.ts";
import { noteOrphans, rescueOrphans } from "./rescue.ts";

const wiring = {
  name: "pipeline_orchestrator",
  layer: 6,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "pipeline",
  daemonTypes: ["DATA_PIPELINE"],
  alsoKnownAs: ["DataPipelineOrchestrator", "DataPipeline"],
  pattern: "WIRE",
  dependsOn: ["selfplay_orchestrator", "training_coordinator"],
  emits: ["PIPELINE_STAGE_ENTERED", "NEW_GAMES_AVAILABLE", "EXPORT_TRIGGERED", "ORPHAN_GAMES_REGISTERED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/** Games that a config has, all in all, and how many of them came from elsewhere. Rows of older versions do not say. */
const totals = defineTable<{ readonly games: number; readonly brought?: number }>("pipeline_totals");

/**
 * Drives the stage rows of every config until the loop closes, again and again. The rows are the truth; events only save it
 * the wait for the next tick. It starts nothing itself: it says whose turn it is.
 */
export const pipelineOrchestrator = (services: PipelineServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { iterations, openedWith, totals, rescues } },
    wakes: [
      "SELFPLAY_COMPLETE",
      "DATA_SYNC_STARTED",
      "DATA_SYNC_COMPLETED",
      "DATA_SYNC_FAILED",
      "GAME_SYNCED",
      "SYNC_TRIGGERED",
      "SYNC_CHECKSUM_FAILED",
      "S3_BACKUP_COMPLETED",
      "CONSOLIDATION_STARTED",
      "CONSOLIDATION_COMPLETE",
      "REPAIR_COMPLETED",
      "REPAIR_FAILED",
      "PRIORITY_SYNC_COMPLETED",
      "PRIORITY_SYNC_FAILED",
      "PARITY_VALIDATION_COMPLETED",
      "QUALITY_SCORE_UPDATED",
      "NPZ_EXPORT_COMPLETE",
      "NPZ_COMBINATION_COMPLETE",
      "NPZ_COMBINATION_FAILED",
      "TRAINING_COMPLETED",
      "TRAINING_FAILED",
      "EVALUATION_COMPLETED",
      "EVALUATION_FAILED",
      "MODEL_EVALUATION_BLOCKED",
      "PROMOTION_CANDIDATE",
      "MODEL_PROMOTED",
      "PROMOTION_REJECTED",
      "PROMOTION_FAILED",
      "CACHE_INVALIDATED",
      "CPU_PIPELINE_JOB_COMPLETED",
    ],
    on: {
      ORPHAN_GAMES_DETECTED: async ({ payload }, context) => {
        noteOrphans(context, payload);
        await rescueOrphans(services, context);
      },
    },
    everyMs: everyMs(services),
    look: (look) => {
      countBrought(look);
      drive(services, look);
    },
    afterAll: (context) => rescueOrphans(services, context),
    health: ({ rows }) => {
      const all = rows.list(iterations);
      const failed = all.filter(([, { state }]) => state === "failed").map(([key]) => key);
      return {
        status: failed.length === 0 ? "running" : "degraded",
        message: failed.length === 0 ? "" : `needs a person: ${failed.join(", ")}`,
        details: Object.fromEntries(
          all.map(([key, { iteration, stage, state }]) => [key, `${iteration} ${stage} ${state}`]),
        ),
      };
    },
  });

/** What was brought and merged counts for the config like what was played. */
function countBrought({ row, put, emit, configKey: config_key }: Look): void {
  const { games = 0, brought = 0 } = row(totals) ?? {};
  const merged = row(consolidations)?.set?.count ?? 0;
  if (merged <= brought) return;
  const total_games = games + merged - brought;
  put(totals, { games: total_games, brought: merged });
  emit.NEW_GAMES_AVAILABLE({ config_key, new_games: merged - brought, total_games });
}

function drive(services: PipelineServices, look: Look): void {
  const { log, afterCommit, row, configKey: config_key } = look;
  // One step leads to the next only through somebody's work: a few are enough, and there is no endless round.
  for (let i = 0; i < STAGES.length; i += 1) {
    const step = reconcile({
      now: look.now,
      config: look,
      iteration: row(iterations),
      work: Object.fromEntries(STAGES.map((stage) => [stage, row(workOf[stage])])) as PipelineView["work"],
      champion: row(champions)?.model,
      isTriedFirst: services.isOfOthers?.(config_key) === true && look.plan.kinds.includes("evaluation"),
      knobs: (iteration) => knobsAt(services.store, look.rows, look.plan, iteration),
    });
    if (step.kind === "stay") {
      if (i === 0) handOver(services, look, step.iteration);
      return;
    }
    look.put(iterations, step.iteration);
    const { knobs } = step.iteration;
    if (knobs !== undefined) look.put(openedWith, withOpened(row(openedWith), step.iteration.iteration, knobs));
    const { iteration, stage, attempt, state } = step.iteration;
    const moved = { config_key, how: step.kind, iteration, stage, attempt, state };
    // Said once, however often the work had to be begun anew.
    afterCommit(() => log[step.kind === "failed" ? "warn" : "debug"]("a config moved", moved));
    emitStep(look, step);
    handOver(services, look, step.iteration);
  }
}

/** What belongs to the step besides the row. */
function emitStep({ rows, row, put, emit, now, configKey: config_key }: Look, { iteration: at, ended }: Step): void {
  const { iteration, stage, attempt, state } = at;
  if (ended !== undefined) rows.apply(endedStage(config_key, ended.stage, ended.work, now));
  if (ended?.stage === "data_sync" && ended.work.state === "done") {
    const games = sumOf(row(syncWork)!.own.accepted, (segment) => segment.games);
    const total_games = (row(totals)?.games ?? 0) + games;
    put(totals, { ...row(totals), games: total_games });
    if (games > 0) emit.NEW_GAMES_AVAILABLE({ config_key, new_games: games, total_games });
    emit.EXPORT_TRIGGERED({ config_key, reason: `iteration ${iteration} has its games`, games });
  }
  if (state !== "running") return;
  const entered = { config_key, pipeline_stage: stage, iteration, attempts: attempt };
  const { eventId, traceId, correlationId } = emit.PIPELINE_STAGE_ENTERED(
    entered,
    at.cause === undefined ? null : undefined,
  );
  put(iterations, { ...at, cause: { eventId, traceId, correlationId } });
}

/** Effects that others do, at every look: they are told what is to be done, and know what is done. */
function handOver({ handOver: to }: PipelineServices, { row, afterCommit, configKey }: Look, at: Iteration): void {
  const { iteration, stage, state, champion, cause } = at;
  if (state !== "running") return;
  if (stage === "data_sync") {
    const played = { configKey, iteration, model: champion! };
    const entries = (row(selfplayWork)?.own.segments ?? []).flatMap((segment) => entriesOf(segment, played));
    const syncId = undertakingOf(configKey, at, stage);
    afterCommit(() => to.syncBatch({ syncId, configKey, entries, cause }));
  }
  const model = row(trainingWork)?.own.model;
  if ((stage === "evaluation" || stage === "promotion") && model != null)
    afterCommit(() => to.distribute({ modelId: model, sha256: model, configKey, cause }));
}
