import { defined, isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { JobInput } from "../../process/index.ts";

/** A job whose result would be nothing. It is deterministic: trying it again gives nothing again. */
export const nothingMade = (message: string): OperatingError =>
  OperatingError.internal("ARENA_NOTHING_MADE", message, { hint: "Check the input of the job." });

/** Says which input it was that could not be read; the code stays that of the fault. */
export async function naming<T>({ name, sha256 }: JobInput, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    const { kind, code, message, retryable, hint } = thrown;
    throw new OperatingError(kind, code, `Input "${name}" (${sha256.slice(0, 12)}): ${message}`, {
      cause: thrown,
      retryable,
      ...defined({ hint }),
    });
  }
}
