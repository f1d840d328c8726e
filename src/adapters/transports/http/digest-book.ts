/** What files hash to at their edges: it takes a look at every byte, and many ask for the same one at the same time. */

const MAX_KEPT = 64;

export function createDigestBook() {
  const kept = new Map<string, Promise<readonly string[]>>();
  return (key: string, make: () => Promise<readonly string[]>): Promise<readonly string[]> => {
    const known = kept.get(key);
    if (known !== undefined) return known;
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!);
    const made = make();
    kept.set(key, made);
    made.catch(() => kept.delete(key));
    return made;
  };
}
