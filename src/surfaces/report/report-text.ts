import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/index.ts";
import { createPaint } from "../cli/paint.ts";
import { sparkline } from "../cli/sparkline.ts";
import { right, tableLines } from "../cli/table.ts";
import { number, printable, shorten, wrapText } from "../cli/text.ts";
import { totalLoss } from "../pipeline/curves.ts";
import { ladderLines } from "../pipeline/ladder.ts";
import {
  booksOffBy,
  endedGates,
  intervalWords,
  lastRatio,
  nameOf,
  rejectedGames,
  signed,
  VERDICT_WORDS,
} from "../pipeline/words.ts";
import type { ReportAbout } from "./about.ts";
import { boundsWords, clockTime, headlines, span, utc } from "./figures.ts";
import { nextSteps } from "./next-steps.ts";
import { troublesOf } from "./troubles.ts";

const MAX_GATES = 15;
const MAX_RUNGS = 16;
const MAX_TROUBLES = 20;
const plain = createPaint(false);

function gateLines(config: ConfigSnapshot, width: number): string[] {
  const gates = endedGates(config);
  if (gates.length === 0) return [];
  const rows = gates
    .slice(0, MAX_GATES)
    .map((gate) => [
      right(String(gate.iteration)),
      VERDICT_WORDS[gate.verdict],
      gate.elo === null ? "" : intervalWords(gate.elo),
      right(signed(lastRatio(gate), 2)),
      right(number(gate.games)),
      boundsWords(gate),
      gate.counts.join(" "),
      nameOf(config, gate.opponent),
    ]);
  const head = [right("#"), "VERDICT", "ELO", right("LLR"), right("GAMES"), "BOUNDS", "BLOCKS BY SCORE", "AGAINST"];
  const more = gates.length - rows.length;
  return [
    "",
    "Decisions of the gate, newest first",
    ...tableLines([head, ...rows], { width: width - 2 }),
    ...(more > 0 ? [`and ${number(more)} earlier ones`] : []),
  ];
}

function configLines(config: ConfigSnapshot, width: number): string[] {
  const facts = headlines(config).map(({ name, value, note }) => [
    `  ${name}`,
    printable(note === "" ? value : `${value}, ${note}`),
  ]);
  const totals = config.losses.map(totalLoss);
  const [first, last] = [totals[0], totals.at(-1)];
  const ladder = ladderLines(config, { paint: plain, width }, { max: MAX_RUNGS, indent: 2, label: "Ladder" });
  return [
    "",
    `${printable(config.config_key)}: ${config.state}, iteration ${config.iteration}, seed ${config.seed}`,
    ...tableLines(facts, { width }),
    ...(first === undefined || last === undefined
      ? []
      : [`  Loss              ${first.toFixed(3)} to ${last.toFixed(3)}  ${sparkline(totals, 40)}`]),
    ...(ladder.length === 0 ? [] : ["", ...ladder.map((line) => shorten(line, width))]),
    ...gateLines(config, width),
  ];
}

/** The same report for a terminal. */
export function reportText(snapshot: PipelineSnapshot, about: ReportAbout, width = 100): string {
  const { configs } = snapshot;
  const troubles = troublesOf(snapshot, about);
  const books = configs.map(({ books: book }) => [
    printable(book.config_key),
    right(number(book.produced)),
    right(number(book.durable)),
    right(number(book.in_flight)),
    right(number(rejectedGames(book))),
    book.balanced ? "balanced" : `off by ${number(Math.abs(booksOffBy(book)))}`,
  ]);
  const bookHead = ["BOOKS", right("PRODUCED"), right("DURABLE"), right("IN FLIGHT"), right("REJECTED"), ""];
  const wrong = troubles
    .slice(-MAX_TROUBLES)
    .map(({ at, config_key, what, outcome }) => [
      at === null ? "" : clockTime(at),
      printable(config_key ?? ""),
      printable(outcome === "" ? what : `${what}; ${outcome}`),
    ]);
  const versions = Object.entries(about.versions).map(([name, version]) => `${name} ${version}`);
  const lines = [
    ...wrapText(
      `RingRift run report: ${utc(about.started_at)}, ${span(about.ended_at - about.started_at)}; it ended because ${printable(about.ended_by)}`,
      width,
    ),
    ...wrapText(printable([about.command, ...versions].join("; ")), width),
    ...configs.flatMap((config) => configLines(config, width)),
    ...(books.length === 0 ? [] : ["", ...tableLines([bookHead, ...books], { width })]),
    "",
    ...(wrong.length === 0
      ? ["Nothing went wrong, as far as we know."]
      : ["What went wrong", ...tableLines(wrong, { width })]),
    "",
    "What to do next",
    ...nextSteps(snapshot, about).flatMap(({ why, command }) => [`  ${printable(why)}`, `    ${printable(command)}`]),
  ];
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}
