/** One config as the live view shows it, on as many lines as it is given. */
import { drawRatio } from "../../pipeline/evaluation/statistics/index.ts";
import type { ConfigSnapshot, GateView, StageView } from "../../pipeline/snapshot.ts";
import { ladderLines, standingWords } from "./loop-ladder.ts";
import { lengthOf, type Piece, type Pieces, sparkline, spread } from "./loop-pieces.ts";
import {
  agoWords,
  byWords,
  championRating,
  eloWords,
  falsePromotionWords,
  gateNumbers,
  lastRatio,
  nameOf,
  STAGE_WORDS,
  signed,
  VERDICT_WORDS,
  verdictCounts,
  waitWords,
} from "./loop-words.ts";
import type { Paint } from "./paint.ts";
import { duration, number, plural, printable } from "./text.ts";

const LABEL = 12;
const GAUGE = { least: 15, most: 41 };
const SPARK_MOST = 40;
/** Lines of a ladder that is worth drawing. */
const LADDER_LEAST = 4;
const MOST_VERDICTS = 4;

const label = (text: string, paint: Paint): Piece => ({ text: `  ${text}`.padEnd(LABEL), paint: paint.dim });

const stateColor = (paint: Paint, state: ConfigSnapshot["state"]): ((text: string) => string) => {
  if (state === "failed") return paint.red;
  if (state === "waiting" || state === "paused") return paint.yellow;
  return state === "complete" ? paint.cyan : paint.green;
};

function headOf(config: ConfigSnapshot, at: number, paint: Paint, width: number): Pieces {
  const { state } = config;
  const color = stateColor(paint, state);
  const attempt = config.attempt > 1 ? `, attempt ${config.attempt}` : "";
  const where = `${STAGE_WORDS[config.stage]}${attempt} for ${duration(Math.max(0, at - config.stage_since) * 1_000)}`;
  const late = state === "running" && at > config.deadline ? [{ text: "  late", paint: paint.red }] : [];
  return spread(
    [
      { text: printable(config.config_key), paint: paint.bold },
      `  iteration ${number(config.iteration)}`,
      ...(state === "complete" ? [] : [{ text: `  ${where}`, paint: paint.dim }]),
      ...late,
    ],
    [{ text: state, paint: (text) => color(paint.bold(text)) }],
    width,
  );
}

const MARKS: Readonly<Record<StageView["state"], string>> = { done: "✓", running: "●", open: "○", failed: "✗" };

const stagePaint = ({ state, breaker }: StageView, paint: Paint): ((text: string) => string) => {
  if (state === "failed" || breaker === "open") return paint.red;
  if (breaker === "half_open") return paint.yellow;
  if (state === "done") return paint.green;
  return state === "running" ? (text) => paint.cyan(paint.bold(text)) : paint.dim;
};

/** The stages side by side with what is known of each; where that is too wide, marks and the one that runs. */
function stripOf({ stages, stage: current }: ConfigSnapshot, paint: Paint, width: number): Pieces {
  const worded = (rich: boolean): Pieces =>
    stages.flatMap((view, i) => {
      const done = view.progress === null ? "" : ` ${Math.round(view.progress * 100)} %`;
      const took = rich && view.state === "done" && view.seconds !== null ? ` ${duration(view.seconds * 1_000)}` : "";
      const broken = rich && view.breaker !== "closed" ? ` (breaker ${view.breaker.replace("_", " ")})` : "";
      return [
        "  ",
        { text: `${MARKS[view.state]} ${STAGE_WORDS[view.stage]}${done}`, paint: stagePaint(view, paint) },
        ...(took + broken === "" ? [] : [{ text: took + broken, paint: paint.dim }]),
        ...(i === stages.length - 1 ? [""] : []),
      ];
    });
  for (const rich of [true, false]) {
    const line = worded(rich);
    if (lengthOf(line) <= width) return line;
  }
  const now = stages.find(({ stage }) => stage === current);
  const done = now === undefined || now.progress === null ? "" : ` ${Math.round(now.progress * 100)} %`;
  return [
    "  ",
    ...stages.map((view): Piece => ({ text: MARKS[view.state], paint: stagePaint(view, paint) })),
    `  ${STAGE_WORDS[current]}${done}`,
  ];
}

