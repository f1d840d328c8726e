/** The value of a figure: one, or one for each value of its first label, and so on with the next. */
export type Reading = number | undefined | { readonly [label: string]: Reading };
export type Define = (
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => Reading | Promise<Reading>,
) => void;
