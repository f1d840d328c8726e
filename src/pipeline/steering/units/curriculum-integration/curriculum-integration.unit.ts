import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../../daemons/index.ts";
import { gateVerdicts } from "../../../evaluation/index.ts";
import { championHistory, checkOutcomes } from "../../../models/index.ts";
import {
  type ConfigRow,
  configs,
  everyMs,
  gamesWith,
  type Iteration,
  iterations,
  knobKey,
  putChanged,
  type SignalHold,
  type StageServices,
  signalHolds,
  signals,
} from "../../../stage/index.ts";
import { isSteered } from "../../knobs.ts";
import { MAX_GATES, MAX_WEIGHT, MIN_WEIGHT, WEIGHT_HALF_LIFE } from "../../limits.ts";
import { curricula } from "../../tables.ts";
import { isOtherWeight, type Learning, type Weight, weigh, weightWords } from "./decide.ts";

const wiring = {
  name: "curriculum_integration",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "curriculum",
  daemonTypes: ["CURRICULUM_INTEGRATION"],
  alsoKnownAs: ["CurriculumIntegration", "CurriculumFeedback", "MomentumToCurriculumBridge"],
  pattern: "WIRE",
  dependsOn: ["selfplay_scheduler", "elo_service"],
  emits: ["CURRICULUM_REBALANCED", "CURRICULUM_UPDATED", "WEIGHT_UPDATED"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;

/**
 * Weighs the configs against each other by how fast they learn and how well that is known, and turns the knob `share` of each
 * whose plan lets it. `selfplay_scheduler` applies it. What counts are the verdicts of the gates: an event only makes it look.
 */
export const curriculumIntegration = (services: StageServices) =>
  defineDaemon({
    ...wiring,
    state: { tables: { signals, curricula } },
    on: {
      // The config that begins with another's network is the last one that is named.
      CROSSBOARD_PROMOTION: ({ payload: { config_keys }, eventType }, context: Context) =>
        rebalance(services, context, config_keys.at(-1), eventType),
      ...onEach(
        [
          "EVALUATION_COMPLETED",
          "MODEL_PROMOTED",
          "PROMOTION_FAILED",
          "PROMOTION_REJECTED",
          "REGRESSION_CRITICAL",
          "SELFPLAY_RATE_CHANGED",
          "OPPONENT_MASTERED",
          "TIER_PROMOTION",
          "CURRICULUM_ADVANCEMENT_NEEDED",
        ],
        ({ payload, eventType }, context: Context) => rebalance(services, context, payload.config_key, eventType),
      ),
    },
    loop: { everyMs: everyMs(services, 10_000), tick: (context) => rebalance(services, context) },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: { weights: Object.fromEntries(rows.list(curricula).map(([key, { weight }]) => [key, weight])) },
    }),
  });

const isTrained = ({ paused }: ConfigRow): boolean => paused === null;

function learningOf({ store }: StageServices, { plan }: ConfigRow, at: Iteration | undefined): Learning {
  const key = plan.config_key;
  const games = gamesWith(plan.games_per_iteration, at?.knobs);
  if (!isSteered(plan, "share")) return { configKey: key, games, gains: null };
  const checks = checkOutcomes(store, key);
  const withdrawn = new Set(
    championHistory(store, key)
      .filter(({ generation }) => checks.get(generation) === "regressed")
      .map(({ model }) => model),
  );
  const gains = gateVerdicts(store, key, MAX_GATES)
    .map(({ elo, elo_low: low, elo_high: high, verdict, candidate }) => ({
      elo,
      low,
      high,
      kept: verdict === "promote" && !withdrawn.has(candidate),
    }))
    .reverse();
  return { configKey: key, games, gains };
}

function rebalance(services: StageServices, context: Context, trigger?: string, event?: string): void {
  const { rows } = context;
  const trained = rows.list(configs).filter(([, config]) => isTrained(config));
  const weights = weigh(trained.map(([key, config]) => learningOf(services, config, rows.get(iterations, key))));
  const moved = weights.filter((weight) => turn(context, weight, weights.length, event));
  if (moved.length > 0) announce(context, weights, moved, trigger, event);
}

/** Writes the signal of a config; says whether its weight has moved so far that others shall hear of it. */
function turn(context: Context, weighed: Weight, among: number, event?: string): boolean {
  const { rows, emit, now } = context;
  const { configKey: config_key, weight, speed } = weighed;
  const key = knobKey(config_key, "share");
  const reason = weightWords(weighed, among);
  const iteration = rows.get(iterations, config_key)?.iteration ?? 0;
  const before = rows.get(signals, key);
  const isSame = before !== undefined && before.value === weight && before.iteration === iteration;
  if (!isSame && speed !== undefined)
    rows.put(signals, key, {
      value: weight,
      low: MIN_WEIGHT,
      high: MAX_WEIGHT,
      half_life: WEIGHT_HALF_LIFE,
      iteration,
      since: before?.value === weight ? before.since : now,
      author: wiring.name,
      reason,
      evidence: { ...speed, configs: among },
    });
  const told = rows.get(curricula, config_key) ?? { weight: 1, previous: 1, held: null };
  const held = rows.get(signalHolds, key)?.value ?? null;
  const changed = { config_key, reason, ...(event === undefined ? {} : { trigger: event }) };
  // A person's word is another plan for the config; it counts before any weight.
  if (held !== told.held)
    emit.CURRICULUM_UPDATED({ ...changed, weight: held ?? weight, reason: heldWords(rows.get(signalHolds, key)) });
  const hasMoved = isOtherWeight(told.weight, weight);
  if (hasMoved) emit.WEIGHT_UPDATED({ ...changed, weight, previous_weight: told.weight });
  putChanged(rows, curricula, config_key, {
    weight: hasMoved ? weight : told.weight,
    previous: hasMoved ? told.weight : told.previous,
    held,
  });
  return hasMoved;
}

const heldWords = (hold: SignalHold | undefined): string =>
  hold === undefined ? "no longer held by a person" : `held by ${hold.by}: ${hold.reason}`;

function announce(
  { rows, emit }: Context,
  weights: readonly Weight[],
  moved: readonly Weight[],
  trigger?: string,
  event?: string,
) {
  const told = weights.map(({ configKey }) => [configKey, rows.get(curricula, configKey)!] as const);
  emit.CURRICULUM_REBALANCED({
    config_key: moved.find(({ configKey }) => configKey === trigger)?.configKey ?? moved[0]!.configKey,
    weights: Object.fromEntries(told.map(([key, { weight }]) => [key, weight])),
    previous_weights: Object.fromEntries(
      told.map(([key, { weight, previous }]) => [
        key,
        moved.some(({ configKey }) => configKey === key) ? previous : weight,
      ]),
    ),
    reason: weightWords(moved[0]!, weights.length),
    ...(event === undefined ? {} : { trigger: event }),
  });
}
