import type { AnyEvent } from "../../router/index.ts";
import type { Shell } from "./shell.ts";
import { type Cell, tableLines } from "./table.ts";
import { moment, payloadLine, printable, shortId } from "./text.ts";

/** Widths that hold most names, so that lines of a stream stand under each other. */
const LEAST = [12, 8, 26, 16];

const nameCell = (event: AnyEvent, { paint }: Shell): Cell => ({
  text: printable(event.eventType),
  paint: event.eventClass === "durable" ? paint.cyan : paint.blue,
});

const cells = (event: AnyEvent, shell: Shell): Cell[] => [
  { text: moment(event.timestamp * 1_000, shell.clock.now()), paint: shell.paint.dim },
  { text: shortId(event.eventId), paint: shell.paint.yellow },
  nameCell(event, shell),
  { text: printable(event.source) },
  { text: payloadLine(event.payload, shell.width), paint: shell.paint.dim },
];

/** Events as a table: time, end of the id, name, source, payload. */
export const eventLines = (events: readonly AnyEvent[], shell: Shell): string[] =>
  tableLines(
    events.map((event) => cells(event, shell)),
    { width: shell.width },
  );

/** One event of a stream, under the one before it. */
export const eventLine = (event: AnyEvent, shell: Shell): string =>
  tableLines([cells(event, shell)], { width: shell.width, least: LEAST })[0]!;
