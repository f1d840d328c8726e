import type { RatedChampion } from "../../../models/index.ts";
import type { ConfigPlan } from "../../../stage/index.ts";
import { eloVelocity } from "../../../statistics/index.ts";
import { VELOCITY_POINTS } from "../../limits.ts";
import type { Goal } from "../../tables.ts";

const DAY = 86_400_000;
/** Half the width of a 95 % interval in standard errors. */
const REACH = 1.959964;

/** Elo a day over the last champions; null while there are fewer than two. */
export function velocityOf(history: readonly RatedChampion[]): Goal["velocity"] {
  const points = history
    .filter(({ low, high }) => high > low)
    .slice(-VELOCITY_POINTS)
    .map(({ at, elo, low, high }) => ({ at: at / DAY, elo, standardError: (high - low) / 2 / REACH }));
  if (new Set(points.map(({ at }) => at)).size < 2) return null;
  const { slope } = eloVelocity(points);
  const trend = slope.low > 0 ? "improving" : slope.high < 0 ? "declining" : "stable";
  return { elo_per_day: slope.estimate, trend };
}

/**
 * How far a config is from what is wanted of it. A goal is met when the whole interval of the champion's rating lies at or
 * above it: a lucky estimate does not end a run.
 */
export function judgeGoal(
  plan: Pick<ConfigPlan, "target_elo" | "games_per_iteration">,
  history: readonly RatedChampion[],
): Pick<Goal, "target_games" | "reason" | "met" | "gap" | "velocity"> {
  const champion = history.at(-1);
  const { target_elo, games_per_iteration } = plan;
  const velocity = velocityOf(history);
  if (target_elo === null)
    return { target_games: games_per_iteration, reason: "it goes on for ever", met: null, gap: null, velocity };
  if (champion === undefined)
    return {
      target_games: games_per_iteration,
      reason: "its champion is not rated yet",
      met: null,
      gap: null,
      velocity,
    };
  const { elo, low, high, model_id } = champion;
  const gap = { estimate: target_elo - elo, low: target_elo - high, high: target_elo - low };
  const met = low >= target_elo ? { model_id, elo_low: low } : null;
  const reason =
    met === null
      ? `its rating is ${Math.round(elo)} (${Math.round(low)} to ${Math.round(high)}), ${target_elo} is wanted`
      : `its rating is at least ${Math.round(low)}, and ${target_elo} was wanted`;
  return { target_games: met === null ? games_per_iteration : 0, reason, met, gap, velocity };
}

/** Whether the speed changed enough to tell: another direction, or by more than a fifth and 10 Elo a day. */
export function isOtherVelocity(before: Goal["velocity"], after: Goal["velocity"]): boolean {
  if (after === null) return false;
  if (before === null || before.trend !== after.trend) return true;
  const change = Math.abs(after.elo_per_day - before.elo_per_day);
  return change > 10 && change > 0.2 * Math.abs(before.elo_per_day);
}

/** What becomes of jobs that play with a model which is champion no more. */
export type OldChampion = "keep" | "replace" | "relaxed";

/**
 * They may go on for a while. After that the champion of now plays what is left; where no node has shown that it can play with that one,
 * they go on, so that nothing stands still.
 */
export function judgeOldChampion(
  plays: string,
  champion: { readonly model: string; readonly since: number } | undefined,
  { now, maxMs, isOut }: { readonly now: number; readonly maxMs: number; readonly isOut: boolean },
): OldChampion {
  if (champion === undefined || champion.model === plays || now - champion.since <= maxMs) return "keep";
  return isOut ? "replace" : "relaxed";
}
