const SHOWN = 8;

const some = (mark: string, lines: readonly string[]): string[] => [
  ...lines.slice(0, SHOWN).map((line) => `  ${mark} ${line.length > 200 ? `${line.slice(0, 200)} ...` : line}`),
  ...(lines.length > SHOWN ? [`  ${mark} (and ${lines.length - SHOWN} more lines)`] : []),
];

/** Where two texts begin to differ and what stands there in each, in a few lines. Empty when they are the same. */
export function shortDiff(before: string, after: string): string {
  if (before === after) return "";
  const [old, now] = [before.split("\n"), after.split("\n")];
  const least = Math.min(old.length, now.length);
  let start = 0;
  while (start < least && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < least - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  return [
    `  at line ${start + 1}:`,
    ...some("-", old.slice(start, old.length - end)),
    ...some("+", now.slice(start, now.length - end)),
  ].join("\n");
}
