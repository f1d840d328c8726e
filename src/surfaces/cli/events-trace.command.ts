import type { Command } from "commander";
import { onTheWire } from "../http/on-the-wire.ts";
import { findEventId } from "./find-event.ts";
import type { Shell } from "./shell.ts";
import { traceTree } from "./trace-tree.ts";
import { traceLines } from "./trace-view.ts";

export function registerEventsTrace(events: Command, shell: Shell): void {
  events
    .command("trace")
    .description("the tree of causes and effects of an event, across processes, with the state of each delivery")
    .argument("<id>", "the event's id, or the end of it as the lists show it")
    .action(async (given: string) => {
      const view = await shell.journals.view();
      try {
        const eventId = await findEventId(view, given);
        const trace = await view.trace(eventId);
        if (!shell.json) {
          for (const line of traceLines(trace, eventId, shell)) shell.say(line);
          return;
        }
        const tree = traceTree(trace.events).map(({ note, depth, cut }) => ({
          depth,
          cut,
          event: onTheWire(note.event),
          deliveries: note.deliveries,
        }));
        shell.print({ trace_id: trace.trace_id, asked: eventId, from: view.from, events: tree });
      } finally {
        view.close();
      }
    });
}
