/** One config as the live view shows it, on as many lines as it is given. */
import type { ConfigSnapshot, StageView } from "../../pipeline/index.ts";
import { drawRatio } from "../../pipeline/statistics/index.ts";
import { adviceWords } from "../cli/advice.ts";
import { type Paint, painter } from "../cli/paint.ts";
import { sparkline } from "../cli/sparkline.ts";
import { duration, lengthSeen, number, plural, printable, spread } from "../cli/text.ts";
import { lossWords, totalLoss } from "./curves.ts";
import { ladderLines, standingWords } from "./ladder.ts";
import {
  agoWords,
  byWords,
  causeWords,
  championRating,
  eloWords,
  endedGates,
  falsePromotionWords,
  gateNumbers,
  lastRatio,
  nameOf,
  progressWords,
  STAGE_WORDS,
  signed,
  stageWords,
  stateColor,
  VERDICT_WORDS,
  verdictCounts,
  waitWords,
} from "./words.ts";

/** Where a panel is drawn, and the moment that it shows. */
export interface Place {
  readonly at: number;
  readonly paint: Paint;
  readonly width: number;
}

const LABEL = 12;
const GAUGE = { min: 15, max: 41 };
const MAX_SPARK = 40;
/** Lines of a ladder that is worth drawing. */
const MIN_LADDER = 4;
const MAX_VERDICTS = 4;

const labelled = (label: string, { dim }: Paint, ...text: readonly string[]): string =>
  dim(`  ${label}`.padEnd(LABEL)) + text.join("");

function headOf(config: ConfigSnapshot, { at, paint, width }: Place): string {
  const { state } = config;
  const attempt = config.attempt > 1 ? `, attempt ${config.attempt}` : "";
  const where = `  ${STAGE_WORDS[config.stage]}${attempt} for ${duration(Math.max(0, at - config.stage_since))}`;
  const isLate = state === "running" && at > config.deadline;
  const left = [
    paint.bold(printable(config.config_key)),
    `  iteration ${number(config.iteration)}`,
    state === "complete" ? "" : paint.dim(where),
    isLate ? paint.red("  late") : "",
  ];
  return spread(left.join(""), stateColor(paint, state)(paint.bold(state)), width);
}

const MARKS: Readonly<Record<StageView["state"], string>> = { done: "✓", running: "●", open: "○", failed: "✗" };

const stagePaint = ({ state, breaker }: StageView, paint: Paint): ((text: string) => string) => {
  if (state === "failed" || breaker === "open") return paint.red;
  if (breaker === "half_open") return paint.yellow;
  if (state === "done") return paint.green;
  return state === "running" ? (text) => paint.cyan(paint.bold(text)) : paint.dim;
};

/** The stages side by side with what is known of each; where that is too wide, marks and the one that runs. */
function stripOf(config: ConfigSnapshot, { paint, width }: Place): string {
  const { stages } = config;
  const worded = (rich: boolean): string =>
    stages
      .map((view) => {
        const took = rich && view.state === "done" && view.seconds !== null ? ` ${duration(view.seconds * 1_000)}` : "";
        const broken = rich && view.breaker !== "closed" ? ` (breaker ${view.breaker.replace("_", " ")})` : "";
        const name = `${MARKS[view.state]} ${STAGE_WORDS[view.stage]}${progressWords(view.progress)}`;
        return `  ${stagePaint(view, paint)(name)}${paint.dim(took + broken)}`;
      })
      .join("");
  const line = [worded(true), worded(false)].find((each) => lengthSeen(each) <= width);
  const marks = () => stages.map((view) => stagePaint(view, paint)(MARKS[view.state])).join("");
  return line ?? `  ${marks()}  ${stageWords(config)}`;
}

function troubleOf({ state, cause, waits, failures, books }: ConfigSnapshot, { at, paint }: Place): string[] {
  const failure = failures.at(-1);
  const isSaid = (actual: unknown) => actual !== null && actual === failure?.message;
  const color = cause?.level === "bad" ? paint.red : cause?.level === "warn" ? paint.yellow : paint.dim;
  const root = cause == null ? [] : [color(`  ${causeWords(cause, at)}`)];
  const todo = cause == null || cause.level === "note" ? "" : adviceWords(cause.advice);
  // What there is to wait for while it is at work; where it is not, the root is all that counts.
  const waiting = waits.map((wait) =>
    paint.dim(`  ${waitWords(isSaid(wait.actual) ? { ...wait, actual: null } : wait, at)}`),
  );
  const failed = ({ stage, at: when, message, code }: NonNullable<typeof failure>) =>
    `  ${STAGE_WORDS[stage]} failed ${agoWords(when, at)}: ${printable(message)} (${printable(code)})`;
  return [
    ...(books.balanced ? [] : [paint.red("  the books do not balance: 'ringrift ledger'")]),
    ...(state === "complete" ? [] : root.length > 0 ? root : waiting),
    ...(todo === "" || state === "complete" ? [] : [paint.dim(`  ${todo}`)]),
    ...(failure === undefined || isSaid(cause?.actual ?? null) ? [] : [paint.red(failed(failure))]),
  ];
}

function gamesOf({ games, games_per_second, rows, window, quality }: ConfigSnapshot, { paint }: Place): string {
  const judged = quality === null ? "" : `   quality ${quality.score.toFixed(2)} ${printable(quality.band)}`;
  const seen = window === undefined ? "" : `, training sees ${number(window.rows)}`;
  const more = paint.dim(`   rows ${number(rows)}${seen}${judged}`);
  return labelled("games", paint, paint.bold(number(games)), `  ${games_per_second.toFixed(1)}/s`, more);
}

