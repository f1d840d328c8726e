/** The connections of a worker: some for each class of requests, over a socket, or over TLS to whom we know. */
import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { type Clock, defined, OperatingError } from "../../kernel/index.ts";
import { unreachable } from "./answer.ts";
import { http } from "./node-http.ts";
import { afterCheck, type TlsTrust } from "./secure.ts";

/** Which connections a request may use. */
export type LineClass = "beat" | "claim" | "file";

export interface SendOptions {
  readonly line?: LineClass;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A main process on another machine. */
export interface LinkPlace {
  readonly url: URL;
  readonly trust: TlsTrust;
}

export type LinkTarget =
  /** Asked for before each connection: a main process that was started again may listen elsewhere. */
  { readonly socketPath: () => string } | LinkPlace;

const TIMEOUT_MS = 30_000;
const CONNECTIONS: Readonly<Record<LineClass, number>> = { beat: 4, claim: 2, file: 2 };

/** Whether somebody was there is all that is known. */
export const noAnswer = (cause: unknown): OperatingError =>
  unreachable(cause, "Is it running, and can this machine reach it? Nothing is lost meanwhile.");

/** A request before it is sent. */
export interface Raw {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string | number>;
  readonly bodyHash: string;
  readonly write: (outgoing: ClientRequest) => void;
}

export function openConnections(target: LinkTarget, clock: Clock) {
  const isTls = "url" in target && target.url.protocol === "https:";
  const keep = { keepAlive: true, noDelay: true } as ConstructorParameters<typeof HttpAgent>[0];
  const wanted = "url" in target ? target.trust.fingerprint || undefined : undefined;
  const agents = new Map(
    (Object.keys(CONNECTIONS) as LineClass[]).map((line) => {
      const more = { ...keep, maxSockets: CONNECTIONS[line] };
      // A session that is resumed shows no certificate that could be looked at.
      return [line, isTls ? new HttpsAgent({ ...more, maxCachedSessions: 0 }) : new http.Agent(more)];
    }),
  );

  const start = ({ method, path, headers }: Raw, line: LineClass): ClientRequest => {
    const agent = agents.get(line);
    if ("socketPath" in target) return http.request({ agent, method, path, headers, socketPath: target.socketPath() });
    const { hostname, port, protocol } = target.url;
    const base = { agent, method, path, headers, host: hostname.replace(/^\[|\]$/g, ""), port: port || undefined };
    if (protocol === "http:") return http.request(base);
    return httpsRequest({
      ...base,
      ...defined({ ca: target.trust.ca }),
      // A pinned certificate is checked by itself, before anything is written.
      ...(wanted === undefined ? {} : { rejectUnauthorized: false }),
    });
  };

  const ask = (raw: Raw, { line = "beat", timeoutMs = TIMEOUT_MS, signal }: SendOptions) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      let outgoing: ClientRequest;
      try {
        outgoing = start(raw, line);
      } catch (thrown) {
        return reject(thrown instanceof OperatingError ? thrown : noAnswer(thrown));
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
        reject(cause instanceof OperatingError ? cause : noAnswer(cause));
      });
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
      if (wanted === undefined || !isTls) raw.write(outgoing);
      // Not a byte of it goes to somebody whose certificate was not looked at.
      else afterCheck(outgoing, wanted, () => raw.write(outgoing));
    });

  return {
    ask,
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
