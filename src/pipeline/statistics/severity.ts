import { defined } from "../../kernel/index.ts";
import { type BlockShape, checkCounts } from "./block.ts";
import { eloOfScore, type Interval, scoreOfElo } from "./elo.ts";
import { scorePosterior } from "./posterior.ts";

/** How much weaker a model is than the last good champion, as far as the blocks between the two can tell. */
export type Severity = "none" | "minor" | "moderate" | "severe" | "critical";

/** What no number of games can excuse. */
export type Fault = "nan" | "illegal_move" | "hash_mismatch" | "crash";

/** The worst level whose chance is reached; listed worst first. */
const SEVERITY_RULES = [
  { severity: "critical", belowElo: -100, chance: 0.99 },
  { severity: "severe", belowElo: -50, chance: 0.95 },
  { severity: "moderate", belowElo: -20, chance: 0.95 },
  { severity: "minor", belowElo: 0, chance: 0.95 },
] as const satisfies readonly { severity: Severity; belowElo: number; chance: number }[];

const CLEARED_RULE = { aboveElo: -10, chance: 0.95 } as const;

/** With fewer blocks a lucky streak looks like a disaster. */
const LEAST_BLOCKS = 16;

export interface RegressionVerdict {
  /** Missing while there are too few blocks to say. */
  readonly severity?: Severity;
  /** Whether an earlier alarm may be lifted. */
  readonly cleared: boolean;
  readonly blocks: number;
  /** P(d < belowElo) for each rule, and P(d > -10) for clearing. */
  readonly chances: Readonly<Record<Exclude<Severity, "none"> | "cleared", number>>;
  readonly elo: Interval;
}

/**
 * `weight` is how much a verdict counts where gains jump about (`stabilityOf`): one of half the weight needs twice the blocks,
 * and half the chance to be wrong.
 */
export function judgeRegression(counts: readonly number[], blocks: BlockShape, weight = 1): RegressionVerdict {
  const total = checkCounts(counts, blocks);
  const posterior = scorePosterior(counts, blocks);
  const below = (elo: number) => posterior.below(scoreOfElo(elo, blocks.players));
  const enough = total >= Math.ceil(LEAST_BLOCKS / weight);
  const needed = (chance: number) => 1 - (1 - chance) * weight;
  const chances = {
    minor: below(0),
    moderate: below(-20),
    severe: below(-50),
    critical: below(-100),
    cleared: 1 - below(CLEARED_RULE.aboveElo),
  };
  const reached =
    SEVERITY_RULES.find(({ severity, chance }) => chances[severity] >= needed(chance))?.severity ?? "none";
  const severity = enough ? reached : undefined;
  const at = (p: number) => eloOfScore(posterior.quantile(p), blocks.players);
  return {
    ...defined({ severity }),
    cleared: enough && chances.cleared >= needed(CLEARED_RULE.chance),
    blocks: total,
    chances,
    elo: { estimate: at(0.5), low: at(0.025), high: at(0.975) },
  };
}
