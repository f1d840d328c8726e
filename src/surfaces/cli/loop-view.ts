/**
 * The loop, drawn again every second while it runs. Pure: what it is given decides every character. However small the
 * terminal is, no line wraps and no more lines come than there are; what matters less gives way.
 */
import type { ConfigSnapshot, LoopSnapshot } from "../../pipeline/snapshot.ts";
import { panelOf } from "./loop-panel.ts";
import { lineOf, type Pieces, spread } from "./loop-pieces.ts";
import type { Paint } from "./paint.ts";
import { duration, number, plural, printable } from "./text.ts";

/** How the process around the loop does. */
export interface LoopFigures {
  readonly eventsPerSecond: number;
  readonly alerts: number;
  readonly workers: number;
  readonly uptimeMs: number;
  /** Until it ends by itself; null for one that goes on. */
  readonly remainingMs: number | null;
}

export interface LoopScreen {
  readonly paint: Paint;
  readonly width: number;
  readonly height: number;
}

/** The name of a config and its stages. */
const PANEL_LEAST = 2;

/** Lines for each panel: as many as it can use, and what one leaves goes to the others. */
function sharesOf(wanted: readonly number[], free: number): number[] {
  const shares = wanted.map(() => 0);
  for (let left = free; left > 0; left -= 1) {
    const open = wanted.flatMap((most, i) => (shares[i]! < most ? [i] : []));
    if (open.length === 0) break;
    const next = open.reduce((a, b) => (shares[b]! < shares[a]! ? b : a));
    shares[next]! += 1;
  }
  return shares;
}

function footOf(
  { configs }: LoopSnapshot,
  figures: LoopFigures,
  { paint, height }: LoopScreen,
  width: number,
): Pieces[] {
  const suspects = configs
    .flatMap(({ config_key, suspects: found }) => found.map((suspect) => ({ config_key, ...suspect })))
    .map(
      ({ config_key, producer, reason }): Pieces => [
        {
          text: `suspect ${printable(producer)} (${printable(config_key)}): ${printable(reason)}`,
          paint: paint.yellow,
        },
      ],
    );
  const most = height < 30 ? 2 : 5;
  const more = suspects.length - most;
  const { remainingMs } = figures;
  const facts: Pieces = [
    `${number(Math.round(figures.eventsPerSecond))} events/s`,
    "   ",
    figures.alerts === 0
      ? { text: "no alerts", paint: paint.dim }
      : { text: plural(figures.alerts, "alert"), paint: paint.red },
    `   ${plural(figures.workers, "worker")}`,
    `   up ${duration(figures.uptimeMs)}`,
    ...(remainingMs === null ? [] : [`   ${duration(Math.max(0, remainingMs))} left`]),
  ];
  const stuck = configs.find(({ state }) => state === "waiting" || state === "failed" || state === "paused");
  const hint =
    stuck === undefined ? [] : [`'ringrift why ${printable(stuck.config_key)}' says what is there and what must be`];
  return [
    ...suspects.slice(0, most),
    ...(more > 0 ? [[{ text: `and ${plural(more, "more suspect")}`, paint: paint.yellow }]] : []),
    ...hint.map((text): Pieces => [{ text, paint: paint.dim }]),
    spread(facts, [{ text: "Ctrl-C stops", paint: paint.dim }], width),
  ];
}

/** At most `height - 1` lines of at most `width - 1` characters: the last column and the last line stay free. */
export function loopLines(snapshot: LoopSnapshot, figures: LoopFigures, screen: LoopScreen): string[] {
  const width = Math.max(1, screen.width - 1);
  // The last line of the foot, how everything stands, is the one that stays.
  const foot = footOf(snapshot, figures, screen, width).slice(-Math.max(1, screen.height - PANEL_LEAST - 2));
  const { configs } = snapshot;
  const room = Math.max(PANEL_LEAST, screen.height - 1 - foot.length - 1);
  const fitting = Math.max(1, Math.min(configs.length, Math.floor((room + 1) / (PANEL_LEAST + 1))));
  const shown = configs.slice(0, fitting);
  const hidden = configs.length - shown.length;
  const free = room - (hidden > 0 ? 1 : 0) - (shown.length - 1);
  const panelAt = (config: ConfigSnapshot, rows: number) => panelOf(config, snapshot.at, rows, screen.paint, width);
  const shares = sharesOf(
    shown.map((config) => panelAt(config, screen.height).length),
    free,
  );
  const panels = shown.map((config, i) => panelAt(config, shares[i]!));
  const above: Pieces[] =
    configs.length === 0
      ? [[{ text: "no config yet", paint: screen.paint.dim }]]
      : panels.flatMap((panel, i) => (i === 0 ? panel : [[], ...panel]));
  const rest: Pieces[] =
    hidden > 0
      ? [[{ text: `and ${plural(hidden, "more config")}: 'ringrift pipeline'`, paint: screen.paint.dim }]]
      : [];
  return [...above, ...rest, [], ...foot].map((line) => lineOf(line, width));
}
