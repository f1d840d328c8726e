import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { championRating, eloWords, signed } from "../pipeline/words.ts";
import { at, type Html, html, nothing } from "./html.ts";
import { figure, frame, path, type Size } from "./plot.ts";
import { apart, paddedRange } from "./scale.ts";

const SIZES = { wide: { width: 1_000, height: 380 }, narrow: { width: 360, height: 340 } };
const LINE = 15;

const ratedChampions = ({ champions, ladder }: ConfigSnapshot) =>
  champions.flatMap(({ model, iteration, generation }) => {
    const rated = ladder.find(({ player }) => player === model);
    return rated === undefined ? [] : [{ ...rated, iteration, generation }];
  });

function draw(config: ConfigSnapshot, size: Size): Html | undefined {
  const rated = ratedChampions(config);
  const anchors = config.ladder.filter(({ is_anchor }) => is_anchor);
  if (rated.length === 0) return undefined;
  const values = [...rated, ...anchors].flatMap(({ low, high }) => [low, high]);
  const last = rated.at(-1)!.iteration;
  const isNarrow = size.width < 500;
  const { x, y, area, drawn } = frame(
    size,
    { left: 48, right: isNarrow ? 92 : 150, top: 26, bottom: 42 },
    { range: [0, Math.max(1, last, config.iteration - 1)], title: "iteration that made the champion", whole: true },
    {
      range: paddedRange(values, 0.04, 40),
      title: isNarrow ? "Elo, 95 % intervals" : "Elo, with 95 % intervals",
      label: (value) => signed(value),
    },
  );
  const labels = apart(
    anchors.map(({ elo }) => y(elo)),
    LINE,
    area.top + 4,
    area.bottom - 2,
  );
  const lines = anchors.map(({ name, elo }, i) => {
    const [from, to] = [y(elo), labels[i]!];
    const words = isNarrow ? name : `${name}  ${signed(elo)}`;
    return html`<path class="anchor" d="${path([
      [area.left, from],
      [area.right, from],
    ])}"/><path class="leader" d="${path([
      [area.right, from],
      [area.right + 8, to],
    ])}"/><text class="anchor" x="${at(area.right + 11)}" y="${at(to + 4)}">${words}</text>`;
  });
  const band = path([
    ...rated.map(({ iteration, high }): [number, number] => [x(iteration), y(high)]),
    ...rated.toReversed().map(({ iteration, low }): [number, number] => [x(iteration), y(low)]),
  ]);
  const climb = path(rated.map(({ iteration, elo }): [number, number] => [x(iteration), y(elo)]));
  const points = rated.map(({ iteration, elo, low, high, name, games }) => {
    const [px, top, bottom] = [x(iteration), y(high), y(low)];
    return html`<g><title>${`${name}, iteration ${iteration}: ${signed(elo)} (${signed(low)} to ${signed(high)}), ${games} games`}</title><path class="error" d="${path(
      [
        [px, top],
        [px, bottom],
      ],
    )}"/><path class="error" d="M${at(px - 3)} ${at(top)}h6M${at(px - 3)} ${at(bottom)}h6"/><circle cx="${at(px)}" cy="${at(y(elo))}" r="3.2"/></g>`;
  });
  const now = championRating(config);
  const head =
    now === undefined
      ? nothing
      : html`<text class="now" x="${at(isNarrow ? size.width - 4 : area.right)}" y="12" text-anchor="end">${`${now.name}  ${eloWords(now)}`}</text>`;
  return html`${drawn}<g class="anchors">${lines}</g><g class="c1"><path class="band" d="${band}Z"/><path class="line" d="${climb}"/>${points}${head}</g>`;
}

/** Champions by the iteration that made them, between the opponents that never change. */
export const ladderPlot = (config: ConfigSnapshot): Html => {
  const rated = ratedChampions(config);
  const about =
    rated.length === 0
      ? "No champion has been rated yet."
      : `Elo of ${rated.length} champions of ${config.config_key} with their intervals, beside the anchors.`;
  return figure("Ladder", about, SIZES, (size) => draw(config, size));
};
