/** How fast a config goes on, and when it will be where it is meant to be. Pure: from what ended last. */
import { sumOf } from "../kernel/index.ts";
import type { ConfigSnapshot } from "./snapshot.ts";
import type { ConfigPlan } from "./stage/index.ts";
import type { newestStages } from "./tables.ts";

type Ended = ReturnType<typeof newestStages>[number];

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Rounds whose length tells how long the next ones take. */
const ROUNDS = 20;

const gamesIn = (batches: readonly Ended[]): number =>
  sumOf(batches, ({ evidence }) => (typeof evidence.games === "number" ? evidence.games : 0));

/** Games a second, over the batches that ended within the last minute. */
export function gamesPerSecond(batches: readonly Ended[], now: number): number {
  const played = batches.filter(({ ended_at }) => now - ended_at < MINUTE_MS);
  const sinceMs = Math.min(MINUTE_MS, Math.max(1_000, now - Math.min(now, ...played.map(({ since }) => since))));
  return gamesIn(played) / (sinceMs / 1_000);
}

/** Games of the last day; at the pace of the rows that were looked at, where these do not reach so far back. */
function gamesPerDay(batches: readonly Ended[], isAll: boolean, now: number): number {
  const played = batches.filter(({ ended_at }) => now - ended_at < DAY_MS);
  const fromMs = now - Math.min(now, ...played.map(({ since }) => since));
  const isCut = !isAll && played.length === batches.length && fromMs > 0 && fromMs < DAY_MS;
  return Math.round(gamesIn(played) * (isCut ? DAY_MS / fromMs : 1));
}

/** How long one round took, over the last ones that ended; null before one did. */
function roundMs(ended: readonly Ended[]): number | null {
  const last = ended.find(({ stage, state }) => stage === "promotion" && state === "done")?.iteration;
  if (last === undefined) return null;
  const rounds = ended.filter(({ iteration }) => iteration <= last && iteration > last - ROUNDS);
  const first = Math.min(...rounds.map(({ iteration }) => iteration));
  const tookMs = Math.max(...rounds.map(({ ended_at }) => ended_at)) - Math.min(...rounds.map(({ since }) => since));
  return tookMs / (last - first + 1);
}

interface Standing {
  readonly plan: Pick<ConfigPlan, "most_iterations" | "target_elo">;
  readonly isComplete: boolean;
  readonly iteration: number;
  /** Elo of the champion, and what it gains with a round; undefined where nobody knows. */
  readonly elo?: number | undefined;
  readonly eloPerRound?: number | undefined;
}

type Target = NonNullable<ConfigSnapshot["outlook"]>["target"];

/** Rounds to the goal that is reached first; undefined where that cannot be told. */
function targetOf({ plan, isComplete, iteration, elo, eloPerRound }: Standing, perRoundMs: number | null): Target {
  const { target_elo: targetElo, most_iterations: most } = plan;
  const inSeconds = (rounds: number) => (perRoundMs === null ? null : (Math.max(0, rounds) * perRoundMs) / 1_000);
  const byElo =
    targetElo === null
      ? null
      : {
          what: "elo" as const,
          value: targetElo,
          in_seconds:
            elo === undefined || eloPerRound === undefined || eloPerRound <= 0
              ? null
              : inSeconds((targetElo - elo) / eloPerRound),
        };
  const byRounds =
    most === null
      ? null
      : { what: "iterations" as const, value: most, in_seconds: inSeconds(most - iteration + (isComplete ? 0 : 1)) };
  const [first, second] = [byElo ?? byRounds, byElo === null ? null : byRounds];
  const soonest =
    second !== null && (second.in_seconds ?? Number.POSITIVE_INFINITY) < (first?.in_seconds ?? Number.POSITIVE_INFINITY)
      ? second
      : first;
  return soonest === null ? null : { ...soonest, ...(isComplete ? { in_seconds: 0 } : {}), reached: isComplete };
}

/** `ended` is newest first; `isAll` where nothing ended before those. */
export function outlookOf(ended: readonly Ended[], isAll: boolean, now: number, standing: Standing) {
  const batches = ended.filter(({ stage, state }) => stage === "selfplay" && state === "done");
  const perRoundMs = roundMs(ended);
  return {
    games_per_day: gamesPerDay(batches, isAll, now),
    newest_games_at: batches.length === 0 ? null : Math.max(...batches.map(({ ended_at }) => ended_at)),
    round_seconds: perRoundMs === null ? null : perRoundMs / 1_000,
    target: targetOf(standing, perRoundMs),
  };
}
