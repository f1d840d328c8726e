import { defined } from "../../../../kernel/index.ts";
import type { ConfigLook } from "../../../stage/index.ts";
import { allocations, type Goal } from "../../tables.ts";
import { isOtherVelocity } from "./decide.ts";

/** What changed of a config's goal, and of how fast it gets there. */
export function emitGoal(
  { emit, row, configKey }: ConfigLook<"SELFPLAY_TARGET_UPDATED" | "ELO_VELOCITY_CHANGED">,
  before: Goal | undefined,
  after: Goal,
): void {
  if (before?.target_games !== after.target_games)
    emit.SELFPLAY_TARGET_UPDATED({
      config_key: configKey,
      target_games: after.target_games,
      reason: after.reason,
      urgency: row(allocations)?.urgency ?? "normal",
      ...defined({ previous_target_games: before?.target_games, elo_gap: after.gap?.estimate }),
    });
  if (after.velocity !== null && isOtherVelocity(before?.velocity ?? null, after.velocity))
    emit.ELO_VELOCITY_CHANGED({
      config_key: configKey,
      elo_per_day: after.velocity.elo_per_day,
      previous_elo_per_day: before?.velocity?.elo_per_day ?? 0,
      trend: after.velocity.trend,
    });
}
