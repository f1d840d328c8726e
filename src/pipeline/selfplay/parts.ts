/** One job's worth of games. Its place among the games of the iteration decides its seeds, whoever plays it and when. */
export type Part = {
  readonly part: string;
  readonly first_game: number;
  readonly games: number;
};

/** More jobs than this for one iteration would only be books: they get larger instead. */
export const MOST_PARTS = 500;

const partName = (index: number): string => `p${index}`;
const partIndex = (part: string): number => Number(part.slice(1));
export const byPart = (a: { readonly part: string }, b: { readonly part: string }): number =>
  partIndex(a.part) - partIndex(b.part);

/** The games of an iteration, cut into jobs: always the same way. */
export function partsOf(games: number, gamesPerJob: number): Part[] {
  const each = Math.max(gamesPerJob, Math.ceil(games / MOST_PARTS));
  return Array.from({ length: Math.ceil(games / each) }, (_, index) => ({
    part: partName(index),
    first_game: index * each,
    games: Math.min(each, games - index * each),
  }));
}
