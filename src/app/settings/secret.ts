/** Secrets come by file: an environment shows in process lists, crash reports and the children's children. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Kind, Reading } from "./kinds.ts";

/** A text that is never printed by accident: as text and as JSON it says that it is a secret. */
export interface Secret {
  reveal(): string;
  toString(): string;
  toJSON(): string;
}

const HIDDEN = "(secret)";
const LEAST_CHARACTERS = 16;
const MOST_BYTES = 4_096;

const secretOf = (text: string): Secret => ({ reveal: () => text, toString: () => HIDDEN, toJSON: () => HIDDEN });

/** The path itself is not repeated either: whoever puts the secret there by mistake finds it in no log. */
function readSecret(path: string): Reading<Secret> {
  try {
    const about = statSync(path);
    if (!about.isFile()) return { refused: "names no regular file" };
    if (about.size > MOST_BYTES) return { refused: `names a file of more than ${MOST_BYTES} bytes` };
    const text = readFileSync(path, "utf8").trim();
    if (!/^[\x21-\x7e]*$/.test(text)) return { refused: "names a file whose text is not one line without blanks" };
    if (text.length < LEAST_CHARACTERS)
      return { refused: `names a file whose secret has fewer than ${LEAST_CHARACTERS} characters` };
    return { value: secretOf(text) };
  } catch (thrown) {
    return { refused: `names no file that can be read (${(thrown as NodeJS.ErrnoException).code})` };
  }
}

/** A setting that is the path of a file with the secret, and nothing, where it may be missing. */
export const secretFile = (): Kind<Secret | undefined> => {
  const read = (value: unknown, base: string): Reading<Secret> =>
    typeof value === "string" && !value.includes("\0")
      ? readSecret(resolve(base, value))
      : { refused: "is not a path" };
  return {
    expects: "the path of a file with a secret",
    range: `a path of a file: one line of ${LEAST_CHARACTERS} to ${MOST_BYTES} characters`,
    secret: true,
    fromText: read,
    fromJson: read,
    show: (value) => (value === undefined ? null : HIDDEN),
  };
};
