import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import type { Followed } from "../cli/journal-view.port.ts";
import type { Shell } from "../cli/shell.ts";
import { plural } from "../cli/text.ts";
import { wholeNumber } from "../cli/values.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { eventLine } from "./event-lines.ts";
import { canonicalName } from "./event-names.ts";

interface TailOptions {
  readonly sinceStart?: boolean;
  readonly count?: number;
}

/** Shows what was heard; true when it was an event. */
const show = (followed: Followed, what: string, shell: Shell): boolean => {
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
    .option("--since-start", "begin with the events since the process started")
    .option("--count <n>", "stop after this many events", wholeNumber("--count", 1, 1_000_000_000))
    .action(async (names: string[], options: TailOptions) => {
      const eventTypes = [...new Set(names.map((name) => canonicalName(catalog, name, shell.note)))];
      using journal = await shell.journals.live();
      const what = eventTypes.length === 0 ? "all events" : eventTypes.join(", ");
      const following = journal.follow({
        eventTypes,
        signal: shell.io.signal,
        sinceSeconds: options.sinceStart === true ? journal.startedAt : undefined,
      });
      let shown = 0;
      for await (const followed of following) {
        if (show(followed, what, shell)) shown += 1;
        if (shown === options.count) break;
      }
    });
}
