/** The ladder as a figure: who stands where, how sure that is, and which named opponents lie behind. */
import { drawInterval } from "../../pipeline/evaluation/statistics/text-figures.ts";
import type { ConfigSnapshot, Rated } from "../../pipeline/snapshot.ts";
import type { Piece, Pieces } from "./loop-pieces.ts";
import { championRating, eloWords, signed } from "./loop-words.ts";
import type { Paint } from "./paint.ts";
import { number, printable, shorten } from "./text.ts";

const NAME_MOST = 16;
const BAR_MOST = 60;
const BAR_LEAST = 8;

/** An opponent counts as passed once the lower end of the interval lies above it. */
export const isPassed = (anchor: Rated, champion: Rated): boolean => champion.low > anchor.elo;

/**
 * At most so many rungs, best first: the champion of today, then the anchors nearest to it, then other champions, evenly
 * over the whole climb with the first one among them.
 */
export function chosenRungs(config: ConfigSnapshot, most: number): Rated[] {
  const ladder = config.ladder.toSorted((a, b) => b.elo - a.elo);
  if (ladder.length <= most) return ladder;
  const champion = championRating(config);
  const here = champion?.elo ?? 0;
  const anchors = ladder
    .filter(({ is_anchor }) => is_anchor)
    .sort((a, b) => Math.abs(a.elo - here) - Math.abs(b.elo - here));
  const chosen = new Set<Rated>(champion === undefined ? [] : [champion]);
  for (const anchor of anchors) if (chosen.size < most) chosen.add(anchor);
  const others = ladder.filter((rated) => !rated.is_anchor && rated !== champion).reverse();
  const left = Math.min(others.length, most - chosen.size);
  for (let i = 0; i < left; i += 1) chosen.add(others[Math.floor((i * others.length) / left)]!);
  return ladder.filter((rated) => chosen.has(rated));
}

/** A line for each rung under a scale; `width` is all that there is, `indent` blanks before each. */
export function ladderLines(
  config: ConfigSnapshot,
  { paint, width, most, indent, label }: { paint: Paint; width: number; most: number; indent: number; label: string },
): Pieces[] {
  const rungs = chosenRungs(config, most);
  if (rungs.length === 0) return [];
  const from = Math.min(...rungs.map(({ low }) => low));
  const to = Math.max(...rungs.map(({ high }) => high));
  const names = rungs.map(({ name }) => shorten(printable(name), NAME_MOST));
  const nameWidth = Math.max(8, ...names.map((name) => name.length));
  const numbers = rungs.map(eloWords);
  const numberWidth = Math.max(...numbers.map((text) => text.length));
  const before = indent + nameWidth + 2 + numberWidth + 2;
  const bar = Math.min(BAR_MOST, width - before - 14);
  const champion = config.champion?.model;
  const colorOf = ({ player, is_anchor }: Rated): Pick<Piece, "paint"> => {
    if (player === champion) return { paint: (text) => paint.green(paint.bold(text)) };
    return is_anchor ? { paint: paint.yellow } : {};
  };
  const rows = rungs.map((rated, i): Pieces => {
    const color = colorOf(rated);
    const figure = drawInterval({ estimate: rated.elo, low: rated.low, high: rated.high }, from, to, Math.max(1, bar));
    return [
      " ".repeat(indent),
      { text: names[i]!.padEnd(nameWidth + 2), ...color },
      { text: numbers[i]!.padEnd(numberWidth + 2), ...color },
      ...(bar < BAR_LEAST ? [] : [{ text: figure, ...color }]),
      {
        text: rated.is_anchor ? "  anchor" : rated.player === champion ? "  now" : `  ${number(rated.games)} games`,
        paint: paint.dim,
      },
    ];
  });
  if (bar < BAR_LEAST) return rows;
  const [left, right] = [signed(from), signed(to)];
  const head = shorten(label, before - 1).padEnd(before);
  const scale = `${left}${right.padStart(Math.max(right.length + 1, bar - left.length))}`;
  return [
    [
      { text: head, paint: paint.dim },
      { text: scale, paint: paint.dim },
    ],
    ...rows,
  ];
}

/** The same in one line: between which opponents the champion stands. */
export function standingWords(config: ConfigSnapshot): string {
  const champion = championRating(config);
  if (champion === undefined) return "the champion is not rated yet";
  const anchors = config.ladder.filter(({ is_anchor }) => is_anchor).toSorted((a, b) => b.elo - a.elo);
  const below = anchors.find(({ elo }) => elo <= champion.elo);
  const above = anchors.findLast(({ elo }) => elo > champion.elo);
  const said = (word: string, anchor: Rated | undefined) =>
    anchor === undefined ? [] : [`${word} ${printable(anchor.name)} (${signed(anchor.elo)})`];
  const standing = [...said("above", below), ...said("below", above)].join(", ");
  return standing === "" ? `${printable(champion.name)} ${eloWords(champion)}` : standing;
}
