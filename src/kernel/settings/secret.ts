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
const MAX_DOCUMENT_BYTES = 16_384;

interface SecretForm {
  /** It is a document, as a provider hands it out, and not one word. */
  readonly isDocument?: boolean;
}

const secretOf = (text: string): Secret => ({ reveal: () => text, toString: () => HIDDEN, toJSON: () => HIDDEN });

/** The path itself is not repeated either: whoever puts the secret there by mistake finds it in no log. */
function readSecret(path: string, { isDocument = false }: SecretForm): Reading {
  try {
    const maxBytes = isDocument ? MAX_DOCUMENT_BYTES : MAX_BYTES;
    const about = statSync(path);
    if (!about.isFile()) return { refused: "names no regular file" };
    if (about.size > maxBytes) return { refused: `names a file of more than ${maxBytes} bytes` };
    const text = readFileSync(path, "utf8").trim();
    if (isDocument && !/^[\x20-\x7e\r\n\t]*$/.test(text))
      return { refused: "names a file that holds more than plain text" };
    if (!isDocument && !/^[\x21-\x7e]*$/.test(text))
      return { refused: "names a file whose text is not one line without blanks" };
    if (text.length < MIN_CHARACTERS)
      return { refused: `names a file whose secret has fewer than ${MIN_CHARACTERS} characters` };
    return { value: secretOf(text) };
  } catch (thrown) {
    return { refused: `names no file that can be read (${(thrown as NodeJS.ErrnoException).code})` };
  }
}

/** A setting that is the path of a file with the secret, and nothing, where it may be missing. */
export const secretFile = (
  row: Omit<Row<undefined>, "default">,
  form: SecretForm = {},
): Setting<Secret | undefined> => {
  const read = (value: unknown, base: string): Reading =>
    typeof value === "string" && !value.includes("\0")
      ? readSecret(resolve(base, value), form)
      : { refused: "is not a path" };
  const kind: Kind<Secret | undefined> = {
    expects: "the path of a file with a secret",
    range: form.isDocument
      ? `a path of a file: text of ${MIN_CHARACTERS} to ${MAX_DOCUMENT_BYTES} characters`
      : `a path of a file: one line of ${MIN_CHARACTERS} to ${MAX_BYTES} characters`,
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
