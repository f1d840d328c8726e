import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import { registerEventsHistory } from "./events-history.command.ts";
import { registerEventsList } from "./events-list.command.ts";
import { registerEventsOutbox } from "./events-outbox.command.ts";
import { registerEventsPublish } from "./events-publish.command.ts";
import { registerEventsShow } from "./events-show.command.ts";
import { registerEventsTail } from "./events-tail.command.ts";
import { registerEventsTrace } from "./events-trace.command.ts";
import type { NodeOutboxes } from "./node-outbox.port.ts";
import type { Shell } from "./shell.ts";

/** `ringrift events ...`: the catalog, and what happens. */
export function registerEvents(program: Command, shell: Shell, catalog: Catalog, outboxes: NodeOutboxes): void {
  const events = program
    .command("events")
    .description("the events there are, and what happens: list, show, tail, history, publish, outbox, trace");
  registerEventsList(events, shell, catalog);
  registerEventsShow(events, shell, catalog);
  registerEventsTail(events, shell, catalog);
  registerEventsHistory(events, shell, catalog);
  registerEventsPublish(events, shell, catalog, outboxes);
  registerEventsOutbox(events, shell, outboxes);
  registerEventsTrace(events, shell);
}