function troubleOf({ state, waits, failures, books }: ConfigSnapshot, at: number, paint: Paint): Pieces[] {
  const failure = failures.at(-1);
  const color = state === "running" ? paint.dim : stateColor(paint, state);
  const waiting =
    state === "complete"
      ? []
      : waits.map((wait): Pieces => {
          // The failure stands on a line of its own.
          const isSaid = wait.actual !== null && wait.actual === failure?.message;
          return [{ text: `  ${waitWords(isSaid ? { ...wait, actual: null } : wait, at)}`, paint: color }];
        });
  const failed = failure === undefined ? [] : [`${STAGE_WORDS[failure.stage]} failed ${agoWords(failure.at, at)}: `];
  return [
    ...(books.balanced ? [] : [[{ text: "  the books do not balance: 'ringrift ledger'", paint: paint.red }]]),
    ...waiting,
    ...failed.map(
      (start): Pieces => [
        { text: `  ${start}${printable(failure!.message)} (${printable(failure!.code)})`, paint: paint.red },
      ],
    ),
  ];
}

function gamesOf(config: ConfigSnapshot, paint: Paint): Pieces {
  const { quality } = config;
  return [
    label("games", paint),
    { text: number(config.games), paint: paint.bold },
    `  ${config.games_per_second.toFixed(1)}/s`,
    { text: `   rows ${number(config.rows)}`, paint: paint.dim },
    ...(quality === null
      ? []
      : [{ text: `   quality ${quality.score.toFixed(2)} ${printable(quality.band)}`, paint: paint.dim }]),
  ];
}

function lossOf({ losses, training }: ConfigSnapshot, paint: Paint, width: number): Pieces | undefined {
  const last = losses.at(-1);
  const now: Pieces = training === undefined ? [] : [{ text: `  now ${training.loss.toFixed(3)}`, paint: paint.cyan }];
  if (last === undefined && now.length > 0) return [label("loss", paint), ...now];
  if (last === undefined) return undefined;
  const totals = losses.map(({ policy_loss, value_loss }) => policy_loss + value_loss);
  const words: Pieces = [
    label("loss", paint),
    { text: (last.policy_loss + last.value_loss).toFixed(3), paint: paint.bold },
    `  policy ${last.policy_loss.toFixed(3)}  value ${last.value_loss.toFixed(3)}`,
    ...(last.validation_loss === null ? [] : [`  held out ${last.validation_loss.toFixed(3)}`]),
    ...now,
    "  ",
  ];
  const spark = sparkline(totals, Math.min(SPARK_MOST, width - lengthOf(words)));
  return [...words, { text: spark, paint: paint.cyan }];
}

/** Where the ratio is between its bounds; the drawing looks at nothing else of a test. */
const gaugeOf = (gate: GateView, width: number): string =>
  drawRatio(
    {
      llr: lastRatio(gate),
      lower: gate.lower,
      upper: gate.upper,
      stopLower: gate.lower,
      stopUpper: gate.upper,
    } as Parameters<typeof drawRatio>[0],
    width,
  );

const verdictPaint = (paint: Paint, verdict: GateView["verdict"]): ((text: string) => string) => {
  if (verdict === "promote") return paint.green;
  return verdict === "reject" ? paint.red : paint.yellow;
};

function gateOf(config: ConfigSnapshot, paint: Paint, width: number): Pieces | undefined {
  const gate = config.gates.findLast(({ verdict }) => verdict === null);
  if (gate === undefined) return undefined;
  const llr = lastRatio(gate);
  const before: Pieces = [
    label("gate", paint),
    `#${gate.iteration} v ${nameOf(config, gate.opponent)}  `,
    { text: `LLR ${signed(llr, 2)}`, paint: paint.bold },
    "  ",
  ];
  const after = `  ${plural(gate.games, "game")}`;
  const room = width - lengthOf(before) - after.length;
  const gauge = Math.min(GAUGE.most, room);
  const spark = sparkline(gate.llr, Math.min(SPARK_MOST, room - gauge - 2), { low: gate.lower, high: gate.upper });
  return [
    ...before,
    ...(gauge < GAUGE.least ? [] : [{ text: gaugeOf(gate, gauge), paint: llr > 0 ? paint.green : paint.yellow }]),
    after,
    ...(spark === "" ? [] : ["  ", { text: spark, paint: paint.cyan }]),
  ];
}

