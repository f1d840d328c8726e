import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { number, plural } from "../cli/text.ts";
import type { ReportAbout } from "./about.ts";
import { span } from "./figures.ts";
import { at, type Html, html } from "./html.ts";
import { figure, frame, path, type Size, thinned } from "./plot.ts";
import { roundRange } from "./scale.ts";
import { stallsOf } from "./stalls.ts";

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
  const last = samples.at(-1)!;
  const end = Math.max(last.at, about.ended_at);
  const [, top] = roundRange([0, ...samples.map(({ games }) => games)], 5);
  const { x, y, area, drawn } = frame(
    size,
    { left: 54, right: 16, top: 26, bottom: 42 },
    { range: [0, Math.max(since(end), 1e-6)], title: `${unit.name} since the start` },
    {
      range: [0, Math.max(1, top)],
      title:
        size === SIZES.narrow
          ? "games (dots: promotions, red: no games)"
          : "games that count (dots: promotions, red: no games came)",
      whole: true,
    },
  );
  // The line goes on to the end of the run, also where nothing was added.
  const drawnTo = end > last.at ? [...samples, { at: end, games: last.games }] : samples;
  const places = drawnTo.map((sample): [number, number] => [x(Math.max(0, since(sample.at))), y(sample.games)]);
  const stalls = stallsOf(about.games[config.config_key] ?? [], about.started_at, about.ended_at);
  const crowned = config.champions.filter(
    ({ since: time, by }) => by === "gate" && time >= samples[0]!.at && time <= end,
  );
  return html`${drawn}${stalls.map(
    ({ from, to }) =>
      html`<rect class="stall" x="${at(x(Math.max(0, since(from))))}" y="${at(area.top)}" width="${at(x(since(to)) - x(Math.max(0, since(from))))}" height="${at(area.bottom - area.top)}"><title>${`no game for ${span(to - from)}`}</title></rect>`,
  )}<g class="c1"><path class="band" d="${path([
    [places[0]![0], area.bottom],
    ...places,
    [places.at(-1)![0], area.bottom],
  ])}Z"/><path class="line" d="${path(places)}"/></g><g class="c3">${crowned.map(
    ({ since: time, generation }) =>
      html`<circle cx="${at(x(since(time)))}" cy="${at(y(gamesAt(samples, time)))}" r="3.6"><title>${`champion ${generation}`}</title></circle>`,
  )}</g>`;
}

function aboutGames(config: ConfigSnapshot, about: ReportAbout): string {
  const stalls = stallsOf(about.games[config.config_key] ?? [], about.started_at, about.ended_at);
  const still = stalls.length === 0 ? "" : ` Shaded: no game came, ${plural(stalls.length, "time")}.`;
  return `${number(config.games)} games over time, with the promotions on them.${still}`;
}

export const gamesPlot = (config: ConfigSnapshot, about: ReportAbout): Html =>
  figure(
    "Games",
    (about.games[config.config_key]?.length ?? 0) < 2
      ? "The run was too short to be sampled."
      : aboutGames(config, about),
    SIZES,
    (size) => draw(config, about, size),
  );
