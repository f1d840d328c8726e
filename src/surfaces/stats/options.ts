/** Results and plans of a test, as the command line gives them. */
import type { Command } from "commander";
import { defined, OperatingError } from "../../kernel/index.ts";
import {
  type BlockShape,
  type EloModel,
  type SprtPlan,
  shapeOfCounts,
  singleGames,
} from "../../pipeline/statistics/index.ts";
import { decimal } from "../cli/values.ts";

export const numberFor =
  (option: string) =>
  (text: string): number => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value))
      throw OperatingError.invalid("INVALID_NUMBER", `${option} takes a number, not "${text}".`);
    return value;
  };

export const wholeFor =
  (option: string) =>
  (text: string): number => {
    if (!/^\d{1,15}$/.test(text))
      throw OperatingError.invalid("INVALID_NUMBER", `${option} takes a whole number, not "${text}".`);
    return Number(text);
  };

export const listOf = (text: string, read: (item: string) => number): number[] =>
  text.split(",").map((item) => read(item.trim()));

export interface CountOptions {
  readonly pairs?: string;
  readonly blocks?: string;
  readonly wdl?: string;
  readonly players: number;
}

/** The counts and their shape, from whichever of the three options gave them. */
export function countsIn(options: CountOptions): { counts: number[]; shape: BlockShape } {
  const given = (["pairs", "blocks", "wdl"] as const).filter((name) => options[name] !== undefined);
  const [name] = given;
  if (name === undefined || given.length > 1)
    throw OperatingError.invalid("USAGE_COUNTS", "Give the results once: --pairs, --blocks or --wdl.", {
      hint: "For example: --pairs 13,37,50,25,3",
    });
  const { players } = options;
  const counts = listOf(options[name]!, wholeFor(`--${name}`));
  if (name !== "wdl") return { counts, shape: shapeOfCounts(players, counts.length) };
  if (players !== 2) throw OperatingError.invalid("USAGE_COUNTS", "--wdl is for two players; use --blocks for more.");
  return { counts: counts.toReversed(), shape: singleGames() };
}

export interface PlanOptions extends Pick<SprtPlan, "alpha" | "beta"> {
  readonly bounds: string;
  readonly model: EloModel;
  readonly batch: number;
  readonly cap?: number;
}

export const planIn = ({ bounds, model, alpha, beta, batch, cap }: PlanOptions): SprtPlan => ({
  model,
  bounds: listOf(bounds, numberFor("--bounds")) as unknown as readonly [number, number],
  alpha,
  beta,
  batchBlocks: batch,
  ...defined({ capBlocks: cap }),
});

export const withPlayers = (command: Command): Command =>
  command.option("--players <n>", "players at the board, 2 to 4", wholeFor("--players"), 2);

export const withCounts = (command: Command): Command =>
  withPlayers(
    command
      .option("--pairs <counts>", "pairs of two players: LL,LD,DD or WL,WD,WW")
      .option("--blocks <counts>", "blocks of --players: how many had 0,1,2 ... wins")
      .option("--wdl <counts>", "single games that were not paired: wins,draws,losses"),
  );

export const withPlan = (command: Command, batch: number, cap: string): Command =>
  command
    .option("--bounds <h0,h1>", "the two Elo differences to tell apart", "0,50")
    .option("--model <scale>", "the scale of the bounds: normalized or logistic", "normalized")
    .option("--alpha <rate>", "the chance to promote at h0", numberFor("--alpha"), 0.05)
    .option("--beta <rate>", "the chance to reject at h1", numberFor("--beta"), 0.05)
    .option("--batch <blocks>", "blocks between two looks", wholeFor("--batch"), batch)
    .option("--cap <blocks>", cap, wholeFor("--cap"));

export const withConfidence = (command: Command): Command =>
  command.option("--confidence <level>", "of the intervals", decimal("--confidence", 0, 1), 0.95);
