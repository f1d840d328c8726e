/** An object without the keys whose value is undefined. */
type Defined<T extends object> = { [K in keyof T]?: Exclude<T[K], undefined> };

/**
 * Drops what is undefined, so that an optional field is either there with a value or not there at all: what is stored,
 * hashed or merged over defaults must not hold keys without one. Spread it: `{ id, ...defined({ note, parent }) }`.
 */
export function defined<T extends object>(given: T): Defined<T> {
  const kept: Defined<T> = {};
  for (const key of Object.keys(given) as (keyof T)[]) {
    const value = given[key];
    if (value !== undefined) kept[key] = value as Exclude<T[keyof T], undefined>;
  }
  return kept;
}
