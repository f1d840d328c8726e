import type { Interval } from "./elo.ts";
import type { Rating } from "./ladder.ts";
import type { SprtResult } from "./sprt.ts";

/** Small drawings of results for terminals and logs. */

/** Where a value falls on a line of `width` characters from `low` to `high`. */
const placeOf = (value: number, low: number, high: number, width: number): number => {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return Math.round(Math.min(1, Math.max(0, share)) * (width - 1));
};

/** The ratio between its bounds: `┼` is zero, `┊` is where the test stops, `●` is the ratio, an arrow if it is beyond. */
export function drawRatio(
  { llr, lower, upper, stopLower, stopUpper }: Pick<SprtResult, "llr" | "lower" | "upper" | "stopLower" | "stopUpper">,
  width: number,
): string {
  const line = Array.from({ length: width }, () => "─");
  line[placeOf(0, lower, upper, width)] = "┼";
  line[placeOf(stopLower, lower, upper, width)] = "┊";
  line[placeOf(stopUpper, lower, upper, width)] = "┊";
  line[0] = "├";
  line[width - 1] = "┤";
  line[placeOf(llr, lower, upper, width)] = llr < lower ? "◀" : llr > upper ? "▶" : "●";
  return line.join("");
}

/** An interval on a common scale: `├──●──┤`, or a lone `●` where it is narrower than a character. */
export function drawInterval({ estimate, low, high }: Interval, from: number, to: number, width: number): string {
  const line = Array.from({ length: width }, () => " ");
  const first = placeOf(low, from, to, width);
  const last = placeOf(high, from, to, width);
  for (let at = first; at <= last; at += 1) line[at] = "─";
  if (last > first) {
    line[first] = "├";
    line[last] = "┤";
  }
  line[placeOf(estimate, from, to, width)] = "●";
  return line.join("");
}

/** Ratings as a table with their intervals drawn on one scale; `columns` is the width to fill. */
export function drawLadder(ratings: readonly Rating[], columns: number): string {
  const from = Math.min(...ratings.map(({ elo }) => elo.low));
  const to = Math.max(...ratings.map(({ elo }) => elo.high));
  const nameWidth = Math.min(32, Math.max(6, ...ratings.map(({ player }) => player.length)));
  const width = Math.max(15, Math.min(50, columns - nameWidth - 41));
  const short = (name: string) => (name.length > nameWidth ? `${name.slice(0, nameWidth - 1)}…` : name);
  const line = (rank: string, name: string, elo: string, error: string, figure: string, games: string, score: string) =>
    [
      rank.padStart(4),
      short(name).padEnd(nameWidth),
      elo.padStart(8),
      error.padStart(8),
      figure,
      games.padStart(7),
      score.padStart(6),
    ].join(" ");
  const [left, right] = [from.toFixed(0), to.toFixed(0)];
  const lines = [line("RANK", "PLAYER", "ELO", "+-", left + right.padStart(width - left.length), "GAMES", "SCORE")];
  for (const [rank, { player, elo, games, score, anchored }] of ratings.entries()) {
    const error = anchored ? "anchor" : ((elo.high - elo.low) / 2).toFixed(1);
    const figure = drawInterval(elo, from, to, width);
    lines.push(
      line(
        String(rank + 1),
        player,
        elo.estimate.toFixed(1),
        error,
        figure,
        String(games),
        `${(100 * score).toFixed(0)} %`,
      ),
    );
  }
  return lines.join("\n");
}
