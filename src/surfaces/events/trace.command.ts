import type { Command } from "commander";
import type { Shell } from "../cli/shell.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { findEventId } from "./find-event.ts";
import { traceTree } from "./trace-tree.ts";
import { traceLines } from "./trace-view.ts";

export function registerEventsTrace(events: Command, shell: Shell): void {
  events
    .command("trace")
    .description("show the causes and effects of an event as a tree, with the state of each delivery")
    .argument("<id>", "the event's id, or the last characters of it, as the lists show them")
    .action(async (given: string) => {
      using view = await shell.journals.view();
      const eventId = await findEventId(view, given);
      const trace = await view.trace(eventId);
      if (!shell.json) return shell.say(...traceLines(trace, eventId, shell));
      const tree = traceTree(trace.events).map(({ note, depth, cut }) => ({
        depth,
        cut,
        event: onTheWire(note.event),
        deliveries: note.deliveries,
      }));
      shell.print({ trace_id: trace.trace_id, asked: eventId, from: view.from, events: tree });
    });
}