/** `most` verdicts, newest first. */
function verdictsOf({ gates }: ConfigSnapshot, most: number, paint: Paint): Pieces[] {
  return gates
    .flatMap((gate) => (gate.verdict === null ? [] : [{ ...gate, verdict: gate.verdict }]))
    .slice(-most)
    .reverse()
    .map(
      (gate, i): Pieces => [
        label(i === 0 ? "last" : "", paint),
        `#${String(gate.iteration).padEnd(4)}`,
        { text: VERDICT_WORDS[gate.verdict].padEnd(12), paint: verdictPaint(paint, gate.verdict) },
        `  ${gateNumbers(gate)}`,
      ],
    );
}

function championOf(config: ConfigSnapshot, at: number, paint: Paint): Pieces {
  const { champion } = config;
  if (champion === null) return [label("champion", paint), { text: "none yet", paint: paint.dim }];
  const rating = championRating(config);
  return [
    label("champion", paint),
    { text: `generation ${number(champion.generation)}`, paint: (text) => paint.green(paint.bold(text)) },
    ...(rating === undefined ? [] : [`  Elo ${eloWords(rating)}`]),
    {
      text: `  ${byWords(champion)}, iteration ${number(champion.iteration)}, ${agoWords(champion.since, at)}`,
      paint: paint.dim,
    },
  ];
}

const tallyOf = (config: ConfigSnapshot, paint: Paint): Pieces => [
  label("verdicts", paint),
  verdictCounts(config.verdicts),
  { text: `; ${falsePromotionWords(config.expected_false_promotions)}`, paint: paint.dim },
];

/** A part of a panel; those of lower rank are there first where lines are few. */
interface Part {
  readonly rank: number;
  readonly line: Pieces;
}

/** How much of what can be long. */
interface Lengths {
  readonly verdicts: number;
  /** Lines of the ladder; 1 for words instead of a figure. */
  readonly ladder: number;
}

function partsOf(config: ConfigSnapshot, at: number, lengths: Lengths, paint: Paint, width: number): Part[] {
  const one = (rank: number, line: Pieces | undefined): Part[] => (line === undefined ? [] : [{ rank, line }]);
  const gate = gateOf(config, paint, width);
  const verdicts = verdictsOf(config, lengths.verdicts, paint);
  const indent = width < 100 ? 4 : LABEL;
  const ladder =
    lengths.ladder > 1
      ? ladderLines(config, { paint, width, most: lengths.ladder - 1, indent, label: "  ladder" })
      : config.ladder.length === 0
        ? []
        : [[label("ladder", paint), standingWords(config)]];
  return [
    ...one(0, headOf(config, at, paint, width)),
    ...one(1, stripOf(config, paint, width)),
    ...troubleOf(config, at, paint).flatMap((line, i) => one(i === 0 ? 2 : 9, line)),
    ...one(5, gamesOf(config, paint)),
    ...one(4, lossOf(config, paint, width)),
    ...one(3, gate),
    ...verdicts.flatMap((line, i) => one(i > 0 ? 10 : gate === undefined ? 3 : 8, line)),
    ...one(6, championOf(config, at, paint)),
    ...(verdicts.length > 0 ? one(9, tallyOf(config, paint)) : []),
    ...ladder.flatMap((line) => one(7, line)),
  ];
}

/** A config on at most `rows` lines. A ladder says most, and older verdicts fill what it leaves. */
export function panelOf(config: ConfigSnapshot, at: number, rows: number, paint: Paint, width: number): Pieces[] {
  const least = partsOf(config, at, { verdicts: 1, ladder: 1 }, paint, width);
  const left = rows - least.length;
  if (left < 0) {
    const chosen = new Set(least.toSorted((a, b) => a.rank - b.rank).slice(0, rows));
    return least.filter((part) => chosen.has(part)).map(({ line }) => line);
  }
  const ladder = config.ladder.length === 0 || left + 1 < LADDER_LEAST ? 1 : Math.min(config.ladder.length, left) + 1;
  const verdicts = Math.min(MOST_VERDICTS, left - ladder + 2);
  return partsOf(config, at, { verdicts, ladder }, paint, width).map(({ line }) => line);
}
