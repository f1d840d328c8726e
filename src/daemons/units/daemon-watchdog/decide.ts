import type { HealthState } from "../../health.ts";
import type { WatchRules } from "../../limits.ts";

/** How a unit stands, from good to bad. */
export const LEVELS = ["healthy", "degraded", "unhealthy"] as const;
export type Level = (typeof LEVELS)[number];

/** The last word of a unit about itself. */
export interface Beat {
  /** When it was heard, in milliseconds since the epoch. */
  readonly at: number;
  readonly health: HealthState;
  readonly message: string;
  readonly busyMs: number;
  readonly overdueMs: number;
  /** It is not to run at the moment. */
  readonly isPaused: boolean;
  readonly uptimeSeconds: number;
}

export interface Judgement {
  readonly level: Level;
  readonly reason: string;
  /** Its time limit is over already: nothing is gained by waiting for a second look. */
  readonly isCertain: boolean;
}

const LEVEL_OF: Readonly<Record<HealthState, Level>> = {
  running: "healthy",
  degraded: "degraded",
  stopped: "unhealthy",
};

const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;

/** How a unit stands by its last heartbeat and the time since. */
export function judgeBeat(beat: Beat, now: number, rules: WatchRules): Judgement {
  const silentMs = Math.max(0, now - beat.at);
  const certain = (level: Level, reason: string): Judgement => ({ level, reason, isCertain: true });
  if (silentMs > rules.silentMs) return certain("unhealthy", `silent: no heartbeat for ${seconds(silentMs)}`);
  if (beat.busyMs > rules.stuckMs)
    return certain("unhealthy", `stuck: one piece of work has been running for ${seconds(beat.busyMs)}`);
  const own = LEVEL_OF[beat.health];
  const ownReason = beat.message === "" ? `it says '${beat.health}'` : beat.message;
  if (own === "unhealthy") return { level: own, reason: ownReason, isCertain: false };
  if (silentMs > rules.lateMs) return certain("degraded", `late: no heartbeat for ${seconds(silentMs)}`);
  if (beat.overdueMs > rules.overdueMs)
    return certain("degraded", `late: its loop is ${seconds(beat.overdueMs)} past its time`);
  return { level: own, reason: own === "healthy" ? "" : ownReason, isCertain: false };
}

/**
 * Time in which the watcher itself could not look: the main loop was blocked, the machine slept, the clock was set. Nobody
 * could be heard in it, and nobody is blamed for it.
 */
export function missedMs(lookedAt: number | undefined, now: number, everyMs: number): number {
  const missed = lookedAt === undefined ? 0 : now - lookedAt - everyMs;
  return missed > everyMs ? missed : 0;
}

/** What was told of a unit, and what speaks for telling something else. */
export interface Standing {
  readonly emitted: Level;
  /** Since when it has been on one side of what was told, without a break; null while it is as told. */
  readonly since: number | null;
  readonly side: "worse" | "better" | null;
  /** The worst level since then, on the way up; the least bad one on the way down. */
  readonly level: Level;
}

export const settledAt = (emitted: Level): Standing => ({ emitted, since: null, side: null, level: emitted });

const rank = (level: Level) => LEVELS.indexOf(level);

/** One look at a unit. `edge` is what is to be told now; null when there is no news. */
export function follow(
  before: Standing,
  judgement: Judgement,
  now: number,
  rules: Pick<WatchRules, "worseAfterMs" | "betterAfterMs">,
): { readonly next: Standing; readonly edge: Level | null } {
  const { emitted } = before;
  const difference = rank(judgement.level) - rank(emitted);
  if (difference === 0) return { next: settledAt(emitted), edge: null };
  const side = difference > 0 ? "worse" : "better";
  const isSame = before.side === side && before.since !== null;
  const since = isSame ? before.since : now;
  // What flickers between two levels is told as the worse of them when it gets better, and as the lesser when it gets worse.
  const ranks = isSame ? [rank(before.level), rank(judgement.level)] : [rank(judgement.level)];
  const level = LEVELS[side === "worse" ? Math.min(...ranks) : Math.max(...ranks)]!;
  if (side === "worse" && judgement.isCertain) return { next: settledAt(judgement.level), edge: judgement.level };
  const waitMs = side === "worse" ? rules.worseAfterMs : rules.betterAfterMs;
  if (now - since! >= waitMs) return { next: settledAt(level), edge: level };
  return { next: { emitted, since: since!, side, level }, edge: null };
}
