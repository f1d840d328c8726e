/** What a value looks like to people and programs; never a secret. */
export type Shown = string | number | boolean | null;

/** A value in the unit that it is set in. */
export type Reading = { readonly value: unknown } | { readonly refused: string };

export interface Kind<T> {
  /** Ends the sentence "... is not": `a whole number from 1 to 100`. */
  readonly expects: string;
  /** What one of it is, where it is counted: `seconds`. */
  readonly unit?: string;
  /** The range or the choices, for the reference. */
  readonly range: string;
  /** The same for editors, as JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** A secret is named by a file; its text is in no message and in no answer. */
  readonly secret?: true;
  /** Relative paths are meant from `base`. */
  fromText(text: string, base: string): Reading;
  fromJson(value: unknown, base: string): Reading;
  show(value: unknown): Shown;
  /** From the unit that people set to the one that the parts count in, and back. */
  inside(value: unknown): T;
  outside(value: T): unknown;
}
