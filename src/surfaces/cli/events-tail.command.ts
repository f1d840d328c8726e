import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import { onTheWire } from "../http/on-the-wire.ts";
import { eventLine } from "./event-line.ts";
import { canonicalName } from "./event-names.ts";
import type { Followed } from "./journal-view.port.ts";
import type { Shell } from "./shell.ts";
import { plural } from "./text.ts";
import { wholeNumber } from "./values.ts";

interface TailOptions {
  readonly sinceStart?: boolean;
  readonly count?: number;
}

/** Says what was heard; true when it was an event. */
const tell = (followed: Followed, what: string, shell: Shell): boolean => {
  if ("event" in followed) {
    if (shell.json) shell.print(onTheWire(followed.event));
    else shell.say(eventLine(followed.event, shell));
    return true;
  }
  if ("missed" in followed) shell.note(`${plural(followed.missed, "event")} left out: the reader is too slow`);
  else if (followed.connection === "open") shell.note(`following ${what}; Ctrl-C ends it`);
  else if (followed.connection === "lost") shell.note("the main process went away; waiting for it");
  else shell.note("the main process is back");
  return false;
};

export function registerEventsTail(events: Command, shell: Shell, catalog: Catalog): void {
  events
    .command("tail")
    .description("show events as they happen, until Ctrl-C; needs the running process")
    .argument("[names...]", "only these events, in any spelling")
    .option("--since-start", "begin with what the journal holds since the process started")
    .option("--count <n>", "end after so many events", wholeNumber("--count", 1, 1_000_000_000))
    .action(async (names: string[], options: TailOptions) => {
      const eventTypes = [...new Set(names.map((name) => canonicalName(catalog, name, shell.note)))];
      const journal = await shell.journals.live();
      const enough = new AbortController();
      try {
        const what = eventTypes.length === 0 ? "all events" : eventTypes.join(", ");
        const following = journal.follow({
          eventTypes,
          signal: AbortSignal.any([shell.io.signal, enough.signal]),
          ...(options.sinceStart === true ? { sinceSeconds: journal.startedAt } : {}),
        });
        let told = 0;
        for await (const followed of following) {
          if (tell(followed, what, shell)) told += 1;
          if (told === options.count) break;
        }
      } finally {
        enough.abort();
        journal.close();
      }
    });
}
