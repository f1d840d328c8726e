import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import { issueText } from "../../events/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import type { Door } from "./access.ts";
import { readBytes } from "./bytes.ts";

export type Env = {
  Bindings: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse; readonly cameBy: Door };
};

/** Reads what came from outside; says which field is wrong. */
export const parse = <T extends z.ZodType>(what: T, value: unknown, whole = "body"): z.output<T> => {
  const read = what.safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0]!;
  throw OperatingError.invalid("INVALID_REQUEST", `${issue.path.join(".") || whole}: ${issueText(issue.message)}`);
};

/** Each key of a query with its value, or with all of them where it is said more than once. */
export function queryOf(url: string): Record<string, string | string[]> {
  const all = new URL(url).searchParams;
  return Object.fromEntries(
    [...new Set(all.keys())].map((key) => {
      const values = all.getAll(key);
      return [key, values.length === 1 ? values[0]! : values];
    }),
  );
}

/** A request's body as text, of at most so many bytes. */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = () =>
    OperatingError.denied("PAYLOAD_TOO_LARGE", `this request may have ${maxBytes} bytes`, { status: 413 });
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const bytes = await readBytes(request, maxBytes, tooLarge);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw OperatingError.invalid("INVALID_REQUEST", "the body is not UTF-8", { cause });
  }
}

const MAX_DEPTH = 200;

/** Where the string ends that begins at a quote; the end of the text if it does not. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/**
 * Counts brackets before anybody walks through what they enclose: what walks, walks recursively. Strings are passed by, since a
 * body may be megabytes of them, and everybody waits.
 */
function assertShallow(text: string): void {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const at = text.charCodeAt(i);
    if (at === 34) i = endOfString(text, i);
    else if (at === 91 || at === 123) {
      depth += 1;
      if (depth > MAX_DEPTH)
        throw OperatingError.invalid("INVALID_REQUEST", `the body is nested more than ${MAX_DEPTH} deep`);
    } else if (at === 93 || at === 125) depth -= 1;
  }
}

export function jsonOf(text: string): unknown {
  if (text === "") return {};
  assertShallow(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw OperatingError.invalid("INVALID_REQUEST", "the body is not JSON", { cause });
  }
}

export const isJson = (contentType: string): boolean =>
  /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(contentType);

/** The caller's own id of this request where it is one, so that both sides' logs can be laid side by side. */
export const requestIdOf = (given = "", make: () => string): string =>
  /^[\w.:-]{1,100}$/.test(given) ? given : make();
