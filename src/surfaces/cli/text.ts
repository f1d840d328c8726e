/** Small pieces of text that all commands print the same way. */
import { stripVTControlCharacters } from "node:util";

/** Text from outside, safe to show: whatever could move the cursor, hide text or break the line is written out. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });

/** The same for a text of several lines: its line breaks stay. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** The length that a reader sees: colours take no room. */
export const lengthSeen = (text: string): number => [...stripVTControlCharacters(text)].length;

const ESCAPE = "\u001b";
const PIECES = new RegExp(`${ESCAPE}\\[\\d+m|.`, "gsu");

/** At most `width` characters that are seen; what was cut off shows as an ellipsis, and colours end as they would have. */
export function shorten(text: string, width: number): string {
  if (text.length <= width || lengthSeen(text) <= width) return text;
  let seen = 0;
  return text.replaceAll(PIECES, (piece) => {
    if (piece.startsWith(ESCAPE)) return piece;
    seen += 1;
    if (seen < width) return piece;
    return seen === width ? "…" : "";
  });
}

/** One text at the left edge and one at the right; where both do not fit, the right one is left out. */
export function spread(left: string, right: string, width: number): string {
  const gap = width - lengthSeen(left) - lengthSeen(right);
  return gap < 2 ? left : `${left}${" ".repeat(gap)}${right}`;
}

/** Whole numbers, which are nearly all of them, are grouped by hand: the first use of Intl costs a command 10 ms. */
export const number = (value: number): string =>
  Number.isSafeInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : value.toLocaleString("en-US");

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** Two digits say enough: 1.5, 12. */
const twoDigits = (value: number): number => (Math.abs(value) < 9.95 ? Math.round(value * 10) / 10 : Math.round(value));

/** A length of time in the unit that a reader wants: 12 ms, 3.4 s, 1.5 min, 2 h, 3 d. */
export function duration(ms: number): string {
  const sized = Math.abs(ms);
  if (sized < 1_000) return `${Math.round(ms)} ms`;
  if (sized < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (sized < 3_600_000) return `${twoDigits(ms / 60_000)} min`;
  if (sized < 48 * 3_600_000) return `${twoDigits(ms / 3_600_000)} h`;
  return `${twoDigits(ms / 86_400_000)} d`;
}

/** For numbers between 0 and 1. */
export const percent = (share: number): string => `${Math.round(share * 100)} %`;

export const ago = (atMs: number, nowMs: number): string => `${duration(Math.max(0, nowMs - atMs))} ago`;

const two = (value: number) => String(value).padStart(2, "0");

/** The time of day today, the date and time on any other day; always 12 characters or more, in local time. */
export function moment(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const now = new Date(nowMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === now.toDateString()) return `${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  const date = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.getFullYear() === now.getFullYear() ? `${date} ${time}` : `${at.getFullYear()}-${date} ${time}`;
}

/** A moment and how long ago it was; nothing where there was none. */
export const momentAgo = (atMs: number | null, nowMs: number): string =>
  atMs === null ? "" : `${moment(atMs, nowMs)} (${ago(atMs, nowMs)})`;

/** The end of an event's id: long enough to name it, short enough to read. */
export const shortId = (eventId: string): string => printable(eventId.slice(-8));

const MAX_VALUE_CHARACTERS = 24;

/** A value for a person: numbers rounded, what is inside another in words. */
export function valueText(value: unknown): string {
  if (typeof value === "number" && !Number.isInteger(value))
    return String(Math.abs(value) >= 1_000 ? Math.round(value) : Number(value.toPrecision(4)));
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([key, inside]) => `${key} ${valueText(inside)}`)
      .join(", ");
  return String(value);
}

/** A payload on one line, as `key=value` pairs; where lines are short, long values come last and are cut. */
export function payloadLine(payload: Readonly<Record<string, unknown>>, width: number): string {
  const pairs = Object.entries(payload).map(([key, value]) => ({
    key: printable(key),
    text: printable(valueText(value)),
  }));
  if (!Number.isFinite(width)) return pairs.map(({ key, text }) => `${key}=${text}`).join(" ");
  const isLong = ({ text }: { text: string }) => Number(text.length > MAX_VALUE_CHARACTERS);
  return pairs
    .sort((a, b) => isLong(a) - isLong(b))
    .map(({ key, text }) => `${key}=${shorten(text, MAX_VALUE_CHARACTERS)}`)
    .join(" ");
}

/** Groups pieces into lines of at most `width` characters, `gap` blanks between them; a longer piece stands alone. */
export function wrap<T extends { readonly text: string }>(pieces: readonly T[], width: number, gap = 1): T[][] {
  const lines: T[][] = [];
  let room = 0;
  for (const piece of pieces) {
    const line = lines.at(-1);
    if (line !== undefined && piece.text.length + gap <= room) {
      line.push(piece);
      room -= piece.text.length + gap;
    } else {
      lines.push([piece]);
      room = width - piece.text.length;
    }
  }
  return lines;
}

/** Breaks a text between its words. */
export const wrapText = (text: string, width: number): string[] =>
  wrap(
    text.split(" ").map((word) => ({ text: word })),
    width,
  ).map((line) => line.map((word) => word.text).join(" "));
