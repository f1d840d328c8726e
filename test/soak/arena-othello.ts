/**
 * Five minutes of the bare loop on the default game must make at least ten promotions and gain at least 600 Elo over
 * the first network, on a ladder of separate games with at least 100 a rung.
 */
import { pathToFileURL } from "node:url";
import { assert } from "../../src/kernel/index.ts";
import { type BareLoopOptions, type BareLoopResult, run as runBareLoop, tiny as tinyLoop } from "../bench/bare-loop.ts";

const LEAST_PROMOTIONS = 10;
const LEAST_ELO = 600;

export interface OthelloOptions extends BareLoopOptions {
  /** Numbers without a verdict. */
  readonly only_measure?: boolean;
}
export const tiny: OthelloOptions = { ...tinyLoop, only_measure: true };
export const shownBy = "test/bench/bare-loop.ts";

export async function run({ only_measure = false, ...changes }: OthelloOptions = {}): Promise<BareLoopResult> {
  const result = await runBareLoop({ configKey: "othello6_2p", seconds: 300, gamesPerRung: 200, ...changes });
  if (only_measure) return result;
  assert(
    result.promotions >= LEAST_PROMOTIONS,
    `${result.promotions} promotions; at least ${LEAST_PROMOTIONS} are wanted`,
  );
  const { estimate } = result.elo_gain;
  assert(estimate >= LEAST_ELO, `${estimate.toFixed(0)} Elo over the first network; at least ${LEAST_ELO} are wanted`);
  for (const { candidate, opponent, wins, draws, losses } of result.matches)
    assert(wins + draws + losses >= 100, `${candidate} and ${opponent} met less than 100 times`);
  return result;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(`${JSON.stringify(await run(), null, 2)}\n`);
