import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { bookLines, type DaemonAction, type DaemonBook, daemonDetails, daemonLines } from "./daemons-view.ts";
import { askMain, type MainProcess } from "./main-process.ts";
import { negative, type Shell, unavailable } from "./shell.ts";
import type { DaemonRow } from "./status-report.ts";
import { printable } from "./text.ts";

/** What the books in a data folder say of its daemons; undefined when there are none. */
export type ReadBooks = (dataDir: string) => readonly DaemonBook[] | undefined;

const ACTIONS = {
  start: "start one, and wait until it is ready or has failed",
  stop: "end one and keep it down; those that depend on it pause",
  restart: "end one and start it again",
  reset: "forget its restarts and that it was given up; it starts again if it is wanted",
  pause: "keep one from running, with a reason that shows, until it is resumed",
  resume: "let a paused one run again",
} as const;

type Action = keyof typeof ACTIONS;

interface Outcome {
  readonly name: string;
  readonly state: string;
  readonly ok: boolean;
  readonly message: string;
}

const MOST_ACTIONS = 10;

const pathOf = (name: string) => `/v1/daemons/${encodeURIComponent(name)}`;
const daemonsOf = async (main: MainProcess) => (await main.get<{ daemons: DaemonRow[] }>("/v1/daemons")).daemons;

/** Nothing runs: what was written down of the daemons when something did. */
function absent(shell: Shell, readBooks: ReadBooks): void {
  const { dataDir } = shell.main;
  const books = readBooks(dataDir);
  if (shell.json) shell.print({ from: "folder", running: false, daemons: books ?? [] });
  else {
    shell.say(shell.paint.yellow(`nothing runs on ${printable(dataDir)}`));
    if (books !== undefined && books.length > 0) for (const line of bookLines(books, shell)) shell.say(line);
    shell.say(shell.paint.dim("'ringrift up' starts the main process and its daemons."));
  }
  throw unavailable();
}

async function list(shell: Shell, readBooks: ReadBooks): Promise<void> {
  const main = await shell.main.find();
  if (main === undefined) return absent(shell, readBooks);
  try {
    const rows = await daemonsOf(main);
    if (shell.json) return shell.print({ from: "process", running: true, daemons: rows });
    for (const line of rows.length === 0 ? ["no daemons"] : daemonLines(rows, shell)) shell.say(line);
    if (rows.some(({ critical }) => critical)) shell.say(shell.paint.dim("* critical: its health decides liveness"));
  } finally {
    main.close();
  }
}

/** Asks about one daemon; a name that nobody knows is answered with where the names are. */
const askAbout = (shell: Shell, ask: (main: MainProcess) => Promise<void>): Promise<void> =>
  askMain(shell.main, ask).catch((thrown: unknown) => {
    if (!isOperatingError(thrown, "UNKNOWN_DAEMON")) throw thrown;
    throw new OperatingError("UNKNOWN_DAEMON", thrown.message, { hint: "'ringrift daemons list' shows them all." });
  });

const show = (name: string, shell: Shell) =>
  askAbout(shell, async (main) => {
    const row = await main.get<DaemonRow>(pathOf(name));
    const { actions } = await main.get<{ actions: DaemonAction[] }>("/v1/daemon-actions");
    const own = actions.filter(({ daemon }) => daemon === row.name).slice(-MOST_ACTIONS);
    if (shell.json) return shell.print({ daemon: row, actions: own });
    for (const line of daemonDetails(row, await daemonsOf(main), own, shell)) shell.say(line);
  });

const act = (action: Action, name: string, body: Readonly<Record<string, unknown>>, shell: Shell) =>
  askAbout(shell, async (main) => {
    const outcome = await main.post<Outcome>(`${pathOf(name)}/${action}`, body);
    if (shell.json) shell.print(outcome);
    else {
      const { paint } = shell;
      const color = outcome.ok ? paint.green : paint.red;
      const more = outcome.message === "" || outcome.message === outcome.state ? "" : `: ${printable(outcome.message)}`;
      shell.say(`${color(outcome.ok ? "✓" : "✗")} ${printable(outcome.name)} is ${outcome.state}${more}`);
    }
    if (!outcome.ok) throw negative();
  });

/** `ringrift daemons`: what the supervisor runs, and what may be asked of it. */
export function registerDaemons(program: Command, shell: Shell, readBooks: ReadBooks): void {
  const daemons = program
    .command("daemons")
    .description("the daemons of the main process: look at them, start, stop, restart, reset, pause and resume them");
  daemons
    .command("list")
    .description("list them with state, uptime, restarts and what is wrong; exit code 4 when nothing runs")
    .action(() => list(shell, readBooks));
  daemons
    .command("show")
    .description("all of one: state, conditions, dependencies, and what was done with it")
    .argument("<name>", "its name, or a daemon type such as EVENT_ROUTER")
    .action((name: string) => show(name, shell));
  for (const action of Object.keys(ACTIONS) as Action[]) {
    const command = daemons
      .command(action)
      .description(`${ACTIONS[action]}; exit code 1 when that did not work`)
      .argument("<name>", "its name, or a daemon type such as EVENT_ROUTER");
    if (action === "pause") command.requiredOption("--reason <text>", "why; shown wherever the daemon is shown");
    command.action((name: string, { reason }: { reason?: string }) => {
      if (reason !== undefined && (reason.trim() === "" || reason.length > 500))
        throw new OperatingError("INVALID_OPTION", "--reason is a sentence of at most 500 characters");
      return act(action, name, reason === undefined ? {} : { reason }, shell);
    });
  }
}
