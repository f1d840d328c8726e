import type { Catalog } from "../../events/index.ts";
import { didYouMean } from "../../kernel/index.ts";

/**
 * The canonical name of any spelling. A name that the built-in catalog does not know may be an event of the user's own,
 * which only the running process knows: it is taken as it is, with a word about what was perhaps meant.
 */
export function canonicalName(catalog: Catalog, spelling: string, note: (line: string) => void): string {
  const resolved = catalog.names.resolve(spelling);
  if (resolved === undefined) {
    note(`warning: '${spelling}' is not a built-in event.${didYouMean(spelling, Object.keys(catalog.rows))}`);
    return spelling;
  }
  if (resolved.spelling === "legacy") note(`note: '${spelling}' is an old name of ${resolved.name}`);
  return resolved.name;
}
