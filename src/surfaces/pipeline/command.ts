import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import type { ConfigSnapshot } from "../../pipeline/index.ts";
import { STAGES, type Stage } from "../../pipeline/stage/stages.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { ago, duration, number, payloadLine, printable, shorten } from "../cli/text.ts";
import { oneOf, wholeNumber } from "../cli/values.ts";
import type { Answer, Input } from "../http/wire.ts";
import { type Pipeline, showConfig } from "./asking.ts";
import { panelOf } from "./panel.ts";
import { getPipeline, getPipelineHistory } from "./wire.ts";
import {
  championRating,
  dataAge,
  eloTrendWords,
  eloWords,
  endedGates,
  gateNumbers,
  producerName,
  STAGE_WORDS,
  stageWords,
  standstillWords,
  stateColor,
  targetWords,
  VERDICT_WORDS,
} from "./words.ts";

type ConfigKey = Input<typeof getPipelineHistory>["params"]["config"];

interface PipelineOptions {
  readonly history?: boolean;
  readonly stage?: Stage;
  readonly limit: number;
}

/** Everything that there is to say about one config fits on so many lines. */
const DETAIL_LINES = 60;

/** With fewer columns than this, the last one would be cut off. */
const WIDE = 160;

/** What matters most about it right now. */
function noteOf(config: ConfigSnapshot, at: number): string {
  const standstill = standstillWords(config, at);
  if (standstill !== undefined) return standstill;
  const [gate] = endedGates(config);
  return gate === undefined ? "" : `#${gate.iteration} ${VERDICT_WORDS[gate.verdict]}, ${gateNumbers(gate)}`;
}

function pipelineLines({ configs, at }: Pipeline, shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const rows = configs.map((config) => {
    const rating = championRating(config);
    return [
      paint.bold(printable(config.config_key)),
      stateColor(paint, config.state)(config.state),
      right(number(config.iteration)),
      stageWords(config),
      right(number(config.games)),
      right(config.outlook === undefined ? "-" : number(config.outlook.games_per_day)),
      right(dataAge(config, at)),
      right(config.champion === null ? "" : number(config.champion.generation)),
      rating === undefined ? "" : eloWords(rating),
      eloTrendWords(config),
      targetWords(config),
      paint.dim(noteOf(config, at)),
    ];
  });
  const head = [
    "CONFIG",
    "STATE",
    right("ITERATION"),
    "STAGE",
    right("GAMES"),
    right("A DAY"),
    right("DATA"),
    right("CHAMPION"),
    "ELO",
    "TREND",
    "TARGET",
    "LAST",
  ];
  if (shell.width >= WIDE) return tableLines([head, ...rows], shell);
  // What holds a config up must not be what a small terminal cuts off: it gets a line of its own.
  const [titles = "", ...lines] = tableLines(
    [head, ...rows].map((row) => row.slice(0, -1)),
    shell,
  );
  const notes = configs.map((config) => noteOf(config, at));
  return [
    titles,
    ...lines.flatMap((line, i) => [
      line,
      ...(notes[i] === "" ? [] : [paint.dim(shorten(`  ${notes[i]}`, shell.width))]),
    ]),
  ];
}

const SHA256 = /^[0-9a-f]{64}$/;
/** Evidence for people: hashes as long as they are unique. `--json` has all of it. */
const figures = (evidence: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(evidence).map(([name, value]) => [
      name,
      typeof value === "string" && SHA256.test(value) ? value.slice(0, 12) : value,
    ]),
  );

function historyLines(
  rows: Answer<typeof getPipelineHistory>["history"],
  shell: Pick<Shell, "paint" | "width" | "clock">,
): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const cells = rows.map((row) => [
    right(number(row.iteration)),
    STAGE_WORDS[row.stage],
    right(String(row.attempt)),
    stateColor(paint, row.state)(row.state),
    right(duration(row.ended_at - row.since)),
    ago(row.ended_at, now),
    row.failure === null
      ? payloadLine(figures(row.evidence), shell.width)
      : `${printable(row.failure.message)} (${printable(row.failure.code)})`,
  ]);
  const head = [right("ITERATION"), "STAGE", right("TRY"), "STATE", right("TOOK"), "ENDED", "EVIDENCE"];
  return tableLines([head, ...cells], shell);
}

const table = (shell: Shell) =>
  showAnswer(shell, getPipeline, {}, (pipeline) =>
    pipeline.configs.length === 0
      ? "no config is trained here yet; start one with 'ringrift train'"
      : pipelineLines(pipeline, shell),
  );

const detail = (configKey: string, shell: Shell) =>
  showConfig(
    configKey,
    shell,
    (config, at) => ({ at, config }),
    (config, at, width) => [
      ...panelOf(config, { at, paint: shell.paint, width }, DETAIL_LINES).map((line) => shorten(line, width)),
      ...config.suspects.map((suspect) =>
        shell.paint.yellow(`  suspect ${producerName(suspect)}: ${printable(suspect.reason)}`),
      ),
    ],
  );

const history = (config: ConfigKey, { stage, limit }: PipelineOptions, shell: Shell) =>
  showAnswer(shell, getPipelineHistory, { params: { config }, query: { stage, limit } }, ({ history: rows }) =>
    rows.length === 0 ? "no stage has ended" : historyLines(rows, shell),
  );

/** `ringrift pipeline`: where every config of the loop stands. */
export function registerPipeline(command: Command, shell: Shell): void {
  command
    .argument("[config]", "show the details of this config, for example othello6_2p")
    .option("--history", "show the finished stages of the config, newest first, with their evidence")
    .option("--stage <stage>", `with --history: only this stage: ${STAGES.join(", ")}`, oneOf("--stage", STAGES))
    .option("--limit <n>", "with --history: list at most this many", wholeNumber("--limit", 1, 1_000), 50)
    .action((configKey: ConfigKey | undefined, options: PipelineOptions) => {
      if (configKey !== undefined)
        return options.history ? history(configKey, options, shell) : detail(configKey, shell);
      if (options.history)
        throw OperatingError.invalid("USAGE", "--history needs a config", {
          hint: "For example: 'ringrift pipeline othello6_2p --history'.",
        });
      return table(shell);
    });
}
