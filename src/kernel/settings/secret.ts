/** Secrets come by file: an environment shows in process lists, crash reports and the children's children. */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Kind, Reading } from "./kind.ts";
import { type Row, type Setting, settingOf } from "./rows.ts";

/** A text that is never printed by accident: as text and as JSON it says that it is a secret. */
export interface Secret {
  reveal(): string;
  toString(): string;
  toJSON(): string;
}

const HIDDEN = "(secret)";
const MIN_CHARACTERS = 16;
const MAX_BYTES = 4_096;

const secretOf = (text: string): Secret => ({ reveal: () => text, toString: () => HIDDEN, toJSON: () => HIDDEN });

/** The path itself is not repeated either: whoever puts the secret there by mistake finds it in no log. */
function readSecret(path: string): Reading {
  try {
    const about = statSync(path);
    if (!about.isFile()) return { refused: "names no regular file" };
    if (about.size > MAX_BYTES) return { refused: `names a file of more than ${MAX_BYTES} bytes` };
    const text = readFileSync(path, "utf8").trim();
    if (!/^[\x21-\x7e]*$/.test(text)) return { refused: "names a file whose text is not one line without blanks" };
    if (text.length < MIN_CHARACTERS)
      return { refused: `names a file whose secret has fewer than ${MIN_CHARACTERS} characters` };
    return { value: secretOf(text) };
  } catch (thrown) {
    return { refused: `names no file that can be read (${(thrown as NodeJS.ErrnoException).code})` };
  }
}

/** A setting that is the path of a file with the secret, and nothing, where it may be missing. */
export const secretFile = (row: Omit<Row<undefined>, "default">): Setting<Secret | undefined> => {
  const read = (value: unknown, base: string): Reading =>
    typeof value === "string" && !value.includes("\0")
      ? readSecret(resolve(base, value))
      : { refused: "is not a path" };
  const kind: Kind<Secret | undefined> = {
    expects: "the path of a file with a secret",
    range: `a path of a file: one line of ${MIN_CHARACTERS} to ${MAX_BYTES} characters`,
    schema: { type: "string" },
    secret: true,
    fromText: read,
    fromJson: read,
    show: (value) => (value === undefined ? null : HIDDEN),
    inside: (value) => value as Secret,
    outside: (value) => value,
  };
  return settingOf(kind, { ...row, default: undefined });
};
