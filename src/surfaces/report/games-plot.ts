import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { number } from "../cli/text.ts";
import type { ReportAbout } from "./about.ts";
import { at, type Html, html } from "./html.ts";
import { figure, frame, path, type Size, thinned } from "./plot.ts";
import { roundRange } from "./scale.ts";

const SIZES = { wide: { width: 490, height: 280 }, narrow: { width: 360, height: 270 } };
const MAX_POINTS = 300;

type Samples = ReportAbout["games"][string];

/** The unit in which a run of this length is told. */
const unitOf = (lengthMs: number): { readonly name: string; readonly ms: number } => {
  if (lengthMs < 240_000) return { name: "seconds", ms: 1_000 };
  return lengthMs < 4 * 3_600_000 ? { name: "minutes", ms: 60_000 } : { name: "hours", ms: 3_600_000 };
};

/** How many games there were at a time, between the samples around it. */
function gamesAt(samples: Samples, time: number): number {
  const next = samples.findIndex((sample) => sample.at >= time);
  if (next < 0) return samples.at(-1)!.games;
  if (next === 0) return samples[0]!.games;
  const [a, b] = [samples[next - 1]!, samples[next]!];
  return b.at > a.at ? a.games + ((time - a.at) / (b.at - a.at)) * (b.games - a.games) : b.games;
}

function draw(config: ConfigSnapshot, about: ReportAbout, size: Size): Html | undefined {
  const samples = thinned(about.games[config.config_key] ?? [], MAX_POINTS);
  if (samples.length < 2) return undefined;
  const unit = unitOf(about.ended_at - about.started_at);
  const since = (at: number) => (at - about.started_at) / unit.ms;
  const [, top] = roundRange([0, ...samples.map(({ games }) => games)], 5);
  const { x, y, area, drawn } = frame(
    size,
    { left: 54, right: 16, top: 26, bottom: 42 },
    { range: [0, Math.max(since(samples.at(-1)!.at), 1e-6)], title: `${unit.name} since the start` },
    { range: [0, Math.max(1, top)], title: "games that count; dots are promotions", whole: true },
  );
  const places = samples.map((sample): [number, number] => [x(Math.max(0, since(sample.at))), y(sample.games)]);
  const crowned = config.champions.filter(
    ({ since: time, by }) => by === "gate" && time >= samples[0]!.at && time <= samples.at(-1)!.at,
  );
  return html`${drawn}<g class="c1"><path class="band" d="${path([
    [places[0]![0], area.bottom],
    ...places,
    [places.at(-1)![0], area.bottom],
  ])}Z"/><path class="line" d="${path(places)}"/></g><g class="c3">${crowned.map(
    ({ since: time, generation }) =>
      html`<circle cx="${at(x(since(time)))}" cy="${at(y(gamesAt(samples, time)))}" r="3.6"><title>${`champion ${generation}`}</title></circle>`,
  )}</g>`;
}

export const gamesPlot = (config: ConfigSnapshot, about: ReportAbout): Html =>
  figure(
    "Games",
    (about.games[config.config_key]?.length ?? 0) < 2
      ? "The run was too short to be sampled."
      : `${number(config.games)} games over time, with the promotions on them.`,
    SIZES,
    (size) => draw(config, about, size),
  );
