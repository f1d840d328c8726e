const SHOWN = 8;

const some = (mark: string, lines: readonly string[]): string[] => [
  ...lines.slice(0, SHOWN).map((line) => `  ${mark} ${line.length > 200 ? `${line.slice(0, 200)} ...` : line}`),
  ...(lines.length > SHOWN ? [`  ${mark} (and ${lines.length - SHOWN} more lines)`] : []),
];

/** The lines of one side that the other does not have. */
function only(lines: readonly string[], other: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const line of other) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** Where two texts begin to differ and which lines only one of them has, in a few lines. Empty when they are the same. */
export function shortDiff(before: string, after: string): string {
  if (before === after) return "";
  const [old, now] = [before.split("\n"), after.split("\n")];
  const start = old.findIndex((line, index) => line !== now[index]);
  const [gone, come] = [only(old, now), only(now, old)];
  return [
    `  from line ${(start < 0 ? old.length : start) + 1}:`,
    ...some("-", gone),
    ...some("+", come),
    ...(gone.length + come.length === 0 ? ["  the same lines in another order"] : []),
  ].join("\n");
}
