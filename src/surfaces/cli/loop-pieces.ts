/** Lines of a live view that never wrap: pieces with their own colour, cut where the terminal ends. */
import { shorten } from "./text.ts";

export interface Piece {
  readonly text: string;
  readonly paint?: (text: string) => string;
}
export type Pieces = readonly (Piece | string)[];

const pieceOf = (piece: Piece | string): Piece => (typeof piece === "string" ? { text: piece } : piece);

/** The length that a reader sees. */
export const lengthOf = (pieces: Pieces): number =>
  pieces.reduce((sum, piece) => sum + [...pieceOf(piece).text].length, 0);

/** At most `width` characters, painted only after they were measured. */
export function lineOf(pieces: Pieces, width: number): string {
  let room = width;
  let line = "";
  for (const piece of pieces) {
    const { text, paint } = pieceOf(piece);
    const shown = shorten(text, room);
    room -= [...shown].length;
    line += shown === "" || paint === undefined ? shown : paint(shown);
    if (shown !== text) break;
  }
  return line;
}

/** One piece at the left edge and one at the right; where both do not fit, the right one is left out. */
export function spread(left: Pieces, right: Pieces, width: number): Pieces {
  const gap = width - lengthOf(left) - lengthOf(right);
  return gap < 2 ? left : [...left, " ".repeat(gap), ...right];
}

const LEVELS = "▁▂▃▄▅▆▇█";

/** The last `width` values as small bars; the scale is theirs unless it is given. */
export function sparkline(
  values: readonly number[],
  width: number,
  { low, high }: { readonly low?: number; readonly high?: number } = {},
): string {
  const shown = width < 1 ? [] : values.slice(-width);
  const from = low ?? Math.min(...shown);
  const to = high ?? Math.max(...shown);
  return shown
    .map((value) => {
      const share = to > from ? Math.min(1, Math.max(0, (value - from) / (to - from))) : 0.5;
      return LEVELS[Math.round(share * (LEVELS.length - 1))];
    })
    .join("");
}
