import { type Paint, payloadLine, printable, shorten } from "../../../surfaces/cli/index.ts";

const LEVEL: Readonly<Record<number, string>> = { 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL" };

interface Logged {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

const two = (value: number) => String(value).padStart(2, "0");

/** A line of the log, written as JSON, for a person at a terminal. A line that is none is shown as it is. */
export function logLine(json: string, paint: Paint, width: number): string {
  let read: Logged & Record<string, unknown>;
  try {
    read = JSON.parse(json) as Logged & Record<string, unknown>;
  } catch {
    return printable(json.trimEnd());
  }
  const { level, time, msg = "", ...fields } = read;
  const at = new Date(time);
  const word = LEVEL[level] ?? String(level);
  const color = level >= 50 ? paint.red : level >= 40 ? paint.yellow : (text: string) => text;
  const head = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${word.padEnd(5)} ${printable(msg)}`;
  const rest = payloadLine(fields, width);
  const room = width - head.length - 2;
  return `${color(shorten(head, width))}${rest === "" || room < 8 ? "" : `  ${paint.dim(shorten(rest, room))}`}`;
}
