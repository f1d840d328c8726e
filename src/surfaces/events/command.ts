import type { Command } from "commander";
import type { Catalog } from "../../events/index.ts";
import type { Shell } from "../cli/shell.ts";
import { registerEventsHistory } from "./history.command.ts";
import { registerEventsList } from "./list.command.ts";
import type { NodeOutboxes } from "./node-outbox.port.ts";
import { registerEventsOutbox } from "./outbox.command.ts";
import { registerEventsPublish } from "./publish.command.ts";
import { registerEventsReplay } from "./replay.command.ts";
import { registerEventsShow } from "./show.command.ts";
import { registerEventsStats } from "./stats.command.ts";
import { registerEventsTail } from "./tail.command.ts";
import { registerEventsTrace } from "./trace.command.ts";

/** `ringrift events ...`: the catalog, and what happens. */
export function registerEvents(events: Command, shell: Shell, catalog: Catalog, outboxes: NodeOutboxes): void {
  registerEventsList(events, shell, catalog);
  registerEventsShow(events, shell, catalog);
  registerEventsStats(events, shell);
  registerEventsTail(events, shell, catalog);
  registerEventsHistory(events, shell, catalog);
  registerEventsPublish(events, shell, catalog, outboxes);
  registerEventsOutbox(events, shell, outboxes);
  registerEventsTrace(events, shell);
  registerEventsReplay(events, shell, catalog);
}
