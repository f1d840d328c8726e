/**
 * The loop, drawn again every second while it runs. Pure: what it is given decides every character. However small the
 * terminal is, no line wraps and no more lines come than there are; what matters less gives way.
 */
import type { PipelineSnapshot } from "../../pipeline/index.ts";
import type { Shell } from "../cli/shell.ts";
import { duration, number, plural, printable, shorten, spread } from "../cli/text.ts";
import { panelOf } from "./panel.ts";
import { producerName, standstillWords } from "./words.ts";

/** How the process around the loop does. */
export interface PipelineFigures {
  readonly eventsPerSecond: number;
  readonly alerts: number;
  /** Jobs at once on this machine. */
  readonly workers: number;
  /** Workers on other machines that ask for jobs. */
  readonly elsewhere?: number;
  /** What slows them or stops them; undefined if nothing does. */
  readonly held?: string | undefined;
  readonly uptimeMs: number;
  /** Until it ends by itself; null for one that goes on. */
  readonly remainingMs: number | null;
}

export interface PipelineScreen extends Pick<Shell, "paint" | "width"> {
  readonly height: number;
}

/** The name of a config and its stages. */
const MIN_PANEL = 2;

/** Lines for each panel: as many as it can use, and what one leaves goes to the others. */
function sharesOf(wanted: readonly number[], free: number): number[] {
  const shares = wanted.map(() => 0);
  for (let left = free; left > 0; left -= 1) {
    const open = wanted.flatMap((max, i) => (shares[i]! < max ? [i] : []));
    if (open.length === 0) break;
    const next = open.reduce((a, b) => (shares[b]! < shares[a]! ? b : a));
    shares[next]! += 1;
  }
  return shares;
}

const workerWords = ({ workers, elsewhere = 0 }: PipelineFigures): string => {
  if (elsewhere === 0) return plural(workers, "worker");
  return workers === 0
    ? `${plural(elsewhere, "worker")} elsewhere`
    : `${plural(workers, "worker")} here, ${elsewhere} elsewhere`;
};

function footOf(
  { configs, at }: PipelineSnapshot,
  figures: PipelineFigures,
  { paint, height }: PipelineScreen,
  width: number,
) {
  const suspects = configs.flatMap(({ config_key, suspects: found }) =>
    found.map((suspect) => `suspect ${producerName(suspect)} (${printable(config_key)}): ${printable(suspect.reason)}`),
  );
  const max = height < 30 ? 2 : 5;
  const more = suspects.length - max;
  const { remainingMs, alerts } = figures;
  const facts = [
    `${number(Math.round(figures.eventsPerSecond))} events/s`,
    alerts === 0 ? paint.dim("no alerts") : paint.red(plural(alerts, "alert")),
    workerWords(figures),
    ...(figures.held === undefined ? [] : [paint.yellow(printable(figures.held))]),
    `up ${duration(figures.uptimeMs)}`,
    ...(remainingMs === null ? [] : [`${duration(Math.max(0, remainingMs))} left`]),
  ];
  const stuck = configs.find((config) => standstillWords(config, at) !== undefined);
  const hint = (key: string) => `'ringrift why ${printable(key)}' shows the actual and the required values`;
  return [
    ...[...suspects.slice(0, max), ...(more > 0 ? [`and ${plural(more, "more suspect")}`] : [])].map(paint.yellow),
    ...(stuck === undefined ? [] : [paint.dim(hint(stuck.config_key))]),
    spread(facts.join("   "), paint.dim("Ctrl-C stops"), width),
  ];
}

/** At most `height - 1` lines of at most `width - 1` characters: the last column and the last line stay free. */
export function pipelineLines(snapshot: PipelineSnapshot, figures: PipelineFigures, screen: PipelineScreen): string[] {
  const width = Math.max(1, screen.width - 1);
  // The last line of the foot, how everything stands, is the one that stays.
  const foot = footOf(snapshot, figures, screen, width).slice(-Math.max(1, screen.height - MIN_PANEL - 2));
  const { configs } = snapshot;
  const room = Math.max(MIN_PANEL, screen.height - 1 - foot.length - 1);
  const fitting = Math.max(1, Math.min(configs.length, Math.floor((room + 1) / (MIN_PANEL + 1))));
  const shown = configs.slice(0, fitting);
  const hidden = configs.length - shown.length;
  const free = room - (hidden > 0 ? 1 : 0) - (shown.length - 1);
  const place = { at: snapshot.at, paint: screen.paint, width };
  const shares = sharesOf(
    shown.map((config) => panelOf(config, place, screen.height).length),
    free,
  );
  const panels = shown.map((config, i) => panelOf(config, place, shares[i]!));
  const { dim } = screen.paint;
  return [
    ...(configs.length === 0
      ? [dim("no config yet")]
      : panels.flatMap((panel, i) => (i === 0 ? panel : ["", ...panel]))),
    ...(hidden > 0 ? [dim(`and ${plural(hidden, "more config")}: 'ringrift pipeline'`)] : []),
    "",
    ...foot,
  ].map((line) => shorten(line, width));
}
