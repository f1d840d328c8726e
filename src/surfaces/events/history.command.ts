import type { Command } from "commander";
import { type Catalog, EventSource } from "../../events/index.ts";
import { defined } from "../../kernel/index.ts";
import type { HistoryFilter } from "../../router/index.ts";
import type { Shell } from "../cli/shell.ts";
import { oneOf, pointInTime, wholeNumber } from "../cli/values.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { eventLines } from "./event-lines.ts";
import { canonicalName } from "./event-names.ts";

interface HistoryOptions extends Omit<HistoryFilter, "eventType"> {
  readonly type?: string;
}

export function registerEventsHistory(events: Command, shell: Shell, catalog: Catalog): void {
  const time = (option: string) => pointInTime(option, () => shell.clock.now());
  events
    .command("history")
    .description("show the newest events of the journal, oldest first; reads the data folder if nothing is running")
    .option("--type <name>", "only this event, in any spelling")
    .option("--since <time>", "only from this time on: 10m (ago), 2026-01-31T12:00, or Unix seconds", time("--since"))
    .option("--until <time>", "before", time("--until"))
    .option("--source <name>", "only from this part of the system")
    .option(
      "--origin <view>",
      `only from this view: ${Object.values(EventSource).join(", ")}`,
      oneOf("--origin", Object.values(EventSource)),
    )
    .option("--order-key <key>", "only with this order key, such as hex8_2p")
    .option("--limit <n>", "show at most this many", wholeNumber("--limit", 1, 10_000), 20)
    .action(async ({ type, ...rest }: HistoryOptions) => {
      const eventType = type === undefined ? undefined : canonicalName(catalog, type, shell.note);
      using view = await shell.journals.view();
      const found = await view.history({ ...rest, ...defined({ eventType }) });
      if (shell.json) return shell.print({ from: view.from, events: found.map(onTheWire) });
      shell.say(...(found.length === 0 ? ["no events"] : eventLines(found, shell)));
    });
}
