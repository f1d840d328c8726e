import { sumOf } from "../../../../kernel/index.ts";
import { QUALITY_BANDS, type QualityBand } from "../../../selfplay/index.ts";
import { addFigures, type Figures } from "../../figures.ts";
import {
  BAND_SCORES,
  FREE_ENTROPY,
  FREE_REDUNDANCY,
  MAX_REDUNDANCY,
  MAX_SCORED_FILES,
  SCORE_WEIGHTS,
} from "../../limits.ts";

export const bandOf = (score: number): QualityBand =>
  [...QUALITY_BANDS].reverse().find((band) => score >= BAND_SCORES[band]) ?? "poor";

export const isBelow = (band: QualityBand, other: QualityBand): boolean =>
  QUALITY_BANDS.indexOf(band) < QUALITY_BANDS.indexOf(other);

/** Data below this is not trained on. */
export const QUALITY_FLOOR = BAND_SCORES.degraded;
export const GOOD_SCORE = BAND_SCORES.good;

export type Component = keyof typeof SCORE_WEIGHTS;

const share = (value: number): number => Math.min(1, Math.max(0, value));

const redundancyScore = ({ positions }: Figures): number | null =>
  positions === null
    ? null
    : share((MAX_REDUNDANCY - positions.repeated / positions.total) / (MAX_REDUNDANCY - FREE_REDUNDANCY));

/** The mean length beside what was usual: within a quarter it costs nothing, at 2.5 times or 0.4 times it is worth nothing. */
const lengthScore = ({ plies }: Figures, usualPlies: number | null): number | null => {
  if (plies === null || plies.count === 0) return null;
  if (plies.sum <= 0) return 0;
  if (usualPlies === null || usualPlies <= 0) return 1;
  const off = Math.abs(Math.log(plies.sum / plies.count / usualPlies));
  return share(1 - (off - Math.log(1.25)) / Math.log(2));
};

const entropyScore = ({ entropy_sum, rows }: Figures): number | null =>
  entropy_sum === null || rows === 0 ? null : share(entropy_sum / rows / FREE_ENTROPY);

/**
 * How far results are from what was predicted, beyond what chance explains (1.96 standard errors): a twentieth of a point
 * costs nothing, half a point makes it worthless.
 */
const calibrationScore = ({ surprises }: Figures): number | null => {
  if (surprises === null || surprises.count < 2) return null;
  const { count, sum, squares } = surprises;
  const mean = sum / count;
  const error = Math.sqrt(Math.max(0, squares / count - mean ** 2) / (count - 1));
  return share(1 - (Math.max(0, Math.abs(mean) - 1.96 * error) - 0.05) / 0.45);
};

export interface QualityScore {
  readonly score: number;
  readonly band: QualityBand;
  readonly components: Readonly<Record<Component | "validity", number | null>>;
}

/**
 * The score of data: the weighted mean of what was measured (redundancy 0.35, calibration 0.25, length 0.2, entropy 0.2,
 * the weights of the missing ones shared among the others), times its validity: the share of games that were not rejected,
 * where each rejected one counts twice. Undefined where nothing was measured.
 */
export function scoreQuality(
  figures: Figures,
  { usualPlies, rejectedShare }: { readonly usualPlies: number | null; readonly rejectedShare: number },
): QualityScore | undefined {
  const measured: Record<Component, number | null> = {
    redundancy: redundancyScore(figures),
    length: lengthScore(figures, usualPlies),
    entropy: entropyScore(figures),
    calibration: calibrationScore(figures),
  };
  const parts = (Object.keys(SCORE_WEIGHTS) as Component[]).flatMap((name) => {
    const value = measured[name];
    return value === null ? [] : [{ value, weight: SCORE_WEIGHTS[name] }];
  });
  if (parts.length === 0) return undefined;
  const weights = sumOf(parts, ({ weight }) => weight);
  const mean = sumOf(parts, ({ value, weight }) => value * weight) / weights;
  const validity = share(1 - 2 * rejectedShare);
  const score = share(mean * validity);
  return { score, band: bandOf(score), components: { ...measured, validity } };
}

/** The files of each segment with the score of what was found in it, the best first. */
export const scoresOf = (
  segments: readonly { readonly files: readonly string[]; readonly figures: Figures | null }[],
  usualPlies: number | null,
): { artifact_hash: string; quality_score: number }[] =>
  segments
    .flatMap(({ files, figures }) => {
      const found = figures === null ? undefined : scoreQuality(figures, { usualPlies, rejectedShare: 0 });
      if (found === undefined) return [];
      return files.map((artifact_hash) => ({ artifact_hash, quality_score: found.score }));
    })
    .toSorted((a, b) => b.quality_score - a.quality_score)
    .slice(0, MAX_SCORED_FILES);

/** Shares of the games that lie in good and in poor segments, each segment scored by itself. */
export function mixOf(all: readonly Figures[], usualPlies: number | null): { good: number; poor: number } {
  const scored = all.flatMap((figures) => {
    const found = scoreQuality(figures, { usualPlies, rejectedShare: 0 });
    return found === undefined ? [] : [{ games: figures.games, score: found.score }];
  });
  const games = sumOf(scored, (one) => one.games);
  const shareOf = (holds: (score: number) => boolean) =>
    games === 0 ? 0 : sumOf(scored, (one) => (holds(one.score) ? one.games : 0)) / games;
  return { good: shareOf((score) => score >= GOOD_SCORE), poor: shareOf((score) => score < QUALITY_FLOOR) };
}

/** Mean plies of a game; null where nobody counted. */
export const meanPlies = (all: readonly Figures[]): number | null => {
  const plies = addFigures(all)?.plies ?? null;
  return plies === null || plies.count === 0 ? null : plies.sum / plies.count;
};
