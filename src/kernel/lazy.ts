/** Makes a value when it is first asked for, and only once: what a start need not pay for, such as the schema of a rare request. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The same for a table: each value is made when it is first read. */
export function lazyTable<const M extends Readonly<Record<string, () => unknown>>>(
  makers: M,
): { readonly [K in keyof M]: ReturnType<M[K]> } {
  const table = {};
  for (const [key, make] of Object.entries(makers))
    Object.defineProperty(table, key, { get: lazy(make), enumerable: true });
  return table as { readonly [K in keyof M]: ReturnType<M[K]> };
}
