/** Which models that were withdrawn need not be remembered any longer. */

export type Withdrawn = { readonly reason: string; readonly at: number };

export interface CacheLimits {
  readonly keepMs: number;
  readonly max: number;
}

/** Those that were withdrawn long ago, and the oldest beyond a number: nobody brings them to nodes any more. */
export const whatToForget = (
  all: readonly (readonly [model: string, Withdrawn])[],
  now: number,
  { keepMs, max }: CacheLimits,
): string[] =>
  [...all]
    .sort(([, a], [, b]) => b.at - a.at)
    .flatMap(([model, { at }], place) => (place >= max || now - at >= keepMs ? [model] : []));
