import { hash } from "node:crypto";
import { COLUMNS, type Samples } from "../net/samples.ts";
import type { GameRecord, SelfPlayResult } from "../play/self-play.ts";

/**
 * Which games are played again: a share of them and at least one, by a hash of what they are in, so that every validator
 * chooses the same ones and nobody chooses by hand.
 */
export function chosenGames(games: number, share: number, key: string): number[] {
  const wanted = Math.min(games, Math.max(1, Math.ceil(games * share)));
  return Array.from({ length: games }, (_, index) => ({ index, draw: hash("sha256", `${key}/${index}`, "hex") }))
    .sort((a, b) => (a.draw < b.draw ? -1 : 1))
    .slice(0, wanted)
    .map(({ index }) => index)
    .sort((a, b) => a - b);
}

/** Whether a game that was played again is the recorded one: move by move, and number by number in each of its rows. */
export function isSameGame(
  { games, samples: again }: SelfPlayResult,
  record: GameRecord,
  samples: Samples,
  rows: readonly number[],
): boolean {
  const [played] = games;
  if (played === undefined || played.seed !== record.seed || played.outcome !== record.outcome) return false;
  if (Buffer.compare(played.moves, record.moves) !== 0 || again.count !== rows.length) return false;
  // Its number is that of its place in the file, and no part of the game.
  const compared = COLUMNS.filter(([column]) => column !== "game");
  return rows.every((row, i) =>
    compared.every(([column, , side]) => {
      const width = side === undefined ? 1 : samples[side];
      for (let k = 0; k < width; k += 1)
        if (samples[column][row * width + k] !== again[column][i * width + k]) return false;
      return true;
    }),
  );
}
