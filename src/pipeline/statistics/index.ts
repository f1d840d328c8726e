/**
 * pipeline/evaluation/statistics: the arithmetic that decides promotions. It knows numbers, no events and no queues.
 *
 * It guarantees that a gate's two error rates are what its plan says, whatever the draw rate and for two to four players;
 * that an Elo is never printed without an interval that covers at its stated rate, also after a test that stopped early;
 * that ratings depend on the set of matches alone, not on their order; and that bad numbers are an error with a code,
 * never a NaN that travels on. The unit of evidence is a block: one opening, played once from every seat.
 */
export { type BlockShape, drawBlocks, shapeOfCounts, singleGames, winBlocks } from "./block.ts";
export { fitStrengths } from "./choice-model.ts";
export { ELO_PER_NAT, type EloEstimate, estimateElo, type Interval } from "./elo.ts";
export { eloAfterStopping, type StoppedElo } from "./elo-after-stopping.ts";
export { discoveryRates, type PairedDifference, pairedDifference } from "./experiment.ts";
export { bradleyTerry, type Ladder, plackettLuce } from "./ladder.ts";
export { linkedGroups } from "./linked-groups.ts";
export { isMastered } from "./mastery.ts";
export type { Match } from "./match.ts";
export { LEDGER_LIMITS, readLedger } from "./match-ledger.ts";
export {
  judgeGrowth,
  judgeTrend,
  type MeasuredGrowth,
  type TrendPoint,
  type TrendVerdict,
} from "./plateau.ts";
export { judgeProducers, type ProducerFinding, type ProducerRecord, type ProducerVerdict } from "./producers.ts";
export { falsePromotions } from "./promotions.ts";
export { nextRatingGames } from "./rating-games.ts";
export { type Fault, judgeRegression, type RegressionVerdict, type Severity } from "./severity.ts";
export { type SimulatedMatch, studyGate } from "./simulated-blocks.ts";
export { normalQuantile } from "./special-functions.ts";
export { MAX_REDUNDANCY, type SprtResult, sprt, waldBounds } from "./sprt.ts";
export { capFor, checkPlan, type EloModel, type SprtPlan } from "./sprt-plan.ts";
export { type Stability, stabilityOf } from "./stability.ts";
export { drawInterval, drawLadder, drawRatio } from "./text-figures.ts";
export { type Sums, sumsOf } from "./two-samples.ts";
export { eloVelocity } from "./velocity.ts";
