/** A position as whoever looks sees it: its rows, and where the game is. */
import { type Game, PLY, type State } from "../games/game.ts";

/** As on every board of ours: a letter a seat. */
const MARKS = ".XOAB";

export const shownOf = (game: Game, state: State, which: string): { lines: string[]; note: string } => ({
  lines: Array.from({ length: game.rows }, (_, row) =>
    Array.from({ length: game.columns }, (_, column) => MARKS[game.cell(state, row * game.columns + column)]).join(""),
  ),
  note: `${which}, move ${state[PLY]}`,
});
