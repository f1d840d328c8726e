/** The last so many things, oldest first. */
export interface Ring<T> {
  push(item: T): void;
  readonly size: number;
  /** Newest first, until `visit` says stop by returning false. */
  newestFirst(visit: (item: T) => boolean): void;
}

export function createRing<T>(capacity: number): Ring<T> {
  const items: T[] = [];
  let next = 0;
  return {
    push(item) {
      items[next] = item;
      next = (next + 1) % capacity;
    },
    get size() {
      return items.length;
    },
    newestFirst(visit) {
      for (let i = 1; i <= items.length; i += 1)
        if (!visit(items[(next - i + items.length * 2) % items.length]!)) return;
    },
  };
}
