/** Requests to a node or the coordinator: proven, bounded, and with errors in the codes of this house. */
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { isOperatingError, kindOfStatus, messageOf, OperatingError, whenPinned } from "../../../kernel/index.ts";
import type { Wanted } from "../../../sync/index.ts";
import { textOf } from "../answer-text.ts";
import { rawAnswer } from "./raw-answer.ts";

/** Connections to one place; what is more waits for one of them. */
const CONNECTIONS = 8;

export interface AskerOptions {
  readonly url: string;
  /** In words. */
  readonly place: string;
  /** SHA-256 of the one certificate that is right, in hex; who signed it does not matter then. */
  readonly fingerprint?: string | undefined;
  /** Certificates in PEM that are trusted instead of the system's. */
  readonly ca?: string | undefined;
  /** Another way to a connection, such as through a relay. */
  readonly agent?: Agent | undefined;
  /** What proves that this request is ours. */
  readonly prove: (method: string, path: string) => Readonly<Record<string, string>>;
}

export interface Asked {
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of those of `prove`. */
  readonly proof?: Readonly<Record<string, string>>;
}

export interface Asker {
  /** The answer, if it is a good one; a refusal is thrown as the error that it was over there. */
  ask(method: string, path: string, signal: AbortSignal, asked?: Asked): Promise<IncomingMessage>;
  /** The bytes of an artifact from `start` on, if the answer is about just those. */
  bytesOf(answer: IncomingMessage, wanted: Wanted, start: number): AsyncIterable<Uint8Array>;
  /** The same as `ask` and `bytesOf` for many bytes; they are lent until the next ones are asked for. */
  lend(method: string, path: string, signal: AbortSignal, body: Buffer): AsyncIterable<Uint8Array>;
  close(): void;
}

/** What is read as one pack at most; what may be in it is for who unpacks it: it knows what was asked for. */
const MAX_LENT_BYTES = 128 * 1_024 ** 2;

/** What was refused, as the error that it was over there. */
function refusalIn(text: string, status: number, place: string): OperatingError {
  let said: { code?: unknown; detail?: unknown; retryable?: unknown; details?: unknown } = {};
  try {
    said = (JSON.parse(text) as typeof said | null) ?? {};
  } catch {
    // Something in between answered in its own words: the status tells all there is.
  }
  const code = typeof said.code === "string" ? said.code.slice(0, 100) : "UNEXPECTED_ANSWER";
  const detail = typeof said.detail === "string" ? said.detail.slice(0, 500) : `the answer was ${status}`;
  return new OperatingError(kindOfStatus(status), code, `${place}: ${detail}`, {
    status,
    retryable: typeof said.retryable === "boolean" ? said.retryable : status >= 500 || status === 429,
    details: { ...said, ...(typeof said.details === "object" ? said.details : {}) },
  });
}

const another = (found: string): Error =>
  OperatingError.denied("WRONG_CERTIFICATE", `another certificate is shown (${found})`);

/** Whom a connection over TLS is made to, before its certificate is looked at. */
export const trustFor = ({ fingerprint, ca }: Pick<AskerOptions, "fingerprint" | "ca">) =>
  fingerprint === undefined ? (ca === undefined ? {} : { ca }) : { rejectUnauthorized: false };

/** Ends a request to somebody who shows another certificate than the one that is right. */
export function pinned(outgoing: ClientRequest, fingerprint: string | undefined): void {
  if (fingerprint !== undefined) whenPinned(outgoing, fingerprint, another);
}

