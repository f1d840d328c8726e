import type { Wiring } from "../../../../daemons/index.ts";
import { defined, type Json, sumOf } from "../../../../kernel/index.ts";
import { freshness } from "../../../../sync/index.ts";
import { trainingRuns } from "../../../models/index.ts";
import { qualities } from "../../../selfplay/index.ts";
import {
  architectureWeights,
  defineConfigUnit,
  everyMs,
  exportWork,
  failuresInARow,
  hasFound,
  type Iteration,
  isFor,
  isTurnOf,
  type LookOf,
  type StageServices,
  syncWork,
  trainingTunings,
  trainingWork,
  undertakingOf,
} from "../../../stage/index.ts";
import { GATE_POLICY } from "../../limits.ts";
import {
  EVALUATION_SCOPE,
  evaluationPressures,
  holderOf,
  type StoredGates,
  trainingGates,
  trainingLocks,
} from "../../tables.ts";
import { type GateFacts, judgeGates, STILL_RUNS, standsStill } from "./decide.ts";

const wiring = {
  name: "training_trigger",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["TRAINING_TRIGGER", "CONTINUOUS_TRAINING_LOOP", "STALE_FALLBACK"],
  alsoKnownAs: ["TrainingTriggerDaemon", "TrainCLI"],
  dependsOn: ["auto_export_daemon", "training_coordinator", "quality_monitor_daemon"],
  emits: [
    "TRAINING_THRESHOLD_REACHED",
    "TRAINING_BLOCKED_BY_QUALITY",
    "QUALITY_CHECK_REQUESTED",
    "CURRICULUM_ADVANCEMENT_NEEDED",
  ],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Evaluates the gates for a new run and stores each verdict with actual and required values. A verdict to go stands for its
 * attempt; any other one is looked at again until it changes.
 */
export const trainingTrigger = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { trainingGates } },
    wakes: [
      "PIPELINE_STAGE_ENTERED",
      "NPZ_EXPORT_COMPLETE",
      "NPZ_COMBINATION_COMPLETE",
      "QUALITY_SCORE_UPDATED",
      "QUALITY_CHECK_FAILED",
      "HIGH_QUALITY_DATA_AVAILABLE",
      "DATA_STALE",
      "DATA_FRESH",
      "TRAINING_COMPLETED",
      "TRAINING_FAILED",
      "TRAINING_SLOT_UNAVAILABLE",
      "EVALUATION_COMPLETED",
      "ARCHITECTURE_WEIGHTS_UPDATED",
      "EVALUATION_BACKPRESSURE",
      "EVALUATION_BACKPRESSURE_RELEASED",
    ],
    everyMs: everyMs(services),
    look: (look) => judge(services, look),
    health: ({ rows }) => {
      const closed = rows
        .list(trainingGates)
        .filter(([, { verdict }]) => verdict === "wait")
        .map(([key, { gates }]) => `${key}: ${gates.find(({ passed }) => !passed)?.gate}`);
      return { status: "running", message: closed.length === 0 ? "" : `waits: ${closed.join(", ")}` };
    },
  });

function judge(services: StageServices, look: Look): void {
  const { at, now } = look;
  // The first model knows nothing: there is nothing to ask of data.
  if (!isTurnOf("training", at) || at.iteration === 0 || isFor(look.row(trainingWork), at)) return;
  const known = look.row(trainingGates);
  const before = isFor(known, at) ? known : undefined;
  if (before !== undefined && before.verdict !== "wait") return;
  const facts = factsOf(services, look, at);
  const { verdict, gates } = judgeGates(facts);
  const sinceOf = (gate: string, passed: boolean) => {
    const old = known?.gates.find((each) => each.gate === gate);
    return old?.passed === passed ? old.since : now;
  };
  const after: StoredGates = {
    iteration: at.iteration,
    attempt: at.attempt,
    verdict,
    gates: gates.map((gate) => ({ ...gate, since: sinceOf(gate.gate, gate.passed) })),
    at: now,
    ...(verdict === "go" && goesBack(look, at) && { back: true }),
  };
  // An age grows with every look: it is written down when something else changes.
  const isSame =
    before?.verdict === verdict &&
    before.gates.every(({ gate, passed, actual }, i) => {
      const next = after.gates[i]!;
      return passed === next.passed && (gate === "data_age" || actual === next.actual);
    });
  if (isSame) return;
  const asked = askForHarder(services, look, at, known?.asked);
  look.put(trainingGates, { ...after, ...defined({ asked }) });
  emitVerdict(look, facts, before, after);
}

