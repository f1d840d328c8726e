import type { UnitContext } from "../../../../daemons/index.ts";
import type { PayloadFor } from "../../../../events/index.ts";
import { type Quality, qualityFactor } from "../../../selfplay/index.ts";
import type { ConfigKey } from "../../../stage/index.ts";
import { STILL_SCORE } from "../../limits.ts";
import { GOOD_SCORE, isBelow, QUALITY_FLOOR } from "./score.ts";

type Scored = NonNullable<PayloadFor<"QUALITY_SCORE_UPDATED">["segments"]>;

type QualityEvent =
  | "QUALITY_SCORE_UPDATED"
  | "QUALITY_DISTRIBUTION_CHANGED"
  | "HIGH_QUALITY_DATA_AVAILABLE"
  | "QUALITY_DEGRADED"
  | "LOW_QUALITY_DATA_WARNING"
  | "QUALITY_CHECK_FAILED"
  | "QUALITY_FEEDBACK_ADJUSTED";

const trendOf = (before: Quality | undefined, { score }: Quality): "improving" | "stable" | "declining" => {
  const change = before === undefined ? 0 : score - before.score;
  return change > STILL_SCORE ? "improving" : change < -STILL_SCORE ? "declining" : "stable";
};

/** A new score is told each time; the rest when the band is another one, or nothing was told before. */
export function emitQuality(
  emit: UnitContext<QualityEvent>["emit"],
  config_key: ConfigKey,
  before: Quality | undefined,
  now: Quality,
  segments?: readonly { readonly artifact_hash: string; readonly quality_score: number }[],
): void {
  const { score: quality_score, band: quality_band, games, good_share, poor_share } = now;
  const trend = trendOf(before, now);
  const previous = before === undefined ? {} : { previous_quality_score: before.score };
  const scored = segments === undefined ? {} : { segments: segments as Scored };
  emit.QUALITY_SCORE_UPDATED({ config_key, quality_score, quality_band, games, trend, ...previous, ...scored });
  if (before?.band === quality_band) return;
  emit.QUALITY_DISTRIBUTION_CHANGED({
    config_key,
    quality_score,
    high_quality_share: good_share,
    low_quality_share: poor_share,
    games,
  });
  emit.QUALITY_FEEDBACK_ADJUSTED({
    config_key,
    budget_multiplier: qualityFactor(quality_score),
    quality_score,
    reason: `its data is ${quality_band}`,
    ...(before === undefined ? {} : { previous_budget_multiplier: qualityFactor(before.score) }),
  });
  if (quality_score >= GOOD_SCORE) {
    if (before === undefined || before.score < GOOD_SCORE)
      emit.HIGH_QUALITY_DATA_AVAILABLE({ config_key, quality_score, games, threshold: GOOD_SCORE, trend });
    return;
  }
  if (before === undefined || isBelow(quality_band, before.band))
    emit.QUALITY_DEGRADED({ config_key, quality_score, threshold: GOOD_SCORE, trend, quality_band, ...previous });
  if (quality_score >= QUALITY_FLOOR) return;
  emit.LOW_QUALITY_DATA_WARNING({
    config_key,
    quality_score,
    threshold: QUALITY_FLOOR,
    games,
    low_quality_share: poor_share,
    recommendation: `Look at its parts: ${weakest(now)}.`,
  });
  emit.QUALITY_CHECK_FAILED({
    config_key,
    reason: `its data is poor: ${weakest(now)}`,
    quality_score,
    threshold: QUALITY_FLOOR,
  });
}

const weakest = ({ components }: Quality): string =>
  Object.entries(components)
    .flatMap(([name, value]) => (value === null ? [] : [{ name, value }]))
    .toSorted((a, b) => a.value - b.value)
    .slice(0, 2)
    .map(({ name, value }) => `${name} ${value.toFixed(2)}`)
    .join(", ");
