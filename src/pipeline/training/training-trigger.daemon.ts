import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { configs } from "../config-plan.ts";
import { EVALUATION_SCOPE, evaluationPressures } from "../evaluation/evaluation.daemon.ts";
import { failuresInARow, type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { type ConfigKey, eachConfig } from "../models/loop-parts.ts";
import { undertakingOf } from "../stage-rows.ts";
import { exportWork, isFor, syncWork, trainingWork } from "../stage-work.ts";
import { type GateFacts, type GatePolicy, gatePolicyDefaults, judgeGates } from "./gates.ts";
import { holderOf, qualityScores, type StoredGates, trainingGates, trainingLocks } from "./gates-table.ts";

export interface TrainingTriggerPorts {
  /** RINGRIFT_ALLOW_PENDING_GATE: data whose games were not replayed yet may be trained on. */
  readonly allowPendingGate?: boolean;
  readonly settings?: Partial<TrainingTriggerSettings>;
}

export interface TrainingTriggerSettings extends GatePolicy {
  readonly everyMs: number;
}

export const trainingTriggerDefaults: TrainingTriggerSettings = { everyMs: 2_000, ...gatePolicyDefaults };

type Said = "TRAINING_THRESHOLD_REACHED" | "TRAINING_BLOCKED_BY_QUALITY" | "QUALITY_CHECK_REQUESTED";
type Context = UnitContext<Said>;

/** What a work row counts under this name; 0 where it says nothing. */
const counted = (evidence: { readonly [name: string]: unknown } | undefined, name: string): number => {
  const value = evidence?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
};

/**
 * Evaluates the gates for a new run and stores each verdict with actual and required values. A verdict to go stands for its
 * attempt; any other one is looked at again until it changes.
 */
export const trainingTrigger = ({ allowPendingGate = false, settings: given = {} }: TrainingTriggerPorts = {}) => {
  const settings = { ...trainingTriggerDefaults, ...given };

  const factsOf = (configKey: ConfigKey, iteration: Iteration, { rows, now }: Context): GateFacts => {
    const { plan } = rows.get(configs, configKey)!;
    const exported = rows.get(exportWork, configKey);
    const synced = rows.get(syncWork, configKey);
    const current = exported?.iteration === iteration.iteration ? exported : undefined;
    const lock = holderOf(rows.get(trainingLocks, configKey), now);
    const quality = rows.get(qualityScores, configKey);
    return {
      now,
      stageSince: iteration.stage_since,
      rows: current?.own.window.reduce((sum, shard) => sum + shard.rows, 0) ?? 0,
      leastRows: plan.least_rows,
      quality: quality === undefined ? null : { score: quality.score, band: quality.band },
      isScored: plan.kinds.includes("validation"),
      // A workload that cannot replay games has no parity to wait for.
      uncheckedSegments: plan.kinds.includes("validation") ? counted(synced?.evidence, "unchecked_segments") : 0,
      allowPending: allowPendingGate,
      dataAgeMs: current === undefined ? null : Math.max(0, now - (current.ended_at ?? current.since)),
      pressure: rows.get(evaluationPressures, EVALUATION_SCOPE) ?? null,
      failuresInARow: failuresInARow(iteration, "training"),
      running: lock === undertakingOf(configKey, iteration, "training") ? null : lock,
    };
  };

  /** What others should know of a verdict, once for each change. */
  const tell = (
    configKey: ConfigKey,
    facts: GateFacts,
    before: StoredGates | undefined,
    after: StoredGates,
    context: Context,
  ) => {
    const { emit, rows } = context;
    const closed = (stored: StoredGates | undefined, gate: string) =>
      stored?.gates.find((each) => each.gate === gate)?.passed === false;
    if (after.verdict === "go") {
      const segments = rows.get(syncWork, configKey)?.own.accepted ?? [];
      const games = segments.reduce((sum, segment) => sum + segment.games, 0);
      if (games > 0)
        emit.TRAINING_THRESHOLD_REACHED({
          config_key: configKey,
          games,
          required_games: 1,
          ...(facts.rows > 0 ? { samples: facts.rows } : {}),
          ...(facts.quality === null ? {} : { quality_score: facts.quality.score }),
          reason: `${facts.rows} rows of ${facts.leastRows} that a run needs`,
        });
      return;
    }
    if (!closed(after, "quality") || closed(before, "quality")) return;
    if (facts.quality === null)
      emit.QUALITY_CHECK_REQUESTED({ config_key: configKey, reason: "training waits for a score", urgency: "high" });
    else {
      emit.TRAINING_BLOCKED_BY_QUALITY({
        config_key: configKey,
        quality_score: facts.quality.score,
        threshold: settings.leastQuality,
        reason: `the data is ${facts.quality.band}`,
        recommendation: "Look at 'ringrift why' and at the producers of the last games.",
      });
      emit.QUALITY_CHECK_REQUESTED({ config_key: configKey, reason: "training is withheld for its score" });
    }
  };

  const reconcile = (configKey: ConfigKey, context: Context) => {
    const { rows, now } = context;
    const iteration = rows.get(iterations, configKey);
    // The first model knows nothing: there is nothing to ask of data.
    if (!isTurnOf("training", iteration) || iteration.iteration === 0) return;
    if (rows.get(configs, configKey) === undefined || isFor(rows.get(trainingWork, configKey), iteration)) return;
    const known = rows.get(trainingGates, configKey);
    const before = isFor(known, iteration) ? known : undefined;
    if (before !== undefined && before.verdict !== "wait") return;
    const facts = factsOf(configKey, iteration, context);
    const { verdict, gates } = judgeGates(facts, settings);
    const sinceOf = (gate: string, passed: boolean) => {
      const old = known?.gates.find((each) => each.gate === gate);
      return old?.passed === passed ? old.since : now;
    };
    const after: StoredGates = {
      iteration: iteration.iteration,
      attempt: iteration.attempt,
      verdict,
      gates: gates.map((gate) => ({ ...gate, since: sinceOf(gate.gate, gate.passed) })),
      at: now,
    };
    // An age grows with every look: it is written down when something else changes.
    const isSame =
      before?.verdict === verdict &&
      before.gates.every(({ gate, passed, actual }, i) => {
        const next = after.gates[i]!;
        return passed === next.passed && (gate === "data_age" || actual === next.actual);
      });
    if (isSame) return;
    rows.put(trainingGates, configKey, after);
    tell(configKey, facts, before, after, context);
  };

  return defineDaemon({
    name: "training_trigger",
    layer: 7,
    placement: "leader",
    alsoKnownAs: [
      "TRAINING_TRIGGER",
      "CONTINUOUS_TRAINING_LOOP",
      "STALE_FALLBACK",
      "TrainingTriggerDaemon",
      "TrainCLI",
    ],
    dependsOn: ["auto_export_daemon", "training_coordinator", "quality_monitor_daemon"],
    emits: ["TRAINING_THRESHOLD_REACHED", "TRAINING_BLOCKED_BY_QUALITY", "QUALITY_CHECK_REQUESTED"],
    state: { tables: { trainingGates } },
    on: {
      ...onEach(
        [
          "PIPELINE_STAGE_ENTERED",
          "NPZ_EXPORT_COMPLETE",
          "NPZ_COMBINATION_COMPLETE",
          "QUALITY_SCORE_UPDATED",
          "QUALITY_CHECK_FAILED",
          "HIGH_QUALITY_DATA_AVAILABLE",
          "TRAINING_COMPLETED",
          "TRAINING_FAILED",
          "TRAINING_SLOT_UNAVAILABLE",
          "EVALUATION_COMPLETED",
        ],
        ({ payload }, context: Context) => reconcile(payload.config_key, context),
      ),
      ...onEach(["EVALUATION_BACKPRESSURE", "EVALUATION_BACKPRESSURE_RELEASED"], (_event, context: Context) =>
        eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
      ),
    },
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => {
      const closed = rows
        .list(trainingGates)
        .filter(([, { verdict }]) => verdict === "wait")
        .map(([key, { gates }]) => `${key}: ${gates.find(({ passed }) => !passed)?.gate}`);
      return { status: "running", message: closed.length === 0 ? "" : `waits: ${closed.join(", ")}` };
    },
  });
};
