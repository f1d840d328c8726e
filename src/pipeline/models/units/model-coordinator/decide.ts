import type { ModelState } from "../../registry.ts";

/** What the rows of a config say, as far as the state of its models follows from it. */
export interface LifeFacts {
  readonly champion: string | null;
  readonly withdrawn: ReadonlySet<string>;
  /** Whether it was ever champion. */
  readonly crowned: ReadonlySet<string>;
  /** The evaluation of now: whom it is about, and what it said. */
  readonly evaluation: {
    readonly candidate: string;
    readonly running: boolean;
    readonly verdict: string | null;
  } | null;
  /** The newest model that came out of training. */
  readonly newest: string | null;
  /** Models made beside the line that are still wanted. */
  readonly kept: ReadonlySet<string>;
}

/** Where a model is in its life. Nobody moves it: it follows from what happened. */
export function modelState(model: string, facts: LifeFacts): ModelState {
  const { champion, withdrawn, crowned, evaluation, newest, kept } = facts;
  if (model === champion) return "production";
  if (withdrawn.has(model)) return "rolled_back";
  if (crowned.has(model)) return "archived";
  if (evaluation?.candidate === model) {
    if (evaluation.running) return "evaluating";
    return evaluation.verdict === "promote" ? "staging" : "archived";
  }
  if (kept.has(model)) return "staging";
  return model === newest ? "training" : "archived";
}
