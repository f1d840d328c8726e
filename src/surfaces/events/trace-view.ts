import type { PairState } from "../../router/index.ts";
import type { DeliveryNote, TraceNote } from "../cli/journal-view.port.ts";
import type { Shell } from "../cli/shell.ts";
import { duration, moment, plural, printable, shorten, shortId, wrap } from "../cli/text.ts";
import { MAX_INDENTED, type TreeLine, traceTree } from "./trace-tree.ts";

const MARKS: Readonly<Record<PairState, string>> = {
  done: "✓",
  owed: "…",
  parked: "‖",
  retrying: "↻",
  dead: "✗",
  expired: "∅",
};

const paintOf = (state: PairState, { paint }: Shell): ((text: string) => string) =>
  ({
    done: paint.green,
    owed: paint.dim,
    parked: paint.yellow,
    retrying: paint.yellow,
    dead: paint.red,
    expired: paint.red,
  })[state];

/** The lines of the branches to the left of an event, and of what belongs to it below. */
function branches({ depth, stem, isLast, hasChildren }: TreeLine): { event: string; below: string } {
  const own = depth === 0 ? "" : isLast ? "└─ " : "├─ ";
  const after = depth === 0 ? "" : isLast ? "   " : "│  ";
  const deep = depth > MAX_INDENTED ? `(${depth} deep) ` : "";
  return { event: stem + own + deep, below: `${stem}${after}${hasChildren ? "│  " : "   "}` };
}

function deliveryLines(deliveries: readonly DeliveryNote[], room: number, shell: Shell): string[] {
  if (deliveries.length === 0) return [shell.paint.dim("nobody is owed it")];
  const pieces = deliveries.map(({ consumer, state }) => ({
    text: `${MARKS[state]} ${printable(consumer)} ${state}`,
    paint: paintOf(state, shell),
  }));
  return wrap(pieces, Math.max(20, room), 2).map((line) => line.map(({ text, paint }) => paint(text)).join("  "));
}

function eventHead(line: TreeLine, asked: string, startedAt: number, shell: Shell): string {
  const { event } = line.note;
  const { paint } = shell;
  const isAsked = event.eventId === asked;
  const name = printable(event.eventType);
  const rest = [
    printable(event.source),
    `+${duration((event.timestamp - startedAt) * 1_000)}`,
    shortId(event.eventId),
  ].join("  ");
  const left = branches(line).event;
  const mark = isAsked ? "  ◀ asked for" : "";
  const room = shell.width - left.length - name.length - mark.length - 2;
  return `${paint.dim(left)}${isAsked ? paint.bold(paint.cyan(name)) : paint.cyan(name)}  ${shorten(rest, Math.max(12, room))}${paint.bold(mark)}`;
}

/** The tree of causes and effects as lines; `asked` is marked. */
export function traceLines(trace: TraceNote, asked: string, shell: Shell): string[] {
  const tree = traceTree(trace.events);
  const times = trace.events.map(({ event }) => event.timestamp);
  const startedAt = Math.min(...times);
  const sources = new Set(trace.events.map(({ event }) => `${event.nodeId}/${event.source}`));
  const { paint } = shell;
  const lines = [
    `trace ${trace.trace_id}`,
    paint.dim(
      `${plural(trace.events.length, "event")} from ${plural(sources.size, "source")}, ` +
        `${moment(startedAt * 1_000, shell.clock.now())}, over ${duration((Math.max(...times) - startedAt) * 1_000)}`,
    ),
    "",
  ];
  for (const line of tree) {
    const { event, deliveries } = line.note;
    if (line.cut === "parent_missing")
      lines.push(paint.dim(`(its cause ${shortId(event.parentEventId!)} is no longer in the journal)`));
    if (line.cut === "cycle") lines.push(paint.dim("(its causes go round in a circle; cut here)"));
    lines.push(eventHead(line, asked, startedAt, shell));
    const { below } = branches(line);
    const room = shell.width - below.length;
    for (const text of deliveryLines(deliveries, room, shell)) lines.push(`${paint.dim(below)}${text}`);
  }
  return lines;
}
