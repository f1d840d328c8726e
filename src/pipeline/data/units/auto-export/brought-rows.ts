/** Rows of games that were made elsewhere: each is in one training file. */
import type { ConfigLook } from "../../../stage/index.ts";
import { type BroughtExports, broughtExports, consolidations, type FreshRows } from "../../tables.ts";

/** What the next training file has beside the rows of its iteration. */
export function broughtFor({ row }: Pick<ConfigLook, "row">): readonly FreshRows[] {
  const exported = new Set(row(broughtExports)?.files);
  return (row(consolidations)?.fresh ?? []).filter(({ sha256 }) => !exported.has(sha256));
}

/** A file is remembered until nobody could ask for it any more. */
const MAX_REMEMBERED = 500;

export const exportedNow = (known: BroughtExports | undefined, files: readonly string[]): BroughtExports => ({
  files: [...new Set([...(known?.files ?? []), ...files])].slice(-MAX_REMEMBERED),
});
