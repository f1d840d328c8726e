/** The ladder as a figure: who stands where, how sure that is, and which named opponents lie behind. */

import type { ConfigSnapshot, Rated } from "../../pipeline/index.ts";
import { drawInterval } from "../../pipeline/statistics/index.ts";
import type { Shell } from "../cli/shell.ts";
import { number, printable, shorten } from "../cli/text.ts";
import { championRating, eloWords, signed } from "./words.ts";

const MAX_NAME = 16;
const MAX_BAR = 60;
const MIN_BAR = 8;

type Ladder = Pick<ConfigSnapshot, "ladder" | "champion">;

/** An opponent counts as passed once the lower end of the interval lies above it. */
export const isPassed = (anchor: Rated, champion: Rated): boolean => champion.low > anchor.elo;

/**
 * At most so many rungs, best first: the champion of today, then the anchors nearest to it, then other champions, evenly
 * over the whole climb with the first one among them.
 */
export function chosenRungs(config: Ladder, max: number): Rated[] {
  const ladder = config.ladder.toSorted((a, b) => b.elo - a.elo);
  if (ladder.length <= max) return ladder;
  const champion = championRating(config);
  const here = champion?.elo ?? 0;
  const anchors = ladder
    .filter(({ is_anchor }) => is_anchor)
    .sort((a, b) => Math.abs(a.elo - here) - Math.abs(b.elo - here));
  const chosen = new Set<Rated>(champion === undefined ? [] : [champion]);
  for (const anchor of anchors) if (chosen.size < max) chosen.add(anchor);
  const others = ladder.filter((rated) => !rated.is_anchor && rated !== champion).reverse();
  const left = Math.min(others.length, max - chosen.size);
  for (let i = 0; i < left; i += 1) chosen.add(others[Math.floor((i * others.length) / left)]!);
  return ladder.filter((rated) => chosen.has(rated));
}

/** A line for each rung under a scale; `width` is all that there is, `indent` blanks before each. */
export function ladderLines(
  config: Ladder,
  { paint, width }: Pick<Shell, "paint" | "width">,
  { max, indent, label }: { max: number; indent: number; label: string },
): string[] {
  const rungs = chosenRungs(config, max);
  if (rungs.length === 0) return [];
  const from = Math.min(...rungs.map(({ low }) => low));
  const to = Math.max(...rungs.map(({ high }) => high));
  const names = rungs.map(({ name }) => shorten(printable(name), MAX_NAME));
  const nameWidth = Math.max(8, ...names.map((name) => name.length));
  const numbers = rungs.map(eloWords);
  const numberWidth = Math.max(...numbers.map((text) => text.length));
  const before = indent + nameWidth + 2 + numberWidth + 2;
  const bar = Math.min(MAX_BAR, width - before - 14);
  const champion = config.champion?.model;
  const rows = rungs.map((rated, i) => {
    const { elo: estimate, low, high, player, is_anchor } = rated;
    const isChampion = player === champion;
    const figure = bar < MIN_BAR ? "" : drawInterval({ estimate, low, high }, from, to, bar);
    const rung = names[i]!.padEnd(nameWidth + 2) + numbers[i]!.padEnd(numberWidth + 2) + figure;
    const painted = isChampion ? paint.green(paint.bold(rung)) : is_anchor ? paint.yellow(rung) : rung;
    const about = is_anchor ? "anchor" : isChampion ? "now" : `${number(rated.games)} games`;
    return `${" ".repeat(indent)}${painted}${paint.dim(`  ${about}`)}`;
  });
  if (bar < MIN_BAR) return rows;
  const [left, right] = [signed(from), signed(to)];
  const scale = left + right.padStart(Math.max(right.length + 1, bar - left.length));
  return [paint.dim(shorten(label, before - 1).padEnd(before) + scale), ...rows];
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
  return standing || `${printable(champion.name)} ${eloWords(champion)}`;
}
