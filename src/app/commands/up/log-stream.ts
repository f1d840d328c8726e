import type { LogPlaces } from "../../../kernel/index.ts";
import { type CliIo, logLevelOf, logLine, type Paint, type Shell } from "../../../surfaces/commands/index.ts";
import type { LiveRegion } from "./live-region.ts";

export type LogStream = NonNullable<LogPlaces["stream"]>;

/** From this level on a line is worth reading between the sentences of a command; the others are in the log file. */
const WARN = 40;

/** Lines of the log as sentences on standard error, from a level on. */
const sentences = (io: Pick<CliIo, "err">, paint: Paint, width: number, from: number): LogStream => ({
  write(json) {
    if (logLevelOf(json) >= from) io.err(`${logLine(json, paint, width)}\n`);
  },
});

/**
 * Where log lines go besides the log file. At a terminal they are sentences, above the live lines if there are some. Elsewhere a
 * command that tells its story in sentences (`isStory`) adds warnings and errors, as sentences too; any other leaves it to
 * standard error, as JSON for whoever collects it.
 */
export function logStreamFor(
  { io, paint, width }: Pick<Shell, "io" | "paint" | "width">,
  region: LiveRegion | undefined,
  isStory: boolean,
): LogStream | undefined {
  if (io.errIsTerminal !== true) return isStory ? sentences(io, paint, Number.POSITIVE_INFINITY, WARN) : undefined;
  return region === undefined
    ? sentences(io, paint, width, 0)
    : { write: (json: string) => region.above(logLine(json, paint, width)) };
}
