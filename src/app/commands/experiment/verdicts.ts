/** What experiments say, each arm beside the first one of its experiment, and which of it to believe. */
import { sumOf } from "../../../kernel/index.ts";
import {
  discoveryRates,
  drawBlocks,
  estimateElo,
  type PairedDifference,
  pairedDifference,
} from "../../../pipeline/index.ts";
import { type Book, matchKey } from "./book.ts";
import { armsOf, configsOf, type Experiment, seedsOf } from "./definition.ts";

export type ArmVerdict = "better" | "worse" | "not shown";

export interface ArmResult {
  readonly experiment: string;
  readonly arm: string;
  readonly control: string;
  /** Elo of the arm's champion over the control's, seed by seed; the mean of all configs. */
  readonly differences: readonly { readonly seed: number; readonly elo: number; readonly games: number }[];
  readonly difference: PairedDifference;
  /** The lowest false discovery rate at which the difference would be believed, over all arms of the run. */
  readonly rate: number;
  readonly verdict: ArmVerdict;
}

export function verdictsOf(
  all: readonly { readonly experiment: Experiment; readonly book: Book }[],
  players: (configKey: string) => number,
  rate: number,
): ArmResult[] {
  const compared = all.flatMap(({ experiment, book }) => {
    const [control = "", ...arms] = armsOf(experiment);
    return arms.map((arm) => {
      const differences = seedsOf(experiment).map((seed) => {
        const played = configsOf(experiment).map((config) => {
          const { counts, games } = book.matches[matchKey(experiment, arm, seed, config)]!;
          return { elo: estimateElo(counts, drawBlocks(players(config))).elo.estimate, games };
        });
        const elo = sumOf(played, (each) => each.elo) / played.length;
        return { seed, elo, games: sumOf(played, ({ games }) => games) };
      });
      const difference = pairedDifference(differences.map(({ elo }) => elo));
      return { experiment: experiment.name, arm, control, differences, difference };
    });
  });
  const rates = discoveryRates(compared.map(({ difference }) => difference.pValue));
  return compared.map((one, i) => {
    const isBelieved = rates[i]! <= rate;
    const verdict = !isBelieved ? "not shown" : one.difference.estimate > 0 ? "better" : "worse";
    return { ...one, rate: rates[i]!, verdict };
  });
}