export function createAsker({ url, place, fingerprint, ca, agent: given, prove }: AskerOptions): Asker {
  const base = new URL(url);
  const isTls = base.protocol === "https:";
  const keep = { keepAlive: true, maxSockets: CONNECTIONS };
  // A session that is resumed shows no certificate that could be looked at.
  const agent = given ?? (isTls ? new TlsAgent({ ...keep, maxCachedSessions: 0 }) : new Agent(keep));
  const unreachable = (thrown: unknown) =>
    OperatingError.unavailable("PLACE_UNREACHABLE", `${place} does not answer: ${messageOf(thrown)}`, {
      cause: thrown,
    });

  const start = (method: string, path: string, headers: Record<string, string | number>): ClientRequest => {
    const host = base.hostname.replace(/^\[|\]$/g, "");
    const how: RequestOptions = { agent, method, path, host, port: base.port, headers };
    if (!isTls) return request(how);
    const outgoing = tlsRequest({ ...how, ...trustFor({ fingerprint, ca }) });
    pinned(outgoing, fingerprint);
    return outgoing;
  };

  const ask: Asker["ask"] = (method, path, signal, { body, headers = {}, proof } = {}) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const length = body === undefined ? {} : { "content-length": body.length };
      const outgoing = start(method, path, { ...headers, ...length, ...(proof ?? prove(method, path)) });
      // Without a reason: its connection may be another's by now, or nobody's, and nobody there would listen to one.
      const stop = () => outgoing.destroy();
      signal.addEventListener("abort", stop, { once: true });
      outgoing.once("close", () => signal.removeEventListener("abort", stop));
      outgoing.on("error", (thrown) =>
        reject(signal.aborted ? signal.reason : isOperatingError(thrown) ? thrown : unreachable(thrown)),
      );
      outgoing.once("response", (answer) => {
        // Whoever reads it is told; when nobody does any more, nobody need be.
        answer.on("error", () => undefined);
        const { statusCode: status = 500 } = answer;
        if (status < 300) return resolve(answer);
        textOf(answer).then((text) => reject(refusalIn(text, status, place)), reject);
      });
      outgoing.end(body);
    });

  /** Why these are not the bytes that were asked for. Nothing is taken that would have to be unpacked: what comes is what is counted. */
  const wrongIn = (answer: IncomingMessage, { sha256, bytes }: Wanted, from: number): OperatingError | undefined => {
    const {
      "content-encoding": encoding = "identity",
      "content-range": range,
      "content-length": length,
    } = answer.headers;
    const said = { details: { place } };
    if (encoding !== "identity")
      return OperatingError.invalid(
        "UNEXPECTED_ANSWER",
        `${place} answers in '${encoding.slice(0, 40)}', unasked`,
        said,
      );
    if (from > 0 && !range?.startsWith(`bytes ${from}-`))
      return OperatingError.invalid("UNEXPECTED_ANSWER", `${place} sends another range than was asked for`, said);
    if (Number(length) > bytes - from)
      return OperatingError.invalid("ARTIFACT_SIZE", `${place} has more than the ${bytes} bytes of ${sha256}`, said);
    return undefined;
  };

  const bytesOf: Asker["bytesOf"] = async function* (answer, wanted, from) {
    const wrong = wrongIn(answer, wanted, from);
    if (wrong !== undefined) {
      answer.destroy();
      throw wrong;
    }
    try {
      yield* answer as AsyncIterable<Uint8Array>;
    } catch (thrown) {
      throw unreachable(thrown);
    }
  };

  return {
    ask,
    bytesOf,
    async *lend(method, path, signal, body) {
      // A connection of another kind is read by those who know it.
      if (isTls || given !== undefined) {
        yield* bytesOf(await ask(method, path, signal, { body }), { sha256: path, bytes: MAX_LENT_BYTES }, 0);
        return;
      }
      const to = { host: base.hostname.replace(/^\[|\]$/g, ""), port: Number(base.port || 80) };
      const request = { ...to, method, path, headers: prove(method, path), body, signal };
      try {
        yield* rawAnswer(request, ({ text, status }) => refusalIn(text, status, place));
      } catch (thrown) {
        signal.throwIfAborted();
        throw isOperatingError(thrown) ? thrown : unreachable(thrown);
      }
    },
    close: () => agent.destroy(),
  };
}

/** The header that asks for all from here on. */
export const rangeFrom = (start: number): Readonly<Record<string, string>> =>
  start === 0 ? {} : { range: `bytes=${start}-` };
