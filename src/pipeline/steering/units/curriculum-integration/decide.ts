import { sumOf } from "../../../../kernel/index.ts";
import type { ConfigKey } from "../../../stage/index.ts";
import { MAX_GATES, MAX_WEIGHT, MIN_GATES, MIN_WEIGHT, TOLD_CHANGE } from "../../limits.ts";

/** What one gate says of a config's learning: what the champion gained by it, with the 95 % interval of that. */
export interface Gain {
  readonly elo: number;
  readonly low: number;
  readonly high: number;
  /** Whether the champion is the stronger for it: promoted, and not withdrawn since. */
  readonly kept: boolean;
}

export interface Learning {
  readonly configKey: ConfigKey;
  /** Games that one iteration costs. */
  readonly games: number;
  /** Oldest first; null where the plan lets results not turn its share. */
  readonly gains: readonly Gain[] | null;
}

/** How fast a config learns, in Elo for 1,000 games, and how well that is known. */
export interface Speed {
  readonly velocity: number;
  readonly error: number;
  readonly gates: number;
}

export interface Weight {
  readonly configKey: ConfigKey;
  readonly weight: number;
  /** Whether the plan lets results turn its share. */
  readonly isSteered: boolean;
  /** Missing while too few gates have ended. */
  readonly speed?: Speed;
}

/** 95 % of a normal variable lie within so many standard deviations. */
const Z95 = 1.96;

/** The standard deviation behind an interval. */
const deviation = ({ low, high }: Gain): number => Math.max(0, high - low) / (2 * Z95);

/**
 * How fast a config learns by its last gates. What was not promoted, or was withdrawn, gained nothing; how uncertain its games
 * were counts all the same. The scatter between gates counts too: three equal gains tell more than three that differ.
 */
export function speedOf({ games, gains }: Learning): Speed | undefined {
  const last = (gains ?? [])
    .filter(({ elo, low, high }) => [elo, low, high].every(Number.isFinite))
    .slice(-MAX_GATES)
    .map((gain) => ({ gained: gain.kept ? gain.elo : 0, variance: deviation(gain) ** 2 }));
  if (last.length < MIN_GATES || !(games > 0)) return undefined;
  const n = last.length;
  const mean = sumOf(last, ({ gained }) => gained) / n;
  const measured = sumOf(last, ({ variance }) => variance) / n;
  const scatter = sumOf(last, ({ gained }) => (gained - mean) ** 2) / (n - 1);
  const per = 1_000 / games;
  const speed = { velocity: mean * per, error: Math.sqrt(Math.max(measured, scatter) / n) * per, gates: n };
  return Number.isFinite(speed.velocity + speed.error) ? speed : undefined;
}

/**
 * Weights by speed of learning and by how little is known of it. A config counts with its speed and one standard error on top: games go
 * where they turn into strength, and where one would like to know whether they do. Who is unknown counts as the mean of the
 * others. All weights lie between a half and two, and are 1 where nothing tells configs apart, or the plan
 * of one does not let results turn its share.
 */
export function weigh(configs: readonly Learning[]): Weight[] {
  const speeds = configs.map((learning) => ({
    configKey: learning.configKey,
    isSteered: learning.gains !== null,
    speed: speedOf(learning),
  }));
  const known = speeds.flatMap(({ speed }) => (speed === undefined ? [] : [promise(speed)]));
  const mean = known.length === 0 ? 0 : sumOf(known, (each) => each) / known.length;
  return speeds.map(({ configKey, isSteered, speed }) =>
    speed === undefined
      ? { configKey, isSteered, weight: 1 }
      : { configKey, isSteered, weight: mean > 0 ? within(promise(speed) / mean) : 1, speed },
  );
}

const promise = ({ velocity, error }: Speed): number => Math.max(0, velocity) + error;

const within = (weight: number): number =>
  Number.isFinite(weight) ? Math.min(MAX_WEIGHT, Math.max(MIN_WEIGHT, weight)) : 1;

/** Whether a weight has moved so far that others shall hear of it. */
export const isOtherWeight = (before: number, after: number): boolean =>
  Math.abs(after - before) > TOLD_CHANGE * before;

const round = (value: number): string => String(Number(value.toPrecision(3)));

/** Why a config weighs what it does, in one line. */
export const weightWords = ({ isSteered, speed }: Pick<Weight, "isSteered" | "speed">, configs: number): string => {
  if (!isSteered) return "its plan does not let results turn its share";
  if (speed === undefined) return `fewer than ${MIN_GATES} gates have ended`;
  const { velocity, error, gates } = speed;
  const beside =
    configs === 1 ? "the only config" : `beside ${configs - 1} other ${configs === 2 ? "config" : "configs"}`;
  return `${round(velocity)} Elo for 1,000 games, give or take ${round(error)}, over ${gates} gates; ${beside}`;
};
