import type { Command } from "commander";
import { logPathOf, OperatingError, readLogLines } from "../../kernel/index.ts";
import { askMain } from "../cli/main-process.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { moment, printable } from "../cli/text.ts";
import { oneOf, pointInTime, wholeNumber } from "../cli/values.ts";
import { findEndpoint } from "../client/endpoint.ts";
import { listWrites } from "../tokens/wire.ts";
import { logLine, readLogLine } from "./log-line.ts";

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

/** Whether a line is one that was asked for. What is none of ours is shown unless it is asked for something. */
export function fits(line: string, { level, unit, since }: Pick<LogsOptions, "level" | "unit" | "since">): boolean {
  const read = readLogLine(line);
  if (read === undefined) return level === undefined && unit === undefined && since === undefined;
  if (level !== undefined && read.level < LEVELS[level]) return false;
  if (unit !== undefined && !WHO.some((field) => read[field] === unit)) return false;
  return since === undefined || (read.time !== undefined && Date.parse(read.time) >= since);
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
  if (seen === 0 && options.follow !== true) {
    // It says so where the folder may not be looked into.
    findEndpoint(dataDir);
    throw OperatingError.notFound("LOG_NOT_FOUND", `there is no log in ${dataDir}`, {
      hint: "'ringrift up' writes one. Choose another folder with --data-dir or RINGRIFT_DATA_DIR.",
    });
  }
  if (found === 0 && options.follow !== true) shell.note("no lines");
}

/** What was changed through the API, and by whom. */
const showWrites = ({ lines, since = 0 }: LogsOptions, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const raw = await main.raw(listWrites, { query: { limit: lines } });
    const wanted = { writes: raw.writes.filter(({ at }) => at * 1_000 >= since).reverse() };
    if (shell.json) return shell.print(wanted);
    const { writes } = main.read(listWrites, wanted);
    if (writes.length === 0) return shell.say("nothing was changed through the API");
    const { paint } = shell;
    const now = shell.clock.now();
    const rows = writes.map((write) => [
      paint.dim(moment(write.at, now)),
      write.dry_run && write.status < 400
        ? paint.yellow("dry run")
        : (write.status < 400 ? paint.green : paint.red)(String(write.status)),
      printable(write.actor),
      printable(write.from),
      `${write.method} ${printable(write.path)}`,
      printable(write.reason ?? ""),
    ]);
    shell.say(...tableLines([["TIME", "ANSWER", "WHO", "FROM", "WHAT", "REASON"], ...rows], shell));
  });

/** `ringrift logs`: the log of the main process, also when it is gone, and the record of changes. */
export function registerLogs(command: Command, shell: Shell): void {
  command
    .option("--follow", "also show new lines, until Ctrl-C")
    .option(
      "--level <level>",
      `only from this level up: ${Object.keys(LEVELS).join(", ")}`,
      oneOf("--level", Object.keys(LEVELS) as Level[]),
    )
    .option("--unit <name>", "only lines of this unit or daemon")
    .option(
      "--since <when>",
      "only later ones: 10m (ago), 2026-01-31T12:00, or Unix seconds",
      (text) => pointInTime("--since", () => shell.clock.now())(text) * 1_000,
    )
    .option("--lines <n>", "show at most this many lines, the newest ones", wholeNumber("--lines", 1, 10_000), 100)
    .option("--writes", "show changes through the API instead: who, why, and whether it was a dry run")
    .action((options: LogsOptions) => {
      if (options.writes !== true) return showLog(options, shell);
      const wrong = (["follow", "level", "unit"] as const).find((name) => options[name] !== undefined);
      if (wrong !== undefined)
        throw OperatingError.invalid("USAGE", `--writes and --${wrong} cannot be combined`, {
          hint: "Use 'ringrift events tail' to follow events.",
        });
      return showWrites(options, shell);
    });
}
