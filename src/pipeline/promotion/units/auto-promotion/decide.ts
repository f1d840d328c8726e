import type { EvaluationOwn, StageWork } from "../../../stage/index.ts";

export interface PromotionFacts {
  readonly iteration: number;
  /** What was trained in this iteration; null if nothing was. */
  readonly candidate: string | null;
  readonly champion: string | null;
  /** The work of this iteration's evaluation; undefined if there is none. */
  readonly evaluation: Pick<StageWork<EvaluationOwn>, "state" | "own" | "evidence"> | undefined;
  readonly withdrawn: ReadonlySet<string>;
}

export type PromotionDecision =
  /** `expected` is the champion that it was measured against. */
  | {
      readonly kind: "crown";
      readonly cause: "first" | "gate";
      readonly model: string;
      readonly expected: string | null;
    }
  | { readonly kind: "reject"; readonly model: string; readonly reason: string }
  /** There was nothing to decide. */
  | { readonly kind: "nothing"; readonly reason: string }
  | { readonly kind: "fail"; readonly code: string; readonly message: string };

/** What becomes of a candidate. Without a verdict and the games behind it nothing is promoted. */
export function decidePromotion({
  iteration,
  candidate,
  champion,
  evaluation,
  withdrawn,
}: PromotionFacts): PromotionDecision {
  if (iteration === 0 || (champion === null && evaluation?.own.verdict == null)) {
    if (candidate === null)
      return { kind: "fail", code: "PROMOTION_WITHOUT_MODEL", message: "there is no model to begin with" };
    // Nobody can be measured against nobody: the first champion is made, not earned.
    return { kind: "crown", cause: "first", model: candidate, expected: null };
  }
  if (candidate === null) return { kind: "nothing", reason: "nothing was trained in this iteration" };
  if (evaluation === undefined || evaluation.state !== "done")
    return {
      kind: "fail",
      code: "PROMOTION_WITHOUT_VERDICT",
      message: "this iteration has no evaluation that is done",
    };
  const { verdict, opponent } = evaluation.own;
  if (verdict === null)
    return { kind: "nothing", reason: String(evaluation.evidence.skipped ?? "nothing was evaluated") };
  const reason = String(evaluation.evidence.reason ?? verdict);
  if (verdict !== "promote") return { kind: "reject", model: candidate, reason };
  if (evaluation.own.candidate !== candidate)
    return { kind: "fail", code: "PROMOTION_OF_ANOTHER", message: "the verdict is about another model" };
  const games = evaluation.evidence.games;
  if (typeof games !== "number" || games < 1)
    return { kind: "fail", code: "PROMOTION_WITHOUT_GAMES", message: "the verdict has no games behind it" };
  if (withdrawn.has(candidate))
    return { kind: "reject", model: candidate, reason: "it was rolled back before and does not return by itself" };
  return { kind: "crown", cause: "gate", model: candidate, expected: opponent };
}

export interface TierFacts {
  readonly champion: { readonly low: number };
  readonly anchors: readonly { readonly player: string; readonly high: number }[];
}

/** The baselines that a champion has passed: the lower end of its interval lies above the upper end of theirs. */
export const tiersPassed = ({ champion, anchors }: TierFacts): string[] =>
  anchors.filter(({ high }) => champion.low > high).map(({ player }) => player);
