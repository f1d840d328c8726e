/** "Did you mean ...?": the known names nearest to a mistyped one. */

const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let best = i;
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const value = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + cost);
      row.push(value);
      if (value < best) best = value;
    }
    if (best > limit) return limit + 1;
    previous = row;
  }
  return previous[b.length]!;
};

/** A name that holds what was typed, or the other way round; of short words, one that begins with it. */
const isPart = (needle: string, other: string): boolean =>
  needle.length >= 4
    ? other.includes(needle) || needle.includes(other)
    : needle.length >= 2 && other.split(/[_.\s-]/).some((word) => word.startsWith(needle));

/** At most three names, nearest first; names that share a long run of words count as near. */
export function suggest(wrong: string, known: Iterable<string>, max = 3): string[] {
  const needle = wrong.slice(0, 100).toUpperCase();
  const limit = Math.max(2, Math.floor(needle.length / 3));
  const scored: { name: string; score: number }[] = [];
  for (const name of new Set(known)) {
    const other = name.toUpperCase();
    if (other === needle) return [name];
    const d = distance(needle, other, limit);
    if (d <= limit) scored.push({ name, score: d });
    else if (isPart(needle, other)) scored.push({ name, score: limit + 1 });
  }
  const [nearest, ...others] = scored.sort((x, y) => x.score - y.score || (x.name < y.name ? -1 : 1));
  if (nearest === undefined) return [];
  // Beside one that is a slip of the finger away, those that merely look alike are noise.
  return [nearest, ...others.filter(({ score }) => score <= nearest.score + 1)].slice(0, max).map(({ name }) => name);
}

export const didYouMean = (wrong: string, known: Iterable<string>): string => {
  const names = suggest(wrong, known);
  return names.length === 0 ? "" : ` Did you mean ${names.join(" or ")}?`;
};

const MAX_NAMED = 5;

/** What to say where an id means several things: those that it could be. */
export const sayWhich = (ids: readonly string[]): string => {
  const more = ids.length - MAX_NAMED;
  return `Say which: ${ids.slice(0, MAX_NAMED).join(", ")}${more > 0 ? `, or one of ${more} more` : ""}.`;
};
