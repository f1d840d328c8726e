/** The last so many things, oldest first. */
export interface Ring<T> {
  push(item: T): void;
  readonly size: number;
  /** Newest first, until `visit` says stop by returning false. */
  newestFirst(visit: (item: T) => boolean): void;
}

/** How much things may weigh together: the oldest go for a heavy new one, which stays in any case. */
export interface RingWeight<T> {
  readonly max: number;
  readonly of: (item: T) => number;
}

export function createRing<T>(capacity: number, weight?: RingWeight<T>): Ring<T> {
  let items: T[] = [];
  let first = 0;
  let held = 0;
  const weightOf = (item: T) => weight?.of(item) ?? 0;
  const isOver = (size: number) => size > capacity || (size > 1 && held > (weight?.max ?? held));
  return {
    push(item) {
      items.push(item);
      held += weightOf(item);
      while (isOver(items.length - first)) {
        held -= weightOf(items[first]!);
        items[first] = undefined as T;
        first += 1;
      }
      if (first <= capacity) return;
      items = items.slice(first);
      first = 0;
    },
    get size() {
      return items.length - first;
    },
    newestFirst(visit) {
      for (let i = items.length - 1; i >= first; i -= 1) if (!visit(items[i]!)) return;
    },
  };
}
