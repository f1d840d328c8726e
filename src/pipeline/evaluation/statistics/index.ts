/**
 * pipeline/evaluation/statistics: the arithmetic that decides promotions. It knows numbers, no events and no queues.
 *
 * It guarantees that a gate's two error rates are what its plan says, whatever the draw rate and for two to four players;
 * that an Elo is never printed without an interval that covers at its stated rate, also after a test that stopped early;
 * that ratings depend on the set of matches alone, not on their order; and that bad numbers are an error with a code,
 * never a NaN that travels on. The unit of evidence is a block: one opening, played once from every seat.
 */
export {
  type BlockShape,
  cellOf,
  drawBlocks,
  type GameResult,
  redundancyOf,
  shapeOfCounts,
  singleGames,
  winBlocks,
} from "./block.ts";
export {
  type EloEstimate,
  eloOfScore,
  estimateElo,
  type Interval,
  normalizedEloOfT,
  scoreOfElo,
  tOfNormalizedElo,
} from "./elo.ts";
export { eloAfterStopping, type StoppedElo } from "./elo-after-stopping.ts";
export {
  bradleyTerry,
  type Ladder,
  type LadderGroup,
  type LadderOptions,
  MOST_PLAYERS,
  plackettLuce,
  type Rating,
} from "./ladder.ts";
export type { Match } from "./match.ts";
export { LEDGER_LIMITS, type LedgerLimits, readLedger } from "./match-ledger.ts";
export {
  OPPONENT_POLICY,
  type OpponentPolicy,
  type OpponentRecord,
  type OpponentShares,
  opponentShares,
} from "./opponent-choice.ts";
export {
  type Condition,
  detectPlateau,
  PLATEAU_RULE,
  type PlateauEvidence,
  type PlateauRule,
  type PlateauVerdict,
} from "./plateau.ts";
export { type ScorePosterior, scorePosterior } from "./posterior.ts";
export {
  judgeProducers,
  type ProducerFinding,
  type ProducerRecord,
  type ProducerTest,
  type ProducerVerdict,
} from "./producers.ts";
export { type FalsePromotions, falsePromotions, type GateTally } from "./promotions.ts";
export { nextRatingGames, type RatingDifference, type RatingGame, ratingDifference } from "./rating-games.ts";
export {
  CLEARED_RULE,
  FAULTS,
  type Fault,
  judgeRegression,
  LEAST_BLOCKS,
  type RegressionVerdict,
  SEVERITY_RULES,
  type Severity,
} from "./severity.ts";
export { type GateStudy, type SimulatedMatch, studyGate } from "./simulated-blocks.ts";
export { logLikelihoodRatio, MOST_REDUNDANCY, type SprtDecision, type SprtResult, sprt } from "./sprt.ts";
export { capFor, checkPlan, type EloModel, gatePlan, type SprtPlan } from "./sprt-plan.ts";
export { drawLadder, drawRatio } from "./text-figures.ts";
export { eloVelocity, type RatedPoint, type Velocity } from "./velocity.ts";
