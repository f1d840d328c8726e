import { checkBetween, checkCount, checkFinite, invalid } from "./checks.ts";
import { betaCdf, logGamma } from "./special-functions.ts";

export interface MasteryRule {
  /** Pairs that must be there. */
  readonly pairs: number;
  /** The chance that an opponent who is as strong, or stronger, is ever called mastered, however often one looks. */
  readonly error: number;
}

/**
 * How much more the scores speak for the player than for an equal one: the likelihood of the pairs under every strength above
 * even, all equally likely before, over that of an even game. For an opponent as strong as the player it is a bet that gains nothing
 * on average, so it ever exceeds 1 / e with a chance of at most e. A pair counts once, with its mean score from 0 to 1: its two games share an opening.
 */
export function evidenceOfMastery(pairs: number, score: number): number {
  checkCount(pairs, 0, "MASTERY", "The number of pairs");
  checkFinite(score, "MASTERY", "The score");
  if (score < 0 || score > pairs) throw invalid("MASTERY", `${pairs} pairs cannot have a score of ${score}.`);
  const [won, lost] = [score + 1, pairs - score + 1];
  const logBeta = logGamma(won) + logGamma(lost) - logGamma(won + lost);
  return Math.exp(Math.log(2) * (pairs + 1) + logBeta + Math.log(Math.max(Number.MIN_VALUE, betaCdf(0.5, lost, won))));
}

/** Whether an opponent is mastered: by enough pairs, and as sure as the rule asks for. */
export function isMastered(pairs: number, score: number, rule: MasteryRule): boolean {
  checkBetween(rule.error, 0, 1, "MASTERY", "The error rate");
  const evidence = evidenceOfMastery(pairs, score);
  return pairs >= rule.pairs && evidence >= 1 / rule.error;
}
