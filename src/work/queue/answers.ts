import { isOperatingError, type OperatingError } from "../../kernel/index.ts";

/** One answer for each of many: what it came to, or why it was refused. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: OperatingError };

/** Refusals concern one of them alone; anything else is a fault of the whole. */
export const each = <A, T>(all: readonly A[], run: (one: A) => T): Answer<T>[] =>
  all.map((one) => {
    try {
      return { ok: true, value: run(one) };
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      return { ok: false, error: thrown };
    }
  });

/** What the only one of them came to; its refusal is thrown. */
export const only = <T>([answer]: readonly Answer<T>[]): T => {
  if (answer!.ok) return answer!.value;
  throw answer!.error;
};
