import type { Command } from "commander";
import { type Catalog, EventSource } from "../../events/index.ts";
import type { HistoryFilter } from "../../router/index.ts";
import { onTheWire } from "../http/on-the-wire.ts";
import { eventLines } from "./event-line.ts";
import { canonicalName } from "./event-names.ts";
import type { Shell } from "./shell.ts";
import { oneOf, pointInTime, wholeNumber } from "./values.ts";

interface HistoryOptions {
  readonly type?: string;
  readonly since?: number;
  readonly until?: number;
  readonly source?: string;
  readonly origin?: EventSource;
  readonly orderKey?: string;
  readonly limit: number;
}

const filterOf = ({ type, ...rest }: HistoryOptions, eventType: string | undefined): HistoryFilter => ({
  ...rest,
  ...(eventType === undefined ? {} : { eventType }),
});

export function registerEventsHistory(events: Command, shell: Shell, catalog: Catalog): void {
  const time = (option: string) => pointInTime(option, () => shell.clock.now());
  events
    .command("history")
    .description("the newest events of the journal, oldest first; reads the data folder when nothing runs")
    .option("--type <name>", "only this event, in any spelling")
    .option("--since <time>", "not before: 10m (ago), 2026-01-31T12:00, or Unix seconds", time("--since"))
    .option("--until <time>", "before", time("--until"))
    .option("--source <name>", "only from this part of the system")
    .option(
      "--origin <view>",
      `only by this view: ${Object.values(EventSource).join(", ")}`,
      oneOf("--origin", Object.values(EventSource)),
    )
    .option("--order-key <key>", "only with this order key, such as hex8_2p")
    .option("--limit <n>", "at most so many", wholeNumber("--limit", 1, 10_000), 20)
    .action(async (options: HistoryOptions) => {
      const type = options.type === undefined ? undefined : canonicalName(catalog, options.type, shell.note);
      const view = await shell.journals.view();
      try {
        const found = await view.history(filterOf(options, type));
        if (shell.json) return shell.print({ from: view.from, events: found.map(onTheWire) });
        if (found.length === 0) return shell.say("no events");
        for (const line of eventLines(found, shell)) shell.say(line);
      } finally {
        view.close();
      }
    });
}
