/** Small pieces of text that all commands print the same way. */

/** Text from outside, safe to show: whatever could move the cursor, hide text or break the line is written out. */
export const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    if (char === "\n") return "\\n";
    if (char === "\t") return "\\t";
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });

/** The same for a text of several lines: its line breaks stay. */
export const printableLines = (text: string): string => text.split("\n").map(printable).join("\n");

/** At most `width` characters; what was cut off shows as an ellipsis. */
export function shorten(text: string, width: number): string {
  if (text.length <= width) return text;
  const characters = [...text];
  if (characters.length <= width) return text;
  return width < 1 ? "" : `${characters.slice(0, width - 1).join("")}…`;
}

export const number = (value: number): string => value.toLocaleString("en-US");

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

/** A length of time in the unit that a reader wants: 12 ms, 3.4 s, 5 min, 2 h, 3 d. */
export function duration(ms: number): string {
  const sized = Math.abs(ms);
  if (sized < 1_000) return `${Math.round(ms)} ms`;
  if (sized < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (sized < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (sized < 48 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

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

/** The end of an event's id: long enough to name it, short enough to read. */
export const shortId = (eventId: string): string => printable(eventId.slice(-8));

const MOST_VALUE_CHARACTERS = 24;

/** A payload on one line, as `key=value` pairs; where lines are short, long values come last and are cut. */
export function payloadLine(payload: Readonly<Record<string, unknown>>, width: number): string {
  const pairs = Object.entries(payload).map(([key, value]) => ({
    key: printable(key),
    text: printable(typeof value === "string" ? value : JSON.stringify(value)),
  }));
  if (!Number.isFinite(width)) return pairs.map(({ key, text }) => `${key}=${text}`).join(" ");
  const isLong = ({ text }: { text: string }) => Number(text.length > MOST_VALUE_CHARACTERS);
  return pairs
    .sort((a, b) => isLong(a) - isLong(b))
    .map(({ key, text }) => `${key}=${shorten(text, MOST_VALUE_CHARACTERS)}`)
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
