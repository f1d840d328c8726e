import { MAX_PARTS } from "./limits.ts";

/** One job's worth of games. Its place among the games of the iteration decides its seeds, whoever plays it and when. */
export type GameRange = {
  readonly part: string;
  readonly first_game: number;
  readonly games: number;
};

const partIndex = (part: string): number => Number(part.slice(1));
export const byPart = (a: { readonly part: string }, b: { readonly part: string }): number =>
  partIndex(a.part) - partIndex(b.part);

/** The games of an iteration, cut into jobs: always the same way. */
export function cutIntoJobs(games: number, gamesPerJob: number): GameRange[] {
  const each = Math.max(gamesPerJob, Math.ceil(games / MAX_PARTS));
  return Array.from({ length: Math.ceil(games / each) }, (_, index) => ({
    part: `p${index}`,
    first_game: index * each,
    games: Math.min(each, games - index * each),
  }));
}
