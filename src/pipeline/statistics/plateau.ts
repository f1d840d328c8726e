import { checkBetween, checkCount, checkFinite, invalid } from "./checks.ts";
import { eloVelocity, type Velocity } from "./velocity.ts";

export interface PlateauEvidence {
  /** Ladder ratings of the models of this config, with the training rows each had seen. */
  readonly models: readonly { readonly rows: number; readonly elo: number; readonly standardError: number }[];
  /** The share of the training window that is newer than the start of the stretch: 1 when all of it was replaced. */
  readonly replacedShare: number;
  /** How many gates in a row did not promote. */
  readonly gatesWithoutPass: number;
}

export interface PlateauRule {
  readonly eloPerDoubling: number;
  readonly confidence: number;
  readonly gatesWithoutPass: number;
  readonly models: number;
}

const PLATEAU_RULE: PlateauRule = { eloPerDoubling: 10, confidence: 0.95, gatesWithoutPass: 3, models: 3 };

/** One condition, with what it is and what it must be. */
export interface Condition {
  readonly name: string;
  readonly actual: number;
  readonly required: string;
  readonly holds: boolean;
}

export interface PlateauVerdict {
  readonly plateau: boolean;
  readonly conditions: readonly Condition[];
  /** Elo for each doubling of the rows; missing with too few models to draw a line. */
  readonly velocity?: Velocity;
}

/** A plateau is a slope known to be small, on data that is really new, with gates that agree: all three, never one. */
export function detectPlateau(evidence: PlateauEvidence, rule: PlateauRule = PLATEAU_RULE): PlateauVerdict {
  checkFinite(evidence.replacedShare, "PLATEAU", "The replaced share of the window");
  if (evidence.replacedShare < 0) throw invalid("PLATEAU", "The replaced share of the window cannot be negative.");
  checkCount(evidence.gatesWithoutPass, 0, "PLATEAU", "The number of gates without a pass");
  checkBetween(rule.confidence, 0, 1, "CONFIDENCE", "The confidence");
  const points = evidence.models.map(({ rows, elo, standardError }) => {
    checkCount(rows, 1, "PLATEAU", "The number of rows of a model");
    return { at: Math.log2(rows), elo, standardError };
  });
  const drawable = points.length >= rule.models && new Set(points.map(({ at }) => at)).size > 1;
  const velocity = drawable ? eloVelocity(points, rule.confidence) : undefined;
  const upper = velocity?.upperBound ?? Number.POSITIVE_INFINITY;
  const conditions: Condition[] = [
    { name: "models", actual: points.length, required: `>= ${rule.models}`, holds: drawable },
    {
      name: "upper_bound_of_elo_per_doubling",
      actual: upper,
      required: `< ${rule.eloPerDoubling}`,
      holds: upper < rule.eloPerDoubling,
    },
    {
      name: "replaced_share_of_window",
      actual: evidence.replacedShare,
      required: ">= 1",
      holds: evidence.replacedShare >= 1,
    },
    {
      name: "gates_without_pass",
      actual: evidence.gatesWithoutPass,
      required: `>= ${rule.gatesWithoutPass}`,
      holds: evidence.gatesWithoutPass >= rule.gatesWithoutPass,
    },
  ];
  const plateau = conditions.every(({ holds }) => holds);
  return velocity === undefined ? { plateau, conditions } : { plateau, conditions, velocity };
}
