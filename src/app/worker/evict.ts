/**
 * What a node keeps of the files that jobs were given, and what goes. By rule, not by age alone: what runs stays, the newest models,
 * which the next jobs need, go last, and of the rest the longest unused goes first. Pure.
 */

export interface CachedFile {
  readonly name: string;
  readonly bytes: number;
  /** When it was used last, in milliseconds since the epoch. */
  readonly usedMs: number;
  /** A job has it, or it is on its way. */
  readonly isBusy: boolean;
}

export interface CacheBounds {
  readonly maxBytes: number;
  /** What nobody has used since goes however much room there is. */
  readonly idleBefore: number;
}

/** Which files go, in the order in which they do. `newest`: models, the newest first. */
export function whatGoes(
  files: readonly CachedFile[],
  newest: readonly string[],
  { maxBytes, idleBefore }: CacheBounds,
): CachedFile[] {
  let bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  /** Files of one job before models, and older models before newer ones. */
  const rankOf = ({ name }: CachedFile): number => (newest.includes(name) ? newest.length - newest.indexOf(name) : 0);
  const ranked = files
    .filter(({ isBusy }) => !isBusy)
    .map((file) => ({ file, rank: rankOf(file) }))
    .sort((a, b) => a.rank - b.rank || a.file.usedMs - b.file.usedMs || (a.file.name < b.file.name ? -1 : 1));
  const goes: CachedFile[] = [];
  for (const { file } of ranked) {
    if (bytes <= maxBytes && file.usedMs >= idleBefore) continue;
    goes.push(file);
    bytes -= file.bytes;
  }
  return goes;
}