function lossOf({ losses, training }: ConfigSnapshot, { paint, width }: Place): string | undefined {
  const last = losses.at(-1);
  const now = training === undefined ? "" : paint.cyan(`  now ${training.loss.toFixed(3)}`);
  if (last === undefined) return training === undefined ? undefined : labelled("loss", paint, now);
  const totals = losses.map(totalLoss);
  const parts = lossWords(last);
  const words = labelled(
    "loss",
    paint,
    paint.bold(totals.at(-1)!.toFixed(3)),
    parts === "" ? "" : `  ${parts}`,
    now,
    "  ",
  );
  return words + paint.cyan(sparkline(totals, Math.min(MAX_SPARK, width - lengthSeen(words))));
}

const verdictColor = painter({ promote: "green", reject: "red" }, "yellow");

/** The gate that is under way: where the ratio is between its bounds, and how it came there. */
function gateOf(config: ConfigSnapshot, { paint, width }: Place): string | undefined {
  const gate = config.gates.findLast(({ verdict }) => verdict === null);
  if (gate === undefined) return undefined;
  const { lower, upper } = gate;
  const llr = lastRatio(gate);
  const opponent = `#${gate.iteration} v ${nameOf(config, gate.opponent)}  `;
  const before = labelled("gate", paint, opponent, paint.bold(`LLR ${signed(llr, 2)}`), "  ");
  const after = `  ${plural(gate.games, "game")}`;
  const room = width - lengthSeen(before) - after.length;
  const gaugeWidth = Math.min(GAUGE.max, room);
  const gauge =
    gaugeWidth < GAUGE.min ? "" : drawRatio({ llr, lower, upper, stopLower: lower, stopUpper: upper }, gaugeWidth);
  const spark = sparkline(gate.llr, Math.min(MAX_SPARK, room - gaugeWidth - 2), { low: lower, high: upper });
  const color = llr > 0 ? paint.green : paint.yellow;
  return `${before}${color(gauge)}${after}${spark === "" ? "" : `  ${paint.cyan(spark)}`}`;
}

/** `max` verdicts, newest first. */
const verdictsOf = (config: ConfigSnapshot, max: number, paint: Paint): string[] =>
  endedGates(config)
    .slice(0, max)
    .map((gate, i) => {
      const verdict = verdictColor(paint, gate.verdict)(VERDICT_WORDS[gate.verdict].padEnd(12));
      const which = `#${String(gate.iteration).padEnd(4)}`;
      return labelled(i === 0 ? "last" : "", paint, which, verdict, `  ${gateNumbers(gate)}`);
    });

function championOf(config: ConfigSnapshot, { at, paint }: Place): string {
  const { champion } = config;
  if (champion === null) return labelled("champion", paint, paint.dim("none yet"));
  const rating = championRating(config);
  const { generation, iteration, since } = champion;
  return labelled(
    "champion",
    paint,
    paint.green(paint.bold(`generation ${number(generation)}`)),
    rating === undefined ? "" : `  Elo ${eloWords(rating)}`,
    paint.dim(`  ${byWords(champion)}, iteration ${number(iteration)}, ${agoWords(since, at)}`),
  );
}

const tallyOf = ({ verdicts, expected_false_promotions }: ConfigSnapshot, { paint }: Place): string =>
  labelled(
    "verdicts",
    paint,
    verdictCounts(verdicts),
    paint.dim(`; ${falsePromotionWords(expected_false_promotions)}`),
  );

/** A part of a panel; those of lower rank are there first where lines are few. */
interface Part {
  readonly rank: number;
  readonly line: string;
}

/** How much of what can be long. */
interface Lengths {
  readonly verdicts: number;
  /** Lines of the ladder; 1 for words instead of a figure. */
  readonly ladder: number;
}

function partsOf(config: ConfigSnapshot, place: Place, lengths: Lengths): Part[] {
  const { paint, width } = place;
  const one = (rank: number, line: string | undefined): Part[] => (line === undefined ? [] : [{ rank, line }]);
  const gate = gateOf(config, place);
  const verdicts = verdictsOf(config, lengths.verdicts, paint);
  const standing = config.ladder.length === 0 ? [] : [labelled("ladder", paint, standingWords(config))];
  const ladder =
    lengths.ladder > 1
      ? ladderLines(config, place, { max: lengths.ladder - 1, indent: width < 100 ? 4 : LABEL, label: "  ladder" })
      : standing;
  return [
    ...one(0, headOf(config, place)),
    ...one(1, stripOf(config, place)),
    ...troubleOf(config, place).flatMap((line, i) => one(i === 0 ? 2 : 9, line)),
    ...one(5, gamesOf(config, place)),
    ...one(4, lossOf(config, place)),
    ...one(3, gate),
    ...verdicts.flatMap((line, i) => one(i > 0 ? 10 : gate === undefined ? 3 : 8, line)),
    ...one(6, championOf(config, place)),
    ...(verdicts.length > 0 ? one(9, tallyOf(config, place)) : []),
    ...ladder.flatMap((line) => one(7, line)),
  ];
}

/** A config on at most `rows` lines. A ladder says most, and older verdicts fill what it leaves. */
export function panelOf(config: ConfigSnapshot, place: Place, rows: number): string[] {
  const shortest = partsOf(config, place, { verdicts: 1, ladder: 1 });
  const left = rows - shortest.length;
  if (left < 0) {
    const chosen = new Set(shortest.toSorted((a, b) => a.rank - b.rank).slice(0, rows));
    return shortest.filter((part) => chosen.has(part)).map(({ line }) => line);
  }
  const ladder = config.ladder.length === 0 || left + 1 < MIN_LADDER ? 1 : Math.min(config.ladder.length, left) + 1;
  const verdicts = Math.min(MAX_VERDICTS, left - ladder + 2);
  return partsOf(config, place, { verdicts, ladder }).map(({ line }) => line);
}
