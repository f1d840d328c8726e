import { sumOf } from "../../../../kernel/index.ts";
import { type QueueLevel, rateMultiplierOf, type Urgency } from "../../../../work/index.ts";
import type { Stage } from "../../../stage/index.ts";
import { FAR_ELO, FAST_ELO_PER_DAY, GAMES_AT_ONCE, GOOD_QUALITY, MIN_RATE, MIN_SHARE, STALE_MS } from "../../limits.ts";
import type { Reason } from "../../tables.ts";

/** What is known of a config when self-play is divided. */
export interface ConfigFacts {
  readonly configKey: string;
  /** How long ago its last games came in; null if none ever did. */
  readonly staleMs: number | null;
  /** Games of the present iteration, and how many of them are there. */
  readonly wanted: number;
  readonly done: number;
  /** Elo that is missing to the goal, with its interval; null without a goal or without a rating. */
  readonly gap: { readonly estimate: number; readonly low: number; readonly high: number } | null;
  /** Elo gained per day; null while nobody knows. */
  readonly eloPerDay: number | null;
  readonly weight: number;
  /** What the curriculum makes of how fast it learns: a factor, 1 where nobody knows. */
  readonly curriculum: number;
  /** How much wider and deeper than its plan it explores: a factor, 1 where results say nothing of it. */
  readonly exploring: number;
  /** Of its data, 0 to 1; null while nobody knows. */
  readonly quality: number | null;
  /** Share of its games that lie in poor segments; null while nobody knows. */
  readonly poorShare: number | null;
  /** What its last run says of its data: it learned all there was, or its loss grew; null for neither. */
  readonly training: "early_stopped" | "loss_grows" | null;
  /** What penalties leave of its pace, 0 to 1. */
  readonly penaltyRate: number;
  readonly stage: Stage;
}

export interface Allocation {
  readonly configKey: string;
  /** Of all self-play; the shares of all configs that want games sum to one. */
  readonly share: number;
  /** What a penalty leaves of its pace, 0 to 1; never nothing. */
  readonly rate: number;
  /** Games that may be under way at once. */
  readonly games: number;
  readonly urgency: Urgency;
  readonly reasons: readonly Reason[];
}

const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** 1 for fresh data, rising to 2 at four hours; a config that has nothing yet counts as stale. */
const stalenessFactor = (staleMs: number | null): number =>
  1 + (staleMs === null ? 1 : within(staleMs / STALE_MS, 0, 1));

/**
 * From 0.5 at the goal to 2 at 400 Elo below it. The upper end of the interval decides: what is hardly rated may be far
 * from its goal, and playing it is how one finds out.
 */
const gapFactor = (gap: ConfigFacts["gap"]): number =>
  gap === null ? 1 : 0.5 + 1.5 * within(gap.high / FAR_ELO, 0, 1);

/** From 0.7 for what falls to 1.2 for what rises fast: games go where they turn into strength. */
const velocityFactor = (eloPerDay: number | null): number =>
  eloPerDay === null ? 1 : 0.95 + 0.25 * Math.tanh(eloPerDay / FAST_ELO_PER_DAY);

/** From 0.5 for useless data over 1 for good data to 1.2: poor games are not worth many more like them. */
export const qualityFactor = (quality: number | null): number =>
  quality === null ? 1 : Math.min(1.2, 0.5 + (0.5 * within(quality, 0, 1)) / GOOD_QUALITY);

/** From 1 to 0.5: a mean may be good while a part of the games is not worth more like it. */
const mixFactor = (poorShare: number | null): number => 1 - 0.5 * within(poorShare ?? 0, 0, 1);

/** A run that found nothing more to learn, or whose loss grew, wants new games before anything else. */
const trainingFactor = (training: ConfigFacts["training"]): number => (training === null ? 1 : 1.25);

/** From 1 to 1.5: whoever explores more needs more games to see what it brings, and deeper searches hold a node for longer. */
const explorationFactor = (exploring: number): number => within(exploring, 1, 1.5);

const rateOf = ({ penaltyRate }: ConfigFacts): number => within(penaltyRate, MIN_RATE, 1);

