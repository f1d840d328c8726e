/** Geometry of rectangular boards: names of cells, drawings, symmetries. Rows count from the top, columns from the left. */
import type { Game, State, Symmetry } from "./game.ts";

const STONES = ".XOAB";
const letter = (column: number) => String.fromCharCode(97 + column);

export const formatCell = (columns: number, cell: number): string =>
  `${letter(cell % columns)}${Math.floor(cell / columns) + 1}`;

/** The cell that a text such as "d3" names, or -1. */
export function parseCell(columns: number, rows: number, text: string): number {
  const match = /^([a-z])([1-9]\d?)$/.exec(text.trim().toLowerCase());
  if (!match) return -1;
  const column = match[1]!.charCodeAt(0) - 97;
  const row = Number(match[2]) - 1;
  return column < columns && row < rows ? row * columns + column : -1;
}

/** The stones of a row, with a space between them. */
export const stonesIn = (game: Game, state: State, row: number): string =>
  Array.from({ length: game.columns }, (_, i) => STONES[game.cell(state, row * game.columns + i)]!).join(" ");

/** Columns lettered above, rows numbered at the left; of a rhombus each row stands one step further in. */
export function drawGrid(game: Game, state: State, isRhombus = false): string {
  const names = Array.from({ length: game.columns }, (_, i) => letter(i));
  const lines = [`   ${names.join(" ")}`];
  for (let row = 0; row < game.rows; row += 1)
    lines.push(`${" ".repeat(isRhombus ? row : 0)}${String(row + 1).padStart(2)} ${stonesIn(game, state, row)}`);
  return lines.join("\n");
}

type Mapping = (row: number, column: number) => readonly [number, number];

const mappedCells = (rows: number, columns: number, map: Mapping): Uint8Array =>
  Uint8Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = map(Math.floor(i / columns), i % columns);
    return row * columns + column;
  });

/** All eight of a square board whose moves are its cells. */
export function squareSymmetries(size: number): Symmetry[] {
  const end = size - 1;
  const maps: readonly (readonly [string, Mapping])[] = [
    ["identity", (r, c) => [r, c]],
    ["quarter turn", (r, c) => [c, end - r]],
    ["half turn", (r, c) => [end - r, end - c]],
    ["three-quarter turn", (r, c) => [end - c, r]],
    ["mirror", (r, c) => [r, end - c]],
    ["flip", (r, c) => [end - r, c]],
    ["transpose", (r, c) => [c, r]],
    ["anti-transpose", (r, c) => [end - c, end - r]],
  ];
  return maps.map(([name, map]) => {
    const cells = mappedCells(size, size, map);
    return { name, cells, moves: cells };
  });
}

/** Left and right exchanged, on a board whose moves are its columns. */
export function columnSymmetries(rows: number, columns: number): Symmetry[] {
  const maps: readonly (readonly [string, (column: number) => number])[] = [
    ["identity", (c) => c],
    ["mirror", (c) => columns - 1 - c],
  ];
  return maps.map(([name, map]) => ({
    name,
    cells: mappedCells(rows, columns, (r, c) => [r, map(c)]),
    moves: identityMoves(columns).map(map),
  }));
}

export const identityMoves = (moves: number): Uint8Array => Uint8Array.from({ length: moves }, (_, i) => i);

/** The straight lines of `length` or more cells in the four directions, each as one list of cells. */
export function fullLines(rows: number, columns: number, length: number): number[][] {
  const lines: number[][] = [];
  const walk = (row: number, column: number, down: number, right: number) => {
    const line: number[] = [];
    for (let r = row, c = column; r >= 0 && r < rows && c >= 0 && c < columns; r += down, c += right)
      line.push(r * columns + c);
    if (line.length >= length) lines.push(line);
  };
  for (let r = 0; r < rows; r += 1) walk(r, 0, 0, 1);
  for (let c = 0; c < columns; c += 1) walk(0, c, 1, 0);
  for (let c = 0; c < columns; c += 1) walk(0, c, 1, 1);
  for (let r = 1; r < rows; r += 1) walk(r, 0, 1, 1);
  for (let c = 0; c < columns; c += 1) walk(0, c, 1, -1);
  for (let r = 1; r < rows; r += 1) walk(r, columns - 1, 1, -1);
  return lines;
}

/** Every window of exactly `length` cells in a straight line. */
export const lineWindows = (rows: number, columns: number, length: number): number[][] =>
  fullLines(rows, columns, length).flatMap((line) =>
    Array.from({ length: line.length - length + 1 }, (_, i) => line.slice(i, i + length)),
  );

/** The cells of a block, from its top left corner. */
export const block = (columns: number, row: number, column: number, height: number, width: number): number[] =>
  Array.from({ length: height * width }, (_, i) => (row + Math.floor(i / width)) * columns + column + (i % width));
