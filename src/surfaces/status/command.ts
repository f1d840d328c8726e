import type { Command } from "commander";
import { isWell } from "../../daemons/cause.ts";
import { adviceWords } from "../cli/advice.ts";
import type { MainProcess } from "../cli/main-process.ts";
import { answer, negative, type Shell, unavailable } from "../cli/shell.ts";
import { ago, number, plural, printable } from "../cli/text.ts";
import { decimal } from "../cli/values.ts";
import { watch } from "../cli/watch.ts";
import type { RawAnswer } from "../http/wire.ts";
import { type StatusScreen, statusLine, statusLines } from "./view.ts";
import type { getOverview as overviewRoute, getStatus as statusRoute } from "./wire.ts";

interface Look extends StatusScreen {
  readonly atMs: number;
  /** For `--json`, as they came: the figures, and the whole state. */
  readonly raw: readonly [RawAnswer<typeof overviewRoute>, RawAnswer<typeof statusRoute> | undefined];
}

async function look(main: MainProcess, shell: Shell, before?: Look): Promise<Look> {
  const { getOverview, getStatus } = await import("./wire.ts");
  const raw = await Promise.all([main.raw(getOverview), shell.json ? main.raw(getStatus) : undefined]);
  const overview = main.read(getOverview, raw[0]);
  const atMs = shell.clock.now();
  const events = overview.events.since_start - (before?.overview.events.since_start ?? 0);
  return {
    raw,
    overview,
    atMs,
    // A standby lets the leader answer, whose port is another one.
    port: overview.node_id === main.endpoint.node_id ? main.endpoint.port : null,
    // A process that was restarted meanwhile counts from zero.
    perSecond: before === undefined || events < 0 ? undefined : (events / Math.max(1, atMs - before.atMs)) * 1_000,
  };
}

const inJson = ({ raw: [{ causes, alerts }, status], overview, port }: Look, dataDir: string) => ({
  running: true,
  well: isWell(overview.causes),
  data_dir: dataDir,
  port,
  troubles: causes.map((cause) => ({ ...cause, todo: adviceWords(cause.advice) })),
  open_alerts: alerts,
  status,
});

/** The node that a folder has joined as: what is said of it, and whether all of it is well. */
export interface NodeStatus {
  readonly json: Readonly<Record<string, unknown>>;
  readonly lines: readonly string[];
  readonly well: boolean;
}
type NodeStatusOf = () => Promise<NodeStatus | undefined>;

/** Nothing runs: what the last process left behind, and how to start one. */
async function absent(shell: Shell): Promise<readonly string[]> {
  const { paint, main, json } = shell;
  using view = await shell.journals.viewIfAny();
  const [newest] = (await view?.history({ limit: 1 })) ?? [];
  const letters = await view?.deadLetterSummary();
  if (json) {
    shell.print({
      running: false,
      data_dir: main.dataDir,
      last_event_at: newest?.timestamp ?? null,
      dead_letters: letters?.counts ?? null,
    });
    return [];
  }
  const pending = letters?.counts.pending ?? 0;
  const left =
    view === undefined
      ? "There is no journal in it: nothing has run there yet."
      : newest === undefined
        ? "Its journal is empty."
        : `The last event in its journal is ${number(newest.seq ?? 0)}, ${ago(newest.timestamp * 1_000, shell.clock.now())}.`;
  return [
    paint.yellow(`nothing is running on ${printable(main.dataDir)}`),
    left,
    ...(pending === 0 ? [] : [`${plural(pending, "dead letter")} in it; 'ringrift dlq' shows them.`]),
    paint.dim(
      "'ringrift up' starts the main process; --data-dir chooses another folder; 'ringrift doctor' checks the machine.",
    ),
  ];
}

async function once(shell: Shell, nodeStatus: NodeStatusOf): Promise<void> {
  using main = await shell.main.find();
  if (main === undefined) {
    const node = await nodeStatus();
    if (node !== undefined) {
      answer(shell, node.json, () => node.lines);
      if (node.well) return;
      throw negative();
    }
    shell.say(...(await absent(shell)));
    throw unavailable();
  }
  const seen = await look(main, shell);
  answer(shell, inJson(seen, shell.main.dataDir), () => statusLines(seen, shell));
  if (!isWell(seen.overview.causes)) throw negative();
}

async function again(shell: Shell, everySeconds: number, nodeStatus: NodeStatusOf): Promise<void> {
  let before: Look | undefined;
  await watch(shell, everySeconds, async () => {
    using main = await shell.main.find();
    if (main === undefined) {
      before = undefined;
      const node = await nodeStatus();
      if (node === undefined) return absent(shell);
      if (shell.json) shell.print(node.json);
      return shell.json ? [] : node.lines;
    }
    const seen = await look(main, shell, before);
    before = seen;
    if (shell.json) {
      shell.print(inJson(seen, shell.main.dataDir));
      return [];
    }
    return shell.io.isTerminal ? statusLines(seen, shell) : [statusLine(seen.overview)];
  });
}

/** `ringrift status`: one screen that a tired person understands. */
export function registerStatus(command: Command, shell: Shell, nodeStatus: NodeStatusOf): void {
  command
    .option("--watch", "repeat until Ctrl-C")
    .option("--interval <seconds>", "with --watch", decimal("--interval", 0.1, 86_400), 2)
    .action(({ watch: on, interval }: { watch?: boolean; interval: number }) =>
      on === true ? again(shell, interval, nodeStatus) : once(shell, nodeStatus),
    );
}