/** Asks for harder games when runs have stopped learning anything from those of now; again after as many runs at the earliest. */
function askForHarder(
  { store }: StageServices,
  { emit, configKey: config_key }: Look,
  { iteration }: Iteration,
  asked: number | undefined,
): number | undefined {
  if (asked !== undefined && iteration - asked < STILL_RUNS) return asked;
  const runs = trainingRuns(store, config_key, 2 * STILL_RUNS).filter(({ fresh }) => !fresh);
  const still = standsStill(runs.reverse().map(({ loss, losses }) => heldOutLoss(losses) ?? loss));
  if (still === undefined) return asked;
  emit.CURRICULUM_ADVANCEMENT_NEEDED({ config_key, reason: still });
  return iteration;
}

const heldOutLoss = ({ validation_loss }: { readonly [name: string]: Json }): number | undefined =>
  typeof validation_loss === "number" ? validation_loss : undefined;

const goesBack = ({ row }: Look, { iteration }: Iteration): boolean => {
  const weighed = row(architectureWeights);
  return weighed?.iteration === iteration && weighed.back;
};

function factsOf({ settings }: StageServices, look: Look, at: Iteration): GateFacts {
  const { row, rows, now, plan } = look;
  const exported = row(exportWork);
  const current = exported?.iteration === at.iteration ? exported : undefined;
  const lock = holderOf(row(trainingLocks), now);
  const lag = row(freshness);
  const quality = row(qualities);
  // A workload that cannot replay games has neither scores nor parity to wait for.
  const isScored = plan.kinds.includes("validation");
  const unchecked = row(syncWork)?.evidence.unchecked_segments;
  return {
    now,
    stageSince: at.stage_since,
    rows: sumOf(current?.own.window ?? [], (shard) => shard.rows),
    leastRows: plan.least_rows,
    quality: quality === undefined ? null : { score: quality.score, band: quality.band },
    isScored,
    uncheckedSegments: isScored && typeof unchecked === "number" ? unchecked : 0,
    allowPending: settings.allowPendingGate,
    dataAgeMs: current === undefined ? null : Math.max(0, now - (current.ended_at ?? current.since)),
    lag: lag === undefined ? null : { ...lag, node: lag.node_id },
    pressure: rows.get(evaluationPressures, EVALUATION_SCOPE) ?? null,
    failuresInARow: failuresInARow(at, "training"),
    ...(hasFound(row(trainingTunings), at.iteration) && {
      architecture: { judged: row(architectureWeights)?.iteration === at.iteration },
    }),
    running: lock === undertakingOf(look.configKey, at, "training") ? null : lock,
  };
}

/** What others should know of a verdict, once for each change. */
function emitVerdict(
  { emit, row, configKey: config_key }: Look,
  { rows, leastRows, quality }: GateFacts,
  before: StoredGates | undefined,
  after: StoredGates,
): void {
  const isClosed = (stored: StoredGates | undefined) =>
    stored?.gates.find(({ gate }) => gate === "quality")?.passed === false;
  if (after.verdict === "go") {
    const games = sumOf(row(syncWork)?.own.accepted ?? [], (segment) => segment.games);
    if (games > 0)
      emit.TRAINING_THRESHOLD_REACHED({
        config_key,
        games,
        required_games: 1,
        ...defined({ samples: rows || undefined, quality_score: quality?.score }),
        reason: `${rows} rows of ${leastRows} that a run needs`,
      });
  } else if (isClosed(after) && !isClosed(before)) {
    if (quality !== null)
      emit.TRAINING_BLOCKED_BY_QUALITY({
        config_key,
        quality_score: quality.score,
        threshold: GATE_POLICY.minQuality,
        reason: `the data is ${quality.band}`,
        recommendation: "Look at 'ringrift why' and at the producers of the last games.",
      });
    emit.QUALITY_CHECK_REQUESTED(
      quality === null
        ? { config_key, reason: "training waits for a score", urgency: "high" }
        : { config_key, reason: "training is withheld for its score" },
    );
  }
}
