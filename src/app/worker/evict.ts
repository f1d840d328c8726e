/**
 * What a node keeps of the files that jobs were given, and what goes. By rule, not by age alone: what runs stays, the champions that
 * the next jobs need go last, other models by how new they are, and of the rest the longest unused goes first. Pure.
 */

export interface CachedFile {
  readonly name: string;
  readonly bytes: number;
  /** When it was used last, in milliseconds since the epoch. */
  readonly usedMs: number;
  /** A job has it, or it is on its way. */
  readonly isBusy: boolean;
}

/** What the main process has told of models. */
export interface CacheWishes {
  /** Models that jobs of now are given: champions, and those that are measured. */
  readonly wanted: ReadonlySet<string>;
  /** All models that are known, with when each was made. */
  readonly models: ReadonlyMap<string, number>;
}

export const NO_WISHES: CacheWishes = { wanted: new Set(), models: new Map() };

export interface CacheBounds {
  readonly maxBytes: number;
  /** What nobody has used since, and no job of now is given, goes however much room there is. */
  readonly idleBefore: number;
}

/** The lower, the sooner it goes: files of one job, then models, then those that the next job is given. */
const rankOf = ({ name }: CachedFile, { wanted, models }: CacheWishes): number =>
  wanted.has(name) ? 2 : models.has(name) ? 1 : 0;

/** Which files go, in the order in which they do. */
export function whatGoes(
  files: readonly CachedFile[],
  wishes: CacheWishes,
  { maxBytes, idleBefore }: CacheBounds,
): CachedFile[] {
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const ranked = files
    .filter(({ isBusy }) => !isBusy)
    .map((file) => {
      const rank = rankOf(file, wishes);
      return { file, rank, age: rank === 1 ? wishes.models.get(file.name)! : file.usedMs };
    })
    .sort((a, b) => a.rank - b.rank || a.age - b.age || (a.file.name < b.file.name ? -1 : 1));
  const goes: CachedFile[] = [];
  for (const { file, rank } of ranked) {
    const isIdle = rank < 2 && file.usedMs < idleBefore;
    if (bytes <= maxBytes && !isIdle) continue;
    goes.push(file);
    bytes -= file.bytes;
  }
  return goes;
}
