/** Who waits for whom, as the locks and their queues say. */

/** One holder that waits, for which lock, and who must let go of it first: who has it, and who stands before it. */
export interface Wait {
  readonly holder: string;
  readonly lock: string;
  readonly before: readonly string[];
}

/** A ring of holders, each with the lock that it waits for; the next one in the ring stands before it there. */
export type Ring = readonly Pick<Wait, "holder" | "lock">[];

/** The shortest ring that this wait closes; undefined when everybody before it can still go on. */
export function findRing(closing: Wait, waits: readonly Wait[]): Ring | undefined {
  const waitsOf = Map.groupBy(waits, ({ holder }) => holder);
  const seen = new Set<string>();
  let paths: { readonly wait: Wait; readonly path: Ring }[] = [
    { wait: closing, path: [{ holder: closing.holder, lock: closing.lock }] },
  ];
  while (paths.length > 0) {
    const next: typeof paths = [];
    for (const { wait, path } of paths)
      for (const holder of wait.before) {
        if (holder === closing.holder) return path;
        if (seen.has(holder)) continue;
        seen.add(holder);
        for (const further of waitsOf.get(holder) ?? [])
          next.push({ wait: further, path: [...path, { holder, lock: further.lock }] });
      }
    paths = next;
  }
  return undefined;
}
