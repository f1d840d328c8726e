import { type Command, Option } from "commander";
import { sleep } from "../../kernel/index.ts";
import { SYNC_DATA_TYPES, SYNC_PRIORITIES } from "../../sync/facade/request.ts";
import { defaultList, showAnswer } from "../cli/answers.ts";
import { askMain } from "../cli/main-process.ts";
import { answer, negative, type Shell } from "../cli/shell.ts";
import { decimal, wholeNumber } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { planLines, progressLine, syncDetails, syncLines } from "./view.ts";
import { cancelSync, explainSync, listSyncs, runSync, showSync } from "./wire.ts";

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
  readonly wait: boolean;
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
  require_confirmation: options.wait,
});

const LOOK_MS = 500;

const explain = (shell: Shell, body: Body) =>
  showAnswer(shell, explainSync, { body }, (plan) => planLines(plan, shell));

async function run(shell: Shell, body: Body): Promise<void> {
  await askMain(shell.main, async (main) => {
    let { sync_id: id, state } = await main.call(runSync, { body });
    for (let last = ""; state === "running"; ) {
      await sleep(shell.clock, LOOK_MS);
      const now = await main.call(showSync, { params: { id } });
      state = now.state;
      const line = progressLine(now);
      if (line !== last && state === "running") shell.note(line);
      last = line;
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
    .option("--exclude <nodes...>", "to all but these")
    .option("--board <name>", "only files of a board, as in hex8")
    .option("--players <n>", "only files of so many players", wholeNumber("--players", 2, 4))
    .addOption(new Option("--priority <how>", "how urgent it is").choices(SYNC_PRIORITIES))
    .option("--timeout <seconds>", "give up after so long; 300 unless given", decimal("--timeout", 0.1, 86_400))
    .option("--limit <mb>", "megabytes a second, for each node", decimal("--limit", 0.001, 100_000))
    .option("--ephemeral", "bring home first what lies on rented nodes");

/** `ringrift sync`: bring files to nodes now, and see how far it is. */
export function registerSync(sync: Command, shell: Shell): void {
  defaultList(sync, "list syncs, newest first; this is what 'ringrift sync' does").action(() =>
    showAnswer(shell, listSyncs, { query: {} }, ({ syncs }) =>
      syncs.length === 0 ? "nobody has asked for a sync yet" : syncLines(syncs, shell),
    ),
  );
  withOptions(sync.command("run"))
    .description("bring files to nodes now, and wait until they are there; exit code 1 if they are not")
    .option("--no-wait", "only order it; 'ringrift sync status' shows how far it is")
    .option("--dry-run", "only say who would get what, and why")
    .action((what: Body["data_type"], options: RunOptions) =>
      options.dryRun === true ? explain(shell, bodyOf(what, options)) : run(shell, bodyOf(what, options)),
    );
  withOptions(sync.command("explain"))
    .description("who would get what, and why others would not, with what is and what must be")
    .action((what: Body["data_type"], options: RunOptions) => explain(shell, bodyOf(what, { ...options, wait: true })));
  sync
    .command("status")
    .description("how far a sync is, and what came of it")
    .argument("<sync>", "its id")
    .action((id: string) =>
      showAnswer(shell, showSync, { params: { id } }, (found) => syncDetails(found, shell), "sync"),
    );
  sync
    .command("cancel")
    .description("end it: what has arrived stays, the rest is not fetched")
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
