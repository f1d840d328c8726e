import type { AnyEvent } from "../../router/index.ts";
import type { Shell } from "../cli/shell.ts";
import { tableLines } from "../cli/table.ts";
import { moment, payloadLine, printable, shortId } from "../cli/text.ts";

/** Widths that hold most names, so that lines of a stream stand under each other. */
const LEAST = [12, 8, 26, 16];

const cells = (event: AnyEvent, { clock, paint, width }: Shell): string[] => [
  paint.dim(moment(event.timestamp * 1_000, clock.now())),
  paint.yellow(shortId(event.eventId)),
  (event.eventClass === "durable" ? paint.cyan : paint.blue)(printable(event.eventType)),
  printable(event.source),
  paint.dim(payloadLine(event.payload, width)),
];

/** Events as a table: time, end of the id, name, source, payload. */
export const eventLines = (events: readonly AnyEvent[], shell: Shell): string[] =>
  tableLines(
    events.map((event) => cells(event, shell)),
    shell,
  );

/** One event of a stream, under the one before it. */
export const eventLine = (event: AnyEvent, shell: Shell): string =>
  tableLines([cells(event, shell)], { width: shell.width, least: LEAST })[0]!;
