import type { Wiring } from "../../../../daemons/index.ts";
import { qualities } from "../../../selfplay/index.ts";
import {
  defineConfigUnit,
  difficultyOf,
  everyMs,
  gamesWith,
  type LookOf,
  type StageServices,
} from "../../../stage/index.ts";
import { gatesBefore, growthOf, judgeGates } from "../../gates.ts";
import { isSteered } from "../../knobs.ts";
import { KNOB_HALF_LIFE } from "../../limits.ts";
import { type Feedback, feedbacks } from "../../tables.ts";
import { factorsOf } from "../gauntlet-feedback/decide.ts";
import { isOtherExploration, isOtherRate } from "./decide.ts";

const wiring = {
  name: "feedback_loop",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "curriculum",
  daemonTypes: ["FEEDBACK_LOOP"],
  alsoKnownAs: ["FeedbackLoopController", "FeedbackLoop", "UnifiedFeedback"],
  dependsOn: ["evaluation_daemon", "quality_monitor_daemon"],
  emits: ["EXPLORATION_BOOST", "EXPLORATION_ADJUSTED", "SELFPLAY_RATE_CHANGED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Says how a config is to be explored: a boost when it stands on a plateau, how far temperature, search and start positions are from its plan, and
 * when it plays noticeably more or fewer games. `exploration_scheduler` turns the knobs.
 */
export const feedbackLoop = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { feedbacks } },
    wakes: [
      "EVALUATION_COMPLETED",
      "PLATEAU_DETECTED",
      "SCHEDULER_REGISTERED",
      "PIPELINE_STAGE_ENTERED",
      "QUALITY_SCORE_UPDATED",
    ],
    everyMs: everyMs(services, 10_000),
    look: (look) => {
      tellRate(look);
      tellExploration(services, look);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(rows.list(feedbacks).map(([key, { exploration }]) => [key, exploration])),
    }),
  });

/** The games of an iteration beside those of its plan, as it was opened. */
function tellRate({ row, put, emit, at, plan, configKey: config_key }: Look): void {
  const known = row(feedbacks);
  const [before, rate_multiplier] = [known?.rate ?? 1, at?.knobs?.games ?? 1];
  if (!isOtherRate(before, rate_multiplier)) return;
  put(feedbacks, { ...(known ?? NOTHING), rate: rate_multiplier });
  const games = gamesWith(plan.games_per_iteration, at?.knobs);
  emit.SELFPLAY_RATE_CHANGED({
    config_key,
    rate_multiplier,
    previous_rate_multiplier: before,
    reason: `iteration ${at?.iteration ?? 0} has ${games} games, and its plan ${plan.games_per_iteration}`,
  });
}

const NOTHING: Feedback = { iteration: 0, plateau: false, exploration: 1, search: 1, difficulty: "normal", rate: 1 };

function tellExploration({ store }: StageServices, { row, put, emit, plan, configKey: config_key }: Look): void {
  const words = gatesBefore(store, config_key);
  const gates = judgeGates(words);
  const last = gates.at(-1);
  const known = row(feedbacks);
  const isOn = (["exploration", "search", "positions"] as const).some((knob) => isSteered(plan, knob));
  if (last === undefined || !isOn) return;
  const factor = (knob: "exploration" | "search") => (isSteered(plan, knob) ? factorsOf(knob, gates).value : 1);
  const now: Feedback = {
    iteration: last.iteration,
    plateau: last.isPlateau,
    exploration: factor("exploration"),
    search: factor("search"),
    difficulty: isSteered(plan, "positions") ? difficultyOf(factorsOf("positions", gates).value) : "normal",
    rate: known?.rate ?? 1,
  };
  const quality_score = row(qualities)?.score;
  // What cannot be told yet is not noted as told.
  const isTold = isOtherExploration(known, now) && quality_score !== undefined;
  if (last.isPlateau && known?.plateau !== true && isSteered(plan, "exploration"))
    emit.EXPLORATION_BOOST({
      config_key,
      boost_factor: now.exploration,
      boost_games: KNOB_HALF_LIFE * plan.games_per_iteration,
      reason: `its candidates stand still since iteration ${last.iteration}`,
    });
  const { exploration, search, difficulty } = isTold ? now : (known ?? NOTHING);
  put(feedbacks, { ...now, exploration, search, difficulty });
  if (isTold)
    emit.EXPLORATION_ADJUSTED({
      config_key,
      quality_score,
      trend: growthOf(words)?.trend ?? "stable",
      position_difficulty: now.difficulty,
      mcts_budget_multiplier: now.search,
      exploration_temp_boost: now.exploration,
    });
}
