import type { Paint } from "../cli/paint.ts";
import { payloadLine, printable, shorten } from "../cli/text.ts";

const LEVEL: Readonly<Record<number, string>> = { 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL" };

/** One line of the log, read. */
export interface LogRecord {
  readonly level: number;
  readonly time?: string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/** Undefined for a line that is none of ours. */
export function readLogLine(line: string): LogRecord | undefined {
  try {
    const read = JSON.parse(line) as LogRecord;
    return typeof read === "object" && read !== null && typeof read.level === "number" ? read : undefined;
  } catch {
    return undefined;
  }
}

/** How bad a line is, as pino counts; a line that is none of ours is worth reading. */
export const logLevelOf = (line: string): number => readLogLine(line)?.level ?? Number.POSITIVE_INFINITY;

const two = (value: number) => String(value).padStart(2, "0");

const clockText = (time: string | undefined): string => {
  const at = new Date(time ?? Number.NaN);
  if (Number.isNaN(at.getTime())) return "--:--:--";
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
};

/**
 * A line of the log, written as JSON, for a person at a terminal: when, how bad, who, a sentence, and the figures of it.
 * A line that is none is shown as it is.
 */
export function logLine(json: string, paint: Paint, width: number): string {
  const read = readLogLine(json);
  if (read === undefined) return printable(json.trimEnd());
  const { level, time, msg = "", unit, ...fields } = read;
  const color = level >= 50 ? paint.red : level >= 40 ? paint.yellow : (text: string) => text;
  const who = typeof unit === "string" ? `${printable(unit)}: ` : "";
  const head = `${clockText(time)} ${(LEVEL[level] ?? String(level)).padEnd(5)} ${who}${printable(String(msg))}`;
  const rest = payloadLine(fields, width);
  const room = width - head.length - 2;
  return `${color(shorten(head, width))}${rest === "" || room < 8 ? "" : `  ${paint.dim(shorten(rest, room))}`}`;
}
