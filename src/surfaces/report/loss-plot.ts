import type { ConfigSnapshot, LossPoint } from "../../pipeline/index.ts";
import { LOSS_LINES, totalLoss } from "../pipeline/curves.ts";
import { at, type Html, html } from "./html.ts";
import { figure, frame, path, type Size, thinned } from "./plot.ts";
import { apart, roundRange } from "./scale.ts";

const SIZES = { wide: { width: 490, height: 280 }, narrow: { width: 360, height: 270 } };
const MAX_POINTS = 400;

const COLORS: Readonly<Record<string, string>> = { loss: "c1", policy: "c1", value: "c2", "held out": "c3" };

const finite = (value: number | null): value is number => value !== null && Number.isFinite(value);

function draw(losses: readonly LossPoint[], size: Size): Html | undefined {
  const points = thinned(losses, MAX_POINTS);
  const series = LOSS_LINES.map((each) => ({
    ...each,
    color: COLORS[each.name]!,
    values: points.flatMap((point) => {
      const value = each.of(point);
      return finite(value) ? [{ iteration: point.iteration, value }] : [];
    }),
  })).filter(({ values }) => values.length > 0);
  if (series.length === 0) return undefined;
  const all = series.flatMap(({ values }) => values.map(({ value }) => value));
  const [, top] = roundRange([0, ...all], 5);
  const first = points[0]!.iteration;
  const last = points.at(-1)!.iteration;
  const { x, y, area, drawn } = frame(
    size,
    { left: 40, right: 104, top: 26, bottom: 42 },
    { range: last > first ? [first, last] : [first - 1, first + 1], title: "iteration", whole: true },
    { range: [Math.min(0, ...all), top], title: "loss" },
  );
  const ends = apart(
    series.map(({ values }) => y(values.at(-1)!.value)),
    15,
    area.top + 4,
    area.bottom - 2,
  );
  return html`${drawn}${series.map(({ name, color, values }, i) => {
    const end = values.at(-1)!;
    return html`<g class="${color}"><path class="line" d="${path(
      values.map(({ iteration, value }): [number, number] => [x(iteration), y(value)]),
    )}"/><circle cx="${at(x(end.iteration))}" cy="${at(y(end.value))}" r="3"/><text class="end" x="${at(area.right + 9)}" y="${at(
      ends[i]! + 4,
    )}">${`${name} ${end.value.toFixed(2)}`}</text></g>`;
  })}`;
}

export const lossPlot = ({ losses }: ConfigSnapshot): Html => {
  const last = losses.at(-1);
  const about =
    last === undefined
      ? "Nothing has been trained yet."
      : `Losses over ${losses.length} training runs; the last is ${totalLoss(last).toFixed(3)}.`;
  return figure("Loss", about, SIZES, (size) => draw(losses, size));
};
