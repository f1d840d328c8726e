import type { Command } from "commander";
import { OperatingError } from "../../kernel/index.ts";
import type { EndedStage } from "../../pipeline/history.ts";
import type { ConfigSnapshot, LoopSnapshot } from "../../pipeline/snapshot.ts";
import { STAGES } from "../../pipeline/stages.ts";
import { configIn, figureWidth, getLoop } from "./loop-asking.ts";
import { panelOf } from "./loop-panel.ts";
import { lineOf } from "./loop-pieces.ts";
import { championRating, eloWords, gateNumbers, STAGE_WORDS, VERDICT_WORDS, waitWords } from "./loop-words.ts";
import { askMain } from "./main-process.ts";
import type { Paint } from "./paint.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { ago, duration, number, payloadLine, printable } from "./text.ts";
import { oneOf, wholeNumber } from "./values.ts";

interface PipelineOptions {
  readonly history?: boolean;
  readonly stage?: string;
  readonly limit: number;
}

/** Everything that there is to say about one config fits on so many lines. */
const DETAIL_LINES = 60;

const stateColor = (paint: Paint, state: string): ((text: string) => string) => {
  if (state === "failed") return paint.red;
  if (state === "running" || state === "done") return paint.green;
  return state === "complete" ? paint.cyan : paint.yellow;
};

/** What matters most about it right now. */
function noteOf(config: ConfigSnapshot, at: number): string {
  const [wait] = config.waits;
  if (config.state !== "running" && config.state !== "complete" && wait !== undefined) return waitWords(wait, at);
  const gate = config.gates.findLast(({ verdict }) => verdict !== null);
  if (gate === undefined) return "";
  return `#${gate.iteration} ${VERDICT_WORDS[gate.verdict!]}, ${gateNumbers(gate)}`;
}

function pipelineLines({ configs, at }: LoopSnapshot, shell: Pick<Shell, "paint" | "width">): string[] {
  const { paint } = shell;
  const right = (text: string): Cell => ({ text, align: "right" });
  const rows = configs.map((config): Cell[] => {
    const running = config.stages.find(({ stage }) => stage === config.stage);
    const done = running === undefined || running.progress === null ? "" : ` ${Math.round(running.progress * 100)} %`;
    const rating = championRating(config);
    return [
      { text: printable(config.config_key), paint: paint.bold },
      { text: config.state, paint: stateColor(paint, config.state) },
      right(number(config.iteration)),
      { text: `${STAGE_WORDS[config.stage]}${done}` },
      right(number(config.games)),
      right(config.games_per_second.toFixed(1)),
      right(config.champion === null ? "" : number(config.champion.generation)),
      { text: rating === undefined ? "" : eloWords(rating) },
      { text: noteOf(config, at), paint: paint.dim },
    ];
  });
  const head = [
    "CONFIG",
    "STATE",
    right("ITERATION"),
    "STAGE",
    right("GAMES"),
    right("/S"),
    right("CHAMPION"),
    "ELO",
    "LAST",
  ];
  return tableLines([head, ...rows], shell);
}

const SHA256 = /^[0-9a-f]{64}$/;
/** Evidence for people: numbers as long as anybody reads them, hashes as long as they are unique. `--json` has all of it. */
const figures = (evidence: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(evidence).map(([name, value]) => {
      if (typeof value === "number" && !Number.isInteger(value)) return [name, Number(value.toPrecision(4))];
      return [name, typeof value === "string" && SHA256.test(value) ? value.slice(0, 12) : value];
    }),
  );

function historyLines(rows: readonly EndedStage[], shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const { paint, clock } = shell;
  const now = clock.now();
  const cells = rows.map((row): Cell[] => [
    { text: number(row.iteration), align: "right" },
    { text: STAGE_WORDS[row.stage] },
    { text: String(row.attempt), align: "right" },
    { text: row.state, paint: stateColor(paint, row.state) },
    { text: duration((row.ended_at - row.since) * 1_000), align: "right" },
    { text: ago(row.ended_at * 1_000, now) },
    {
      text:
        row.failure === null
          ? payloadLine(figures(row.evidence), shell.width)
          : `${printable(row.failure.message)} (${printable(row.failure.code)})`,
    },
  ]);
  const head = [
    { text: "ITERATION", align: "right" } as const,
    "STAGE",
    { text: "TRY", align: "right" } as const,
    "STATE",
    { text: "TOOK", align: "right" } as const,
    "ENDED",
    "EVIDENCE",
  ];
  return tableLines([head, ...cells], shell);
}

const table = (shell: Shell) =>
  askMain(shell.main, async (main) => {
    const loop = await getLoop(main);
    if (shell.json) return shell.print(loop);
    if (loop.configs.length === 0) return shell.say("there is no config yet");
    for (const line of pipelineLines(loop, shell)) shell.say(line);
  });

const detail = (configKey: string, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const loop = await getLoop(main);
    const config = configIn(loop, configKey);
    if (shell.json) return shell.print({ at: loop.at, config });
    const width = figureWidth(shell);
    for (const line of panelOf(config, loop.at, DETAIL_LINES, shell.paint, width)) shell.say(lineOf(line, width));
    for (const { producer, reason } of config.suspects)
      shell.say(shell.paint.yellow(`  suspect ${printable(producer)}: ${printable(reason)}`));
  });

const history = (configKey: string, { stage, limit }: PipelineOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    configIn(await getLoop(main), configKey);
    const query = new URLSearchParams({ limit: String(limit), ...(stage === undefined ? {} : { stage }) });
    const path = `/v1/loop/${encodeURIComponent(configKey)}/history?${query}`;
    const { history: rows } = await main.get<{ history: EndedStage[] }>(path);
    if (shell.json) return shell.print({ history: rows });
    if (rows.length === 0) return shell.say("no stage has ended");
    for (const line of historyLines(rows, shell)) shell.say(line);
  });

/** `ringrift pipeline`: where every config of the loop stands. */
export function registerPipeline(program: Command, shell: Shell): void {
  program
    .command("pipeline")
    .description("the loop: where every config stands, or all about one")
    .argument("[config]", "all about this one, as in othello6_2p")
    .option("--history", "the stages of the config that have ended, newest first, with their evidence")
    .option("--stage <stage>", `of the history, only ${STAGES.join(", ")}`, oneOf("--stage", STAGES))
    .option("--limit <n>", "of the history, at most so many", wholeNumber("--limit", 1, 1_000), 50)
    .action((configKey: string | undefined, options: PipelineOptions) => {
      if (configKey !== undefined)
        return options.history ? history(configKey, options, shell) : detail(configKey, shell);
      if (options.history)
        throw new OperatingError("USAGE", "--history needs a config", {
          hint: "As in 'ringrift pipeline othello6_2p --history'.",
        });
      return table(shell);
    });
}
