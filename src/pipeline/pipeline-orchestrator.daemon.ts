import { defineDaemon, onEach, type UnitContext } from "../daemons/index.ts";
import type { PayloadFor } from "../events/index.ts";
import { defineTable } from "../router/index.ts";
import type { ArtifactEntry } from "./artifacts.port.ts";
import { type ConfigRow, configs } from "./config-plan.ts";
import { endedStage } from "./history.ts";
import { type Iteration, iterations } from "./iteration.ts";
import { champions } from "./models/champion.ts";
import { type LoopView, reconcile, type StagePolicy, type Step, stagePolicyDefaults } from "./reconcile.ts";
import { entriesOf } from "./selfplay/segments.ts";
import { undertakingOf } from "./stage-rows.ts";
import { syncWork, trainingWork, workOf } from "./stage-work.ts";
import { STAGES } from "./stages.ts";

/** What the store of artifacts does for the loop. Both may be asked again and again: what is done is done. */
export interface HandOver {
  /** Verifies and registers the files of a batch; tells it by DATA_SYNC_*. */
  syncBatch(batch: {
    readonly syncId: string;
    readonly configKey: string;
    readonly entries: readonly ArtifactEntry[];
  }): void;
  /** Makes a model available to whoever plays; tells it by MODEL_DISTRIBUTION_*. */
  distribute(model: { readonly modelId: string; readonly sha256: string; readonly configKey: string }): void;
}

export interface PipelineOrchestratorPorts {
  readonly handOver: HandOver;
  readonly policy?: StagePolicy;
  readonly everyMs?: number;
}

type Said = "PIPELINE_STAGE_ENTERED" | "NEW_GAMES_AVAILABLE" | "EXPORT_TRIGGERED";
type Context = UnitContext<Said>;
type ConfigKey = PayloadFor<"NEW_GAMES_AVAILABLE">["config_key"];

/** Games that a config has, all in all. */
const totals = defineTable<{ games: number }>("pipeline_totals");

/** What may have changed a row that the reconciler looks at. Their payloads do not matter: it looks at the rows. */
const WAKES = [
  "SELFPLAY_COMPLETE",
  "DATA_SYNC_STARTED",
  "DATA_SYNC_COMPLETED",
  "DATA_SYNC_FAILED",
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
] as const;

/**
 * Drives the stage rows of every config until the loop closes, again and again. The rows are the truth; events only save it
 * the wait for the next tick. It starts nothing itself: it says whose turn it is.
 */
export const pipelineOrchestrator = ({
  handOver,
  policy = stagePolicyDefaults,
  everyMs = 2_000,
}: PipelineOrchestratorPorts) => {
  const viewOf = (configKey: string, config: ConfigRow, { rows, now }: Context): LoopView => ({
    now,
    config,
    iteration: rows.get(iterations, configKey),
    work: Object.fromEntries(
      STAGES.map((stage) => [stage, rows.get(workOf[stage] as never, configKey)]),
    ) as LoopView["work"],
    champion: rows.get(champions, configKey)?.model,
    policy,
  });

  /** What belongs to the step besides the row. */
  const tell = (configKey: ConfigKey, { iteration, ended }: Step, context: Context) => {
    const { rows, emit, now } = context;
    if (ended !== undefined) rows.apply(endedStage(configKey, ended.stage, ended.work, now));
    if (ended?.stage === "data_sync" && ended.work.state === "done") {
      const { accepted } = rows.get(syncWork, configKey)!.own;
      const games = accepted.reduce((sum, segment) => sum + segment.games, 0);
      const before = rows.get(totals, configKey)?.games ?? 0;
      rows.put(totals, configKey, { games: before + games });
      if (games > 0) emit.NEW_GAMES_AVAILABLE({ config_key: configKey, new_games: games, total_games: before + games });
      emit.EXPORT_TRIGGERED({ config_key: configKey, reason: `iteration ${iteration.iteration} has its games`, games });
    }
    if (iteration.state === "running")
      emit.PIPELINE_STAGE_ENTERED({
        config_key: configKey,
        pipeline_stage: iteration.stage,
        iteration: iteration.iteration,
        attempts: iteration.attempt,
      });
  };

  /** Effects that others do, at every look: they are told what is to be done, and know what is done. */
  const handOverNow = (configKey: ConfigKey, iteration: Iteration, { rows, afterCommit }: Context) => {
    if (iteration.state !== "running") return;
    if (iteration.stage === "data_sync") {
      const played = { configKey, iteration: iteration.iteration, model: iteration.champion! };
      const entries = (rows.get(workOf.selfplay, configKey)?.own.segments ?? []).flatMap((segment) =>
        entriesOf(segment, played),
      );
      const syncId = undertakingOf(configKey, iteration, "data_sync");
      afterCommit(() => handOver.syncBatch({ syncId, configKey, entries }));
    }
    const model = rows.get(trainingWork, configKey)?.own.model;
    if ((iteration.stage === "evaluation" || iteration.stage === "promotion") && model != null)
      afterCommit(() => handOver.distribute({ modelId: model, sha256: model, configKey }));
  };

  const look = (configKey: ConfigKey, context: Context) => {
    const { rows, log, afterCommit } = context;
    const config = rows.get(configs, configKey);
    if (config === undefined) return;
    // One step leads to the next only through somebody's work: a few are enough, and there is no endless round.
    for (let i = 0; i < STAGES.length; i += 1) {
      const step = reconcile(viewOf(configKey, config, context));
      if (step.kind === "stay") {
        if (i === 0) handOverNow(configKey, step.iteration, context);
        return;
      }
      rows.put(iterations, configKey, step.iteration);
      const { iteration, stage, attempt, state } = step.iteration;
      const moved = { config_key: configKey, how: step.kind, iteration, stage, attempt, state };
      // Said once, however often the work had to be begun anew.
      afterCommit(() => log[step.kind === "failed" ? "warn" : "debug"]("a config moved", moved));
      tell(configKey, step, context);
      handOverNow(configKey, step.iteration, context);
    }
  };

  return defineDaemon({
    name: "pipeline_orchestrator",
    layer: 6,
    placement: "leader",
    pattern: "WIRE",
    alsoKnownAs: ["DATA_PIPELINE", "DataPipelineOrchestrator", "DataPipeline"],
    dependsOn: ["selfplay_orchestrator", "training_coordinator"],
    emits: ["PIPELINE_STAGE_ENTERED", "NEW_GAMES_AVAILABLE", "EXPORT_TRIGGERED"],
    state: { tables: { iterations, totals } },
    on: onEach(WAKES, ({ payload }, context: Context) => {
      if ("config_key" in payload && payload.config_key !== undefined) look(payload.config_key, context);
      else for (const [configKey] of context.rows.list(configs)) look(configKey as ConfigKey, context);
    }),
    loop: {
      everyMs,
      tick(context) {
        for (const [configKey] of context.rows.list(configs)) look(configKey as ConfigKey, context);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(iterations);
      const failed = all.filter(([, { state }]) => state === "failed");
      const details = Object.fromEntries(
        all.map(([key, { iteration, stage, state }]) => [key, `${iteration} ${stage} ${state}`]),
      );
      return failed.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `needs a person: ${failed.map(([key]) => key).join(", ")}`, details };
    },
  });
};
