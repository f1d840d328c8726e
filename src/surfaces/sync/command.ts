import { type Command, Option } from "commander";
import { sleep } from "../../kernel/index.ts";
import { SYNC_DATA_TYPES, SYNC_PRIORITIES } from "../../sync/facade/request.ts";
import { DELIVERY_VIEWS, type DeliveryView } from "../../sync/orders/order.ts";
import { defaultList, showAnswer } from "../cli/answers.ts";
import { liveLine } from "../cli/live-line.ts";
import { askMain } from "../cli/main-process.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { decimal, wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { deliveryLines, planLines, progressBar, progressLine, syncDetails, syncLines } from "./view.ts";
import { cancelSync, explainSync, listDeliveries, listSyncs, runSync, type SyncView, showSync } from "./wire.ts";

type Body = Input<typeof runSync>["body"];

interface RunOptions {
  readonly to?: string[];
  readonly exclude?: string[];
  readonly board?: string;
  readonly players?: number;
  readonly priority?: Body["priority"];
  readonly timeout?: number;
  readonly limit?: number;
  readonly ephemeral?: boolean;
  /** False with --no-wait. */
  readonly wait?: boolean;
  readonly dryRun?: boolean;
}

const bodyOf = (data_type: Body["data_type"], options: RunOptions): Body => ({
  data_type,
  targets: options.to,
  exclude_nodes: options.exclude,
  board_type: options.board,
  num_players: options.players,
  priority: options.priority,
  timeout_seconds: options.timeout,
  bandwidth_limit_mbps: options.limit,
  prefer_ephemeral: options.ephemeral,
  // Also where nobody waits here: the sync goes on until every copy was shown to be there, so it can be looked at and cancelled.
  require_confirmation: true,
});

const LOOK_MS = 500;

const explain = (shell: Shell, body: Body) =>
  showAnswer(shell, explainSync, { body }, (plan) => planLines(plan, shell));

/** Shows how far a sync is until it has ended, and gives how; undefined if the person does not wait any longer. */
export async function followSync(
  shell: Pick<Shell, "io" | "clock" | "note">,
  look: () => Promise<SyncView>,
): Promise<SyncView["state"] | undefined> {
  const { io, clock } = shell;
  const line = liveLine(shell);
  try {
    for (;;) {
      const now = await look();
      if (now.state !== "running") return now.state;
      line.show(io.errIsTerminal === true ? progressBar(now, io.columns) : progressLine(now));
      await sleep(clock, LOOK_MS, io.signal).catch(() => undefined);
      if (io.signal.aborted) return undefined;
    }
  } finally {
    line.end();
  }
}

const goesOn = (id: string): string =>
  `sync ${id} goes on: 'ringrift sync status ${id}' shows it, 'ringrift sync cancel ${id}' ends it`;

async function run(shell: Shell, body: Body, waits: boolean): Promise<void> {
  await askMain(shell.main, async (main) => {
    const { sync_id: id } = await main.call(runSync, { body });
    if (!waits) {
      const begun = await main.raw(showSync, { params: { id } });
      return answer(shell, { sync: begun }, () => `${progressLine(main.read(showSync, begun))}\n${goesOn(id)}`);
    }
    const state = await followSync(shell, () => main.call(showSync, { params: { id } }));
    if (state === undefined) {
      shell.note(goesOn(id));
      throw negative();
    }
    const raw = await main.raw(showSync, { params: { id } });
    answer(shell, { sync: raw }, () => syncDetails(main.read(showSync, raw), shell));
    if (state !== "completed") throw negative();
  });
}

const withOptions = (command: Command): Command =>
  command
    .argument("<what>", SYNC_DATA_TYPES.join(", "))
    .option("--to <nodes...>", "only to these nodes, by id or name")
    .option("--exclude <nodes...>", "to all nodes except these")
    .option("--board <name>", "only files of this board, for example hex8")
    .option("--players <n>", "only files of games with this many players", wholeNumber("--players", 2, 4))
    .addOption(new Option("--priority <how>", "how urgent it is").choices(SYNC_PRIORITIES))
    .option("--timeout <seconds>", "give up after this time; default: 300", decimal("--timeout", 0.1, 86_400))
    .option("--limit <mb>", "megabytes per second, for each node", decimal("--limit", 0.001, 100_000))
    .option("--ephemeral", "first bring home what is on rented nodes");

/** `ringrift sync`: bring files to nodes now, and see how far it is. */
export function registerSync(sync: Command, shell: Shell): void {
  defaultList(sync, "list syncs, newest first; 'ringrift sync' does the same").action(() =>
    showAnswer(shell, listSyncs, { query: {} }, ({ syncs }) =>
      syncs.length === 0 ? "nobody has asked for a sync yet" : syncLines(syncs, shell),
    ),
  );
  withOptions(sync.command("run"))
    .description("bring files to nodes now, and wait until they have arrived; exit code 1 if some have not")
    .option("--no-wait", "only order the transfers; 'ringrift sync status' shows the progress")
    .option("--dry-run", "only show who would get what, and why")
    .action((what: Body["data_type"], options: RunOptions) =>
      options.dryRun === true
        ? explain(shell, bodyOf(what, options))
        : run(shell, bodyOf(what, options), options.wait !== false),
    );
  withOptions(sync.command("explain"))
    .description("show which nodes would get which files, which would not, and why")
    .action((what: Body["data_type"], options: RunOptions) => explain(shell, bodyOf(what, options)));
  sync
    .command("status")
    .description("show the progress or the result of a sync")
    .argument("<sync>", "its id")
    .action((id: string) =>
      showAnswer(shell, showSync, { params: { id } }, (found) => syncDetails(found, shell), "sync"),
    );
  sync
    .command("deliveries")
    .description(
      "list single transfers, newest first: what was tried in which way, when it is tried next, what was given up",
    )
    .addOption(new Option("--which <view>", "which of them").choices(DELIVERY_VIEWS).default("failing"))
    .option("--node <node>", "only those of a node, by id or name")
    .option("--limit <n>", "list at most this many", wholeNumber("--limit", 1, 1_000), 20)
    .action(({ which: view, ...query }: { which: DeliveryView; node?: string; limit: number }) =>
      showAnswer(shell, listDeliveries, { query: { view, ...query } }, (found) => deliveryLines(found, view, shell)),
    );
  sync
    .command("cancel")
    .description("cancel a sync: files that have arrived stay, the rest is not fetched")
    .argument("<sync>", "its id")
    .action((id: string) =>
      showAnswer(
        shell,
        cancelSync,
        { params: { id }, body: {} },
        (found) => `cancelled: ${progressLine(found)}`,
        "sync",
      ),
    );
}
