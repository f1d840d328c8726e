/**
 * How the clients of clouds ask: over HTTPS with the account's key, at the pace that the provider allows, with bounds on all that comes
 * back. Every answer is checked against a schema; every failure is one of the errors that the ledger understands. The key is in no text.
 */
import type { z } from "zod";
import { providerErrors } from "../../cluster/fleet/index.ts";
import { type Clock, messageOf, sleep } from "../../kernel/index.ts";

export interface ProviderAccount {
  readonly url: string;
  /** Given out only into the header of a request. */
  readonly key: { reveal(): string };
  readonly clock: Clock;
}

/** What a refused request means, where its status alone does not say it. */
export type Refusal = "sold_out" | "missing" | "busy" | "unsure";

interface ProviderHttpOptions extends ProviderAccount {
  readonly name: string;
  /** Least time between two requests. */
  readonly paceMs: number;
  /** Reads what a refusal means from its status and text; undefined leaves it to the status. */
  readonly refusalOf: (status: number, text: string) => Refusal | undefined;
}

interface Ask<S extends z.ZodType> {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly answer: S;
  readonly signal: AbortSignal;
}

const MAX_BYTES = 16 * 1_024 * 1_024;
const MAX_TEXT = 200;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Lets through one after the other, each so long after the one before. */
export function createPace(clock: Clock, everyMs: number) {
  let nextMs = 0;
  let before: Promise<unknown> = Promise.resolve();
  return {
    async wait(signal: AbortSignal): Promise<void> {
      const atMs = Math.max(clock.monotonic(), nextMs);
      nextMs = atMs + everyMs;
      const waitMs = atMs - clock.monotonic();
      if (waitMs > 0) await sleep(clock, waitMs, signal);
    },
    /** Runs one at a time, each so long after the one before was over: whatever else it waits for, none comes too soon. */
    run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      const running = before.then(async () => {
        await this.wait(signal);
        return work().finally(() => {
          nextMs = clock.monotonic() + everyMs;
        });
      });
      before = running.catch(() => undefined);
      return running;
    },
  };
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the answer has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const retryAfterOf = (response: Response): number | undefined => {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : undefined;
};

/** What a provider says goes into errors and logs: short, on one line, and never with the key in it. */
export const createQuoting =
  (key: ProviderAccount["key"]) =>
  (text: string): string =>
    text
      .replaceAll(key.reveal(), "(key)")
      .replace(/\s+/g, " ")
      .replace(/[^\x20-\x7e]/g, "?")
      .slice(0, MAX_TEXT);

export function createProviderHttp({ name, url, key, clock, paceMs, refusalOf }: ProviderHttpOptions) {
  const pace = createPace(clock, paceMs);
  const quoted = createQuoting(key);

  const send = async <S extends z.ZodType>({ method, path, query = {}, body, signal }: Ask<S>): Promise<Response> => {
    const to = new URL(path, url.endsWith("/") ? url : `${url}/`);
    for (const [field, value] of Object.entries(query))
      if (value !== undefined) to.searchParams.set(field, String(value));
    try {
      return await fetch(to, {
        method,
        headers: {
          authorization: `Bearer ${key.reveal()}`,
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // Nobody sends our key elsewhere.
        redirect: "error",
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      const reason = cause instanceof Error && cause.cause !== undefined ? messageOf(cause.cause) : messageOf(cause);
      throw providerErrors.unavailable(name, `no answer to ${method} ${path}: ${quoted(reason)}`);
    }
  };

  const refused = (status: number, text: string, retryAfterMs: number | undefined) => {
    const said = `${status} ${quoted(text)}`;
    const meaning = refusalOf(status, text);
    if (meaning === "missing") return providerErrors.notFound(name, said);
    if (meaning === "sold_out") return providerErrors.soldOut(name, said);
    if (meaning === "unsure") return providerErrors.unavailable(name, said);
    if (meaning === "busy" || status === 429) return providerErrors.busy(name, said, { retryAfterMs });
    if (status === 401 || status === 403)
      return providerErrors.denied(name, said, { hint: `Check the key of ${name}: its file, and what it may do.` });
    if (status === 404) return providerErrors.notFound(name, said);
    if (status >= 400 && status < 500 && status !== 408) return providerErrors.refused(name, said);
    return providerErrors.unavailable(name, said);
  };

  return {
    /** The checked answer. */
    async ask<S extends z.ZodType>(asked: Ask<S>): Promise<z.output<S>> {
      await pace.wait(asked.signal);
      const response = await send(asked);
      let text: string;
      try {
        text = await textOf(response);
      } catch (cause) {
        asked.signal.throwIfAborted();
        throw providerErrors.unavailable(name, `its answer broke off: ${quoted(messageOf(cause))}`);
      }
      if (!response.ok) throw refused(response.status, text, retryAfterOf(response));
      let json: unknown = null;
      if (text.trim() !== "")
        try {
          json = JSON.parse(text);
        } catch {
          throw providerErrors.answerInvalid(name, `its answer to ${asked.method} ${asked.path} is no JSON`);
        }
      const parsed = asked.answer.safeParse(json);
      if (parsed.success) return parsed.data;
      const [issue] = parsed.error.issues;
      throw providerErrors.answerInvalid(
        name,
        `its answer to ${asked.method} ${asked.path} is not as its documents say: ${issue?.path.join(".")} ${quoted(issue?.message ?? "")}`,
      );
    },
  };
}
