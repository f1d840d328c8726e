import { handlers } from "./catalog/handlers.ts";
import { createNames, type EventNames } from "./names.ts";
import type { EventRow, PayloadInput, PayloadOutput, Rows } from "./row.ts";

/** The language of one system: rows, and the one way to resolve a name. */
export interface Catalog<R extends Rows = Rows> {
  readonly rows: R;
  readonly names: EventNames;
  row(name: string): EventRow | undefined;
}

export function createCatalog<R extends Rows>(rows: R): Catalog<R> {
  return { rows, names: createNames(rows), row: (name) => (Object.hasOwn(rows, name) ? rows[name] : undefined) };
}

/** The built-in events, one file for each domain. */
export const builtinRows = { ...handlers };
export type BuiltinRows = typeof builtinRows;

export type EventName<R = BuiltinRows> = keyof R & string;
export type PayloadOf<N extends EventName<R>, R = BuiltinRows> = PayloadOutput<R[N]>;
export type PayloadFor<N extends EventName<R>, R = BuiltinRows> = PayloadInput<R[N]>;