/** Who stands at another stage will want games soon, and gets none of them now. */
const stageFactor = (stage: Stage): number => (stage === "selfplay" ? 1 : 0.5);

const reasonsOf = (facts: ConfigFacts): Reason[] => [
  { name: "weight", actual: facts.weight, factor: facts.weight },
  { name: "curriculum", actual: facts.curriculum, factor: facts.curriculum },
  { name: "exploration", actual: facts.exploring, factor: explorationFactor(facts.exploring) },
  { name: "staleness", actual: facts.staleMs, factor: stalenessFactor(facts.staleMs) },
  { name: "gap", actual: facts.gap?.high ?? null, factor: gapFactor(facts.gap) },
  { name: "velocity", actual: facts.eloPerDay, factor: velocityFactor(facts.eloPerDay) },
  { name: "quality", actual: facts.quality, factor: qualityFactor(facts.quality) },
  { name: "mix", actual: facts.poorShare, factor: mixFactor(facts.poorShare) },
  { name: "training", actual: facts.training, factor: trainingFactor(facts.training) },
  { name: "penalty", actual: facts.penaltyRate, factor: rateOf(facts) },
  { name: "stage", actual: facts.stage, factor: stageFactor(facts.stage) },
];

/** Late data is wanted soon; what has reached its goal or makes poor games can wait. */
function urgencyOf({ staleMs, gap, quality }: ConfigFacts): Urgency {
  if (staleMs !== null && staleMs >= STALE_MS) return "high";
  if ((gap !== null && gap.high <= 0) || (quality !== null && quality < 0.5)) return "low";
  return "normal";
}

/**
 * Divides self-play among configs. A config's score is the product of its factors; half of an equal share is given to
 * everybody, and the rest in proportion to the scores. So nobody starves, a larger gap never gets less, and because every
 * factor is continuous a tiny change of the facts is a tiny change of the shares.
 */
export function allocate(configs: readonly ConfigFacts[], pressure: QueueLevel = "none"): Allocation[] {
  const scored = configs.map((facts) => {
    const reasons = reasonsOf(facts);
    // A config that wants nothing at all takes no part.
    const score = facts.wanted > 0 ? reasons.reduce((product, { factor }) => product * factor, 1) : 0;
    return { facts, reasons, score };
  });
  const sharing = scored.filter(({ score }) => score > 0);
  const total = sumOf(sharing, ({ score }) => score);
  const min = sharing.length === 0 ? 0 : MIN_SHARE / sharing.length;
  const multiplier = rateMultiplierOf(pressure);
  return scored.map(({ facts, reasons, score }) => {
    const share = score === 0 ? 0 : min + (1 - MIN_SHARE) * (score / total);
    const missing = Math.max(0, facts.wanted - facts.done);
    // Under a stop one game at a time still goes out: what stands still never finds out that it may go on.
    const rate = rateOf(facts);
    const room = Math.max(1, Math.round(GAMES_AT_ONCE * share * multiplier * rate));
    return {
      configKey: facts.configKey,
      share,
      rate,
      games: share === 0 ? 0 : Math.min(missing, room),
      urgency: urgencyOf(facts),
      reasons: [
        ...reasons,
        { name: "floor", actual: sharing.length, factor: min },
        { name: "pressure", actual: pressure, factor: multiplier },
      ],
    };
  });
}

const factor = (value: number): string => String(Number(value.toPrecision(3)));

/** The reasons that moved it, in one line. */
export const reasonWords = (reasons: readonly Reason[]): string =>
  reasons
    .filter(({ name, factor: f }) => f !== 1 && name !== "floor")
    .map(
      ({ name, actual, factor: f }) =>
        `${name} ${typeof actual === "number" ? factor(actual) : (actual ?? "unknown")} (x${factor(f)})`,
    )
    .join(", ") || "all factors are 1";

/** Whether a change is worth telling: by a fifth, from or to nothing, or another urgency. */
export const isNoticeable = (
  before: { readonly share: number; readonly urgency: Urgency } | undefined,
  after: { readonly share: number; readonly urgency: Urgency },
): boolean =>
  before === undefined ||
  before.urgency !== after.urgency ||
  (before.share === 0) !== (after.share === 0) ||
  Math.abs(after.share - before.share) > 0.2 * before.share;
