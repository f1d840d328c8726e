/** The newest of a series and, of all before it, at most so many that are as far apart: a long one keeps its shape. */
export interface Thinned<T> {
  add(one: T): void;
  /** What there is, oldest first; it begins anew. */
  take(): T[];
}

export function thinned<T>(max: number): Thinned<T> {
  let kept: T[] = [];
  let seen = 0;
  let apart = 1;
  return {
    add(one) {
      // The newest is kept until the next one comes, wherever it stands.
      if (seen % apart !== 0) kept.pop();
      seen += 1;
      kept.push(one);
      if (kept.length < max) return;
      kept = kept.filter((_, i) => i % 2 === 1);
      apart *= 2;
    },
    take() {
      const all = kept;
      kept = [];
      seen = 0;
      apart = 1;
      return all;
    },
  };
}
