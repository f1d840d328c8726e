/** What the calculator prints, for people and for programs. */
import {
  type BlockShape,
  drawLadder,
  drawRatio,
  type EloEstimate,
  type Interval,
  type Ladder,
  type nextRatingGames,
  type SprtPlan,
  type SprtResult,
  type StoppedElo,
} from "../../pipeline/statistics/index.ts";
import type { CliIo } from "../cli/io.ts";

export const signed = (value: number, digits = 1): string => `${value < 0 ? "" : "+"}${value.toFixed(digits)}`;
export const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`;
export const unitOf = ({ players, gamesPerBlock }: BlockShape): string =>
  gamesPerBlock === 1 ? "games" : players === 2 ? "pairs" : "blocks";

const chance = (share: number): string =>
  share > 0.999 ? "over 99.9 %" : share < 0.001 ? "under 0.1 %" : percent(share);
const range = ({ low, high }: Interval): string => `${signed(low)} to ${signed(high)}`;
const row = (name: string, text: string): string => `${name.padEnd(16)}${text}`;

/** Keys as the rest of the world writes them: snake_case, all the way down. */
export const toWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toWire);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), toWire(inner)]),
  );
};

const countsRow = (counts: readonly number[], shape: BlockShape, blocks: number): string =>
  row(unitOf(shape), `${blocks}   ${counts.map((count, cell) => `${shape.labels[cell]} ${count}`).join("  ")}`);

const estimateRows = ({ score, games, elo, halfWidth, confidence, normalizedElo, superiority }: EloEstimate) => [
  row("score", `${percent(score, 2)} over ${games} games`),
  row("Elo", `${signed(elo.estimate, 2)} +- ${halfWidth.toFixed(2)}   (${percent(confidence, 0)}: ${range(elo)})`),
  row("normalized Elo", `${signed(normalizedElo.estimate, 2)}   (${range(normalizedElo)})`),
  row("superiority", `${chance(superiority)} to be the stronger one`),
];

export const eloLines = (counts: readonly number[], shape: BlockShape, estimate: EloEstimate): string[] => [
  countsRow(counts, shape, estimate.blocks),
  ...estimateRows(estimate),
  ...(estimate.method === "normal" ? [] : [row("", "one-sided results: interval from the posterior")]),
];

const STOPPED_NOTES: Readonly<Record<StoppedElo["method"], string>> = {
  sequential: "median-unbiased",
  posterior: "one-sided results: from the posterior",
  fixed: "the test would have ended long before: as for a fixed number",
};

export function sprtLines(
  counts: readonly number[],
  shape: BlockShape,
  { model, bounds, alpha, beta }: SprtPlan,
  result: SprtResult,
  estimate: EloEstimate,
  { elo, method }: StoppedElo,
  columns: number,
): string[] {
  const { lower, upper, llr, decision } = result;
  const ratio = drawRatio(result, Math.max(21, Math.min(61, columns - 30)));
  const stopped = row("after stopping", `${signed(elo.estimate, 2)} Elo   (${range(elo)}; ${STOPPED_NOTES[method]})`);
  return [
    countsRow(counts, shape, result.blocks),
    row("test", `${model} Elo [${bounds.join(", ")}], alpha ${alpha}, beta ${beta}`),
    row("LLR", llr.toFixed(6)),
    "",
    `  reject ${lower.toFixed(2)} ${ratio} ${upper.toFixed(2)} promote`,
    "",
    row("decision", `${decision}: ${result.reason}`),
    ...estimateRows(estimate),
    // The Elo of a test that goes on is nobody's result yet: it is corrected when the test has ended.
    ...(decision === "continue" ? [] : [stopped]),
  ];
}

export function ladderText({ groups, ratings, games }: Ladder, next: ReturnType<typeof nextRatingGames>, io: CliIo) {
  const drawn = groups.flatMap(({ players, anchored }, group) => [
    ...(groups.length > 1 ? [`group ${group + 1}: ${players.length} players without a game against the others`] : []),
    drawLadder(
      ratings.filter((rating) => rating.group === group),
      io.columns,
    ),
    ...(anchored ? [] : ["No anchor: the mean of these ratings is 0."]),
    "",
  ]);
  const useful = next.map(
    ({ players, elo, standardError }) =>
      `  ${players.join(" - ")}   difference ${signed(elo, 0)}, standard error ${standardError.toFixed(0)}`,
  );
  return [
    ...drawn,
    `${games} games.`,
    ...(useful.length === 0 ? [] : ["", "Rating games that would tell most:", ...useful]),
  ];
}
