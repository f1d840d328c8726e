import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import { defined } from "../../kernel/index.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { plural } from "../cli/text.ts";
import { pointInTime, wholeNumber } from "../cli/values.ts";
import { canonicalName } from "./event-names.ts";
import { replayEvents } from "./wire.ts";

interface ReplayOptions {
  readonly since: number;
  readonly until?: number;
  readonly type?: readonly string[];
  readonly max: number;
  readonly reason?: string;
  readonly dryRun?: boolean;
}

export function registerEventsReplay(events: Command, shell: Shell, catalog: Catalog): void {
  const time = (option: string) => pointInTime(option, () => shell.clock.now());
  events
    .command("replay")
    .description("deliver past events to a consumer again, oldest first; needs the running process")
    .argument("<consumer>", "name of the durable consumer")
    .requiredOption(
      "--since <time>",
      "from this time on: 10m (ago), 2026-01-31T12:00, or Unix seconds",
      time("--since"),
    )
    .option("--until <time>", "up to here", time("--until"))
    .option("--type <names...>", "only these events, in any spelling; default: all events of the consumer")
    .option("--max <n>", "deliver at most this many", wholeNumber("--max", 1, 10_000), 1_000)
    .option("--reason <text>", "the reason; it is recorded")
    .option("--dry-run", "only show what would be delivered, and to whom")
    .action((consumer: string, options: ReplayOptions) => {
      const { since, until, max, reason, dryRun = false } = options;
      const event_types = (options.type ?? []).map((type) => canonicalName(catalog, type, shell.note));
      const body = { since, max, event_types, dry_run: dryRun, ...defined({ until, reason }) };
      return showAnswer(shell, replayEvents, { params: { consumer }, body }, (replayed) => {
        const many = plural(replayed.events, "event");
        const rest = replayed.more ? "; there are more, ask again with a later --since or a larger --max" : "";
        if (replayed.events === 0) return `nothing to deliver to ${consumer} since then`;
        const rows = replayed.by_type.map(({ event_type, events: n, first_seq, last_seq }) => [
          `  ${event_type}`,
          String(n),
          `journal ${first_seq} to ${last_seq}`,
        ]);
        const where = replayed.connected ? "" : "; they wait until it is back";
        return [
          `${dryRun ? "would deliver" : "delivering"} ${many} to ${consumer}${where}${rest}`,
          ...tableLines(rows, shell),
        ];
      });
    });
}
