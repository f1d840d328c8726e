import type { Command } from "commander";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import { askMain, type MainProcess } from "../cli/main-process.ts";
import { answer, negative, type Shell, unavailable } from "../cli/shell.ts";
import { printable } from "../cli/text.ts";
import { bookLines, type DaemonBook, daemonDetails, daemonLines } from "./view.ts";
import { daemonOrders, getDaemon, listDaemonActions, listDaemons, pauseDaemon } from "./wire.ts";

/** What the books in a data folder say of its daemons; undefined when there are none. */
export type ReadBooks = (dataDir: string) => Promise<readonly DaemonBook[] | undefined>;

const ACTIONS = {
  start: "start a daemon, and wait until it is ready or has failed",
  stop: "stop a daemon and keep it stopped; daemons that depend on it pause",
  restart: "stop a daemon and start it again",
  reset: "clear the restarts of a daemon that was given up; it starts again if it is enabled",
  pause: "pause a daemon, with a reason, until you resume it",
  resume: "resume a paused daemon",
} as const;

type Action = keyof typeof ACTIONS;

const MAX_ACTIONS = 10;

/** Nothing runs: what was written down of the daemons when something did. */
async function absent(shell: Shell, readBooks: ReadBooks): Promise<void> {
  const { dataDir } = shell.main;
  const books = await readBooks(dataDir);
  if (shell.json) {
    // As the API would say it, in seconds.
    const daemons = (books ?? []).map((book) => ({
      ...book,
      given_up_at: book.given_up_at && book.given_up_at / 1_000,
    }));
    shell.print({ from: "folder", running: false, daemons });
  } else {
    shell.say(shell.paint.yellow(`nothing is running on ${printable(dataDir)}`));
    if (books !== undefined && books.length > 0) shell.say(...bookLines(books, shell));
    shell.say(shell.paint.dim("'ringrift up' starts the main process and its daemons."));
  }
  throw unavailable();
}

async function list(shell: Shell, readBooks: ReadBooks): Promise<void> {
  using main = await shell.main.find();
  if (main === undefined) return absent(shell, readBooks);
  const raw = await main.raw(listDaemons);
  answer(shell, { from: "process", running: true, ...raw }, () => {
    const { daemons: rows } = main.read(listDaemons, raw);
    const legend = shell.paint.dim("* critical: its health decides liveness");
    if (rows.length === 0) return "no daemons";
    return [...daemonLines(rows, shell), ...(rows.some(({ critical }) => critical) ? [legend] : [])];
  });
}

/** Asks about one daemon; a name that nobody knows is answered with where the names are. */
const askAbout = (shell: Shell, ask: (main: MainProcess) => Promise<void>): Promise<void> =>
  askMain(shell.main, ask).catch((thrown: unknown) => {
    if (!isOperatingError(thrown, "UNKNOWN_DAEMON")) throw thrown;
    throw OperatingError.notFound("UNKNOWN_DAEMON", thrown.message, {
      hint: "'ringrift daemons list' shows them all.",
    });
  });

const show = (name: string, shell: Shell) =>
  askAbout(shell, async (main) => {
    const daemon = await main.raw(getDaemon, { params: { name } });
    const { actions } = await main.raw(listDaemonActions);
    const own = actions.filter((each) => each.daemon === daemon.name).slice(-MAX_ACTIONS);
    if (shell.json) return shell.print({ daemon, actions: own });
    const { daemons } = await main.call(listDaemons);
    const done = main.read(listDaemonActions, { actions: own }).actions;
    shell.say(...daemonDetails(main.read(getDaemon, daemon), daemons, done, shell));
  });

const act = (action: Action, name: string, reason: string, shell: Shell) =>
  askAbout(shell, async (main) => {
    const params = { name };
    const outcome = await (action === "pause"
      ? main.raw(pauseDaemon, { params, body: { reason } })
      : main.raw(daemonOrders[action], { params }));
    const { ok, state, message } = outcome;
    const mark = ok ? shell.paint.green("✓") : shell.paint.red("✗");
    const more = message === "" || message === state ? "" : `: ${printable(message)}`;
    answer(shell, outcome, () => `${mark} ${printable(outcome.name)} is ${state}${more}`);
    if (!ok) throw negative();
  });

/** `ringrift daemons`: what the supervisor runs, and what may be asked of it. */
export function registerDaemons(daemons: Command, shell: Shell, readBooks: ReadBooks): void {
  daemons
    .command("list")
    .description("list all daemons with state, uptime, restarts and problems; exit code 4 if nothing is running")
    .action(() => list(shell, readBooks));
  daemons
    .command("show")
    .description("show one daemon: state, conditions, dependencies, and what was done with it")
    .argument("<name>", "name of the daemon, or a daemon type such as EVENT_ROUTER")
    .action((name: string) => show(name, shell));
  for (const action of Object.keys(ACTIONS) as Action[]) {
    const command = daemons
      .command(action)
      .description(`${ACTIONS[action]}; exit code 1 if that fails`)
      .argument("<name>", "name of the daemon, or a daemon type such as EVENT_ROUTER");
    if (action === "pause") command.requiredOption("--reason <text>", "the reason; shown wherever the daemon is shown");
    command.action((name: string, { reason }: { reason?: string }) => {
      if (reason !== undefined && (reason.trim() === "" || reason.length > 500))
        throw OperatingError.invalid("INVALID_OPTION", "--reason is a text of at most 500 characters");
      return act(action, name, reason ?? "", shell);
    });
  }
}
