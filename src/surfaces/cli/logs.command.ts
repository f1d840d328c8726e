import type { Command } from "commander";
import { logPathOf, OperatingError, readLogLines } from "../../kernel/index.ts";
import { logLine, readLogLine } from "./log-line.ts";
import { askMain } from "./main-process.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { moment, printable } from "./text.ts";
import { oneOf, pointInTime, wholeNumber } from "./values.ts";

const LEVELS = { debug: 20, info: 30, warn: 40, error: 50 } as const;
type Level = keyof typeof LEVELS;

/** Fields under which parts say who they are. */
const WHO = ["unit", "daemon", "component", "consumer"];

interface LogsOptions {
  readonly follow?: boolean;
  readonly level?: Level;
  readonly unit?: string;
  readonly since?: number;
  readonly lines: number;
  readonly writes?: boolean;
}

interface WriteRow {
  readonly at: number;
  readonly actor: string;
  readonly scope: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly request_id: string;
  readonly from: string;
}

/** Whether a line is one that was asked for. What is none of ours is shown unless it is asked for something. */
export function fits(line: string, { level, unit, since }: Pick<LogsOptions, "level" | "unit" | "since">): boolean {
  const read = readLogLine(line);
  if (read === undefined) return level === undefined && unit === undefined && since === undefined;
  if (level !== undefined && read.level < LEVELS[level]) return false;
  if (unit !== undefined && !WHO.some((field) => read[field] === unit)) return false;
  return since === undefined || (read.time !== undefined && Date.parse(read.time) >= since * 1_000);
}

async function showLog(options: LogsOptions, shell: Shell): Promise<void> {
  const { clock, io } = shell;
  const { dataDir } = shell.main;
  const path = logPathOf(dataDir);
  const show = (line: string) => shell.say(shell.json ? line : logLine(line, shell.paint, shell.width));
  let seen = 0;
  /** The last lines of what is there already; undefined once they were shown. */
  let last: string[] | undefined = [];
  const catchUp = () => {
    for (const line of last ?? []) show(line);
    last = undefined;
  };
  // The reader waits for the first time when it has come to the end of what is there.
  const waiting = {
    ...clock,
    after(delayMs: number, run: () => void, hold?: "hold") {
      catchUp();
      return clock.after(delayMs, run, hold);
    },
  };
  const follow = options.follow === true ? { follow: { clock: waiting, signal: io.signal } } : {};
  for await (const line of readLogLines({ path, ...follow })) {
    seen += 1;
    if (!fits(line, options)) continue;
    if (last === undefined) show(line);
    else if (last.push(line) > options.lines) last.shift();
  }
  const found = last?.length ?? 1;
  catchUp();
  if (seen === 0 && options.follow !== true)
    throw new OperatingError("LOG_NOT_FOUND", `there is no log in ${dataDir}`, {
      hint: "'ringrift up' writes one; --data-dir or RINGRIFT_DATA_DIR chooses the folder.",
    });
  if (found === 0 && options.follow !== true) shell.note("no line fits");
}

/** What was changed through the API, and by whom. */
const showWrites = ({ lines, since }: LogsOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const { writes } = await main.get<{ writes: WriteRow[] }>(`/v1/writes?limit=${lines}`);
    const wanted = writes.filter(({ at }) => since === undefined || at >= since).reverse();
    if (shell.json) return shell.print({ writes: wanted });
    if (wanted.length === 0) return shell.say("nothing was changed through the API");
    const { paint } = shell;
    const now = shell.clock.now();
    const rows = wanted.map((write): Cell[] => [
      { text: moment(write.at * 1_000, now), paint: paint.dim },
      { text: String(write.status), paint: write.status < 400 ? paint.green : paint.red },
      { text: printable(write.actor) },
      { text: printable(write.from) },
      { text: `${write.method} ${printable(write.path)}` },
    ]);
    for (const line of tableLines([["TIME", "ANSWER", "WHO", "FROM", "WHAT"], ...rows], shell)) shell.say(line);
  });

/** `ringrift logs`: the log of the main process, also when it is gone, and the record of changes. */
export function registerLogs(program: Command, shell: Shell): void {
  program
    .command("logs")
    .description("the log of the main process, oldest line first; also after it has ended")
    .option("--follow", "go on with what is written from now on, until Ctrl-C")
    .option(
      "--level <level>",
      `only from this level up: ${Object.keys(LEVELS).join(", ")}`,
      oneOf("--level", Object.keys(LEVELS) as Level[]),
    )
    .option("--unit <name>", "only lines of this unit or daemon")
    .option(
      "--since <when>",
      "only later ones: 10m (ago), 2026-01-31T12:00, or Unix seconds",
      pointInTime("--since", () => shell.clock.now()),
    )
    .option("--lines <n>", "show the last so many that fit", wholeNumber("--lines", 1, 10_000), 100)
    .option("--writes", "show what was changed through the API instead, and by whom")
    .action((options: LogsOptions) => {
      if (options.writes !== true) return showLog(options, shell);
      const wrong = (["follow", "level", "unit"] as const).find((name) => options[name] !== undefined);
      if (wrong !== undefined)
        throw new OperatingError("USAGE", `--writes and --${wrong} do not go together`, {
          hint: "'ringrift events tail' follows what happens.",
        });
      return showWrites(options, shell);
    });
}
