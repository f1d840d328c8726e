/**
 * The line of a worker to its main process: over the Unix socket of this machine, or over HTTPS to another one, signed with
 * the node's key. It only dials out. Signs of life and results have connections of their own, so that they never wait
 * behind claims that are kept open or behind files.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { BODY_HASH_HEADER, NODE_HEADER } from "../../cluster/index.ts";
import { type Clock, messageOf, OperatingError } from "../../kernel/index.ts";
import { hashOfBody, type NodeKey } from "./node-link-signature.ts";

/** Which connections a request may use. */
export type LineClass = "beat" | "claim" | "file";

export interface SendOptions {
  readonly line?: LineClass;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Body {
  /** Made anew for each try. */
  readonly open: () => Readable;
  readonly bytes: number;
  readonly sha256: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface NodeLink {
  /** Whether the main process runs on this machine and shares its folder. */
  readonly isLocal: boolean;
  send<T>(method: string, path: string, body?: unknown, options?: SendOptions): Promise<T>;
  /** Headers of the answer; undefined if there is no such thing. */
  head(path: string, options?: SendOptions): Promise<Readonly<Record<string, string>> | undefined>;
  put(path: string, body: Body, options?: SendOptions): Promise<void>;
  /** The answer as a stream. */
  get(path: string, options?: SendOptions): Promise<Readable>;
  close(): void;
}

export interface TlsTrust {
  /** Certificates in PEM that are trusted instead of the system's. */
  readonly ca?: string;
  /** SHA-256 of the one certificate that is right, in hex; who signed it does not matter then. */
  readonly fingerprint?: string;
}

export type LinkTarget =
  /** Asked for before each connection: a main process that was started again may listen elsewhere. */
  { readonly socketPath: () => string } | { readonly url: URL; readonly trust: TlsTrust };

export interface LinkOptions {
  readonly target: LinkTarget;
  readonly clock: Clock;
  /** How the node signs; none over the Unix socket. */
  readonly identity?: { readonly key: NodeKey; readonly incarnation: number };
  /** For the one request before there is an identity. */
  readonly token?: string;
}

const MOST_ANSWER_BYTES = 64 * 1_024 * 1_024;
const TIMEOUT_MS = 30_000;
const CONNECTIONS: Readonly<Record<LineClass, number>> = { beat: 4, claim: 2, file: 2 };

const unreachable = (cause: unknown) =>
  new OperatingError("UNREACHABLE", `the main process does not answer: ${messageOf(cause)}`, {
    cause,
    retryable: true,
    hint: "Is it running, and can this machine reach it? Nothing is lost meanwhile.",
  });

interface ProblemLike {
  readonly code?: string;
  readonly detail?: string;
  readonly retryable?: boolean;
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function problemOf(text: string, status: number): OperatingError {
  let problem: ProblemLike = {};
  try {
    problem = JSON.parse(text) as ProblemLike;
  } catch {
    // A proxy answered in its own words: the status tells all there is.
  }
  return new OperatingError(problem.code ?? "UNEXPECTED_ANSWER", problem.detail ?? `the answer was ${status}`, {
    // What is no problem document comes from something in between, and may be better in a moment.
    retryable: problem.retryable ?? (problem.code === undefined || status >= 500 || status === 429),
    ...(problem.hint === undefined ? {} : { hint: problem.hint }),
    details: { ...(problem as Record<string, unknown>), ...problem.details, status },
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MOST_ANSWER_BYTES) throw new OperatingError("UNEXPECTED_ANSWER", "the answer is too large");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

const normal = (fingerprint: string): string => fingerprint.replace(/[^0-9a-f]/gi, "").toLowerCase();

/** Who is there instead of whom we know: nothing was said to it. */
const checkPinned = (socket: TLSSocket, wanted: string): Error | undefined => {
  const found = normal(socket.getPeerCertificate().fingerprint256 ?? "");
  if (found === wanted) return undefined;
  return new OperatingError("WRONG_CERTIFICATE", `the main process shows another certificate (${found || "none"})`, {
    hint: "If it has a new one, join again with its --fingerprint; otherwise somebody stands in between.",
  });
};

interface Raw {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | number>;
  readonly bodyHash: string;
  readonly write: (outgoing: ClientRequest) => void;
}

export function openLink({ target, clock, identity, token }: LinkOptions): NodeLink {
  const isTls = "url" in target && target.url.protocol === "https:";
  const keep = { keepAlive: true, noDelay: true } as ConstructorParameters<typeof HttpAgent>[0];
  const wanted = "url" in target && target.trust.fingerprint ? normal(target.trust.fingerprint) : undefined;
  const agents = new Map(
    (Object.keys(CONNECTIONS) as LineClass[]).map((line) => {
      const more = { ...keep, maxSockets: CONNECTIONS[line] };
      // A session that is resumed shows no certificate that could be looked at.
      return [line, isTls ? new HttpsAgent({ ...more, maxCachedSessions: 0 }) : new HttpAgent(more)];
    }),
  );
  let counter = 0;
  let boot = "";

  const start = ({ method, path, headers }: Raw, line: LineClass): ClientRequest => {
    const agent = agents.get(line);
    if ("socketPath" in target) return httpRequest({ agent, method, path, headers, socketPath: target.socketPath() });
    const { hostname, port, protocol } = target.url;
    const base = { agent, method, path, headers, host: hostname.replace(/^\[|\]$/g, ""), port: port || undefined };
    if (protocol === "http:") return httpRequest(base);
    const outgoing = httpsRequest({
      ...base,
      ...(target.trust.ca === undefined ? {} : { ca: target.trust.ca }),
      // A pinned certificate is checked by itself, before anything is written.
      ...(wanted === undefined ? {} : { rejectUnauthorized: false }),
    });
    if (wanted !== undefined)
      outgoing.once("socket", (socket) => {
        const check = () => {
          const wrong = checkPinned(socket as TLSSocket, wanted);
          if (wrong !== undefined) outgoing.destroy(wrong);
        };
        if (socket.connecting) socket.prependOnceListener("secureConnect", check);
        else check();
      });
    return outgoing;
  };

  const answerTo = (raw: Raw, { line = "beat", timeoutMs = TIMEOUT_MS, signal }: SendOptions) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      let outgoing: ClientRequest;
      try {
        outgoing = start(raw, line);
      } catch (thrown) {
        return reject(thrown instanceof OperatingError ? thrown : unreachable(thrown));
      }
      // A connection that is half open says nothing for ever: the limit is for the whole answer to begin.
      const late = clock.after(timeoutMs, () => outgoing.destroy(new Error("no answer in time")));
      const abort = () => outgoing.destroy(new Error("it is not waited for any more"));
      const settle = () => {
        late.cancel();
        signal?.removeEventListener("abort", abort);
      };
      outgoing.once("response", (answer) => {
        settle();
        // The rest of the answer has as long again.
        const rest = clock.after(timeoutMs, () => answer.destroy(new Error("the answer broke off")));
        answer.once("close", () => rest.cancel());
        resolve(answer);
      });
      outgoing.once("error", (cause) => {
        settle();
        reject(cause instanceof OperatingError ? cause : unreachable(cause));
      });
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
      if (wanted === undefined) raw.write(outgoing);
      // Not a byte of it goes to somebody whose certificate was not looked at.
      else
        outgoing.once("socket", (socket) => {
          if (socket.connecting) socket.once("secureConnect", () => raw.write(outgoing));
          else raw.write(outgoing);
        });
    });

  const proof = ({ method, path, bodyHash }: Raw): Record<string, string> => {
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    if (identity === undefined) return {};
    counter += 1;
    const { key, incarnation } = identity;
    const issuedAt = Math.floor(clock.now() / 1_000);
    const claim = { incarnation, counter, issuedAt, boot };
    return { [NODE_HEADER]: key.sign(claim, { method, path, bodySha256: bodyHash }) };
  };

  /** A main process that was started again does not take what was signed for the one before. */
  const call = async (raw: Raw, options: SendOptions): Promise<IncomingMessage> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await answerTo({ ...raw, headers: { ...raw.headers, ...proof(raw) } }, options);
      const status = answer.statusCode ?? 500;
      if (status < 400) return answer;
      if (raw.method === "HEAD" && status === 404) return answer;
      const problem = problemOf(await textOf(answer).catch(() => ""), status);
      const { boot: current } = problem.details;
      const isStale = problem.code === "NODE_SESSION_STALE" && typeof current === "string" && current !== boot;
      if (!isStale || tries > 2) throw problem;
      boot = current;
    }
  };

  return {
    isLocal: "socketPath" in target,
    async send<T>(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<T> {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await call(
        {
          method,
          path,
          bodyHash: hashOfBody(text),
          headers:
            text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
          write: (outgoing) => void outgoing.end(text),
        },
        options,
      );
      try {
        return JSON.parse(await textOf(answer)) as T;
      } catch (cause) {
        throw unreachable(cause);
      }
    },
    async head(path, options = {}) {
      const answer = await call(
        {
          method: "HEAD",
          path,
          bodyHash: hashOfBody(undefined),
          headers: {},
          write: (outgoing) => void outgoing.end(),
        },
        options,
      );
      answer.resume();
      return answer.statusCode === 404 ? undefined : (answer.headers as Record<string, string>);
    },
    async put(path, { open, bytes, sha256, headers = {} }, options = {}) {
      const answer = await call(
        {
          method: "PUT",
          path,
          bodyHash: sha256,
          headers: {
            "content-type": "application/octet-stream",
            "content-length": bytes,
            // Known beforehand, a part that is cut off need not be sent again.
            [BODY_HASH_HEADER]: sha256,
            ...headers,
          },
          write(outgoing) {
            const source = open();
            source.once("error", (cause) => outgoing.destroy(cause));
            outgoing.once("close", () => source.destroy());
            source.pipe(outgoing);
          },
        },
        options,
      );
      await textOf(answer).catch((cause) => {
        throw unreachable(cause);
      });
    },
    get: (path, options = {}) =>
      call(
        { method: "GET", path, bodyHash: hashOfBody(undefined), headers: {}, write: (outgoing) => void outgoing.end() },
        options,
      ),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
