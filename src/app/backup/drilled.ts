import type { booksOf } from "../../sync/index.ts";

/** What was found in a folder that was restored and started from, or why that was not possible. */
export type Drilled =
  | {
      readonly books: ReturnType<typeof booksOf>;
      /** Files that the catalog counts on and that are not there. */
      readonly lost: readonly string[];
    }
  | { readonly error: string };
