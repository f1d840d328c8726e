/**
 * The line of a worker to its main process: over the Unix socket of this machine, or over HTTPS to another one, signed with
 * the node's key. It only dials out. Signs of life and results have connections of their own, so that they never wait
 * behind claims that are kept open or behind files.
 */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { BODY_HASH_HEADER, NODE_HEADER } from "../../cluster/index.ts";
import type { Clock, OperatingError } from "../../kernel/index.ts";
import { refusalIn, textOf } from "./answer.ts";
import {
  type LinkPlace,
  type LinkTarget,
  noAnswer,
  openConnections,
  type Raw,
  type SendOptions,
} from "./connections.ts";
import { leaderNamedIn, shouldTurn, turnTo } from "./coordinators.ts";
import { hashOfBody, type NodeKey } from "./node-link-signature.ts";

export interface Body {
  /** Made anew for each try. */
  readonly open: () => Readable;
  readonly bytes: number;
  readonly sha256: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type NodeLink = ReturnType<typeof openLink>;

export interface LinkOptions {
  readonly target: LinkTarget;
  /** Other coordinators, of which one may lead instead. */
  readonly others?: readonly LinkPlace[];
  readonly clock: Clock;
  /** How the node signs; none over the Unix socket. Its requests are counted after `counter`: 0 unless said. */
  readonly identity?: { readonly key: NodeKey; readonly incarnation: number; readonly counter?: number };
  /** For the one request before there is an identity. */
  readonly token?: string;
}

const MAX_ANSWER_BYTES = 64 * 1_024 * 1_024;

/** A node may be told in one request that the session is another one, that its clock differs, and that another leads. */
const MAX_TRIES = 4;

export function openLink({ target, others = [], clock, identity, token }: LinkOptions) {
  let counter = identity?.counter ?? 0;
  let boot = "";
  /** How far the clock of the main process is ahead of ours, as far as it matters to it. */
  let aheadMs = 0;
  let places: readonly LinkPlace[] = "url" in target ? [target, ...others] : [];
  let at = 0;
  let connections = openConnections(target, clock);
  /** Where the next request goes, if the one that was asked does not lead or is not there. What was under way there is asked again by whoever asked. */
  const turn = (thrown: unknown): boolean => {
    const next = turnTo(
      places.map(({ url }) => url.origin),
      at,
      thrown,
    );
    if (next === at) return false;
    at = next;
    connections.close();
    connections = openConnections(places[at]!, clock);
    return true;
  };

  const proof = ({ method, path, bodyHash }: Pick<Raw, "method" | "path" | "bodyHash">): Record<string, string> => {
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    if (identity === undefined) return {};
    counter += 1;
    const { key, incarnation } = identity;
    const issuedAt = Math.floor((clock.now() + aheadMs) / 1_000);
    const claim = { incarnation, counter, issuedAt, boot };
    // Known beforehand, who sends it is proven before its body has come, and a part that is cut off need not be sent again.
    return { [NODE_HEADER]: key.sign(claim, { method, path, bodySha256: bodyHash }), [BODY_HASH_HEADER]: bodyHash };
  };

  /**
   * A main process that was started again does not take what was signed for the one before; and one whose clock is far from
   * ours does not take what was signed by ours. Both say what they would take: a clock that is set costs a node nothing.
   */
  const learnFrom = ({ code, details }: Pick<OperatingError, "code" | "details">): boolean => {
    if (code === "NODE_SESSION_STALE" && typeof details.boot === "string" && details.boot !== boot) {
      boot = details.boot;
      return true;
    }
    if (code !== "CLOCK_SKEW" || typeof details.server_time !== "number") return false;
    aheadMs = details.server_time * 1_000 - clock.now();
    return true;
  };

  const call = async (raw: Raw, options: SendOptions): Promise<IncomingMessage> => {
    for (let tries = 1; ; tries += 1) {
      let answer: IncomingMessage;
      try {
        answer = await connections.ask({ ...raw, headers: { ...raw.headers, ...proof(raw) } }, options);
      } catch (thrown) {
        turn(thrown);
        throw thrown;
      }
      const status = answer.statusCode ?? 500;
      if (status < 400) return answer;
      if (raw.method === "HEAD" && status === 404) return answer;
      const problem = refusalIn(await textOf(answer, MAX_ANSWER_BYTES).catch(() => ""), status);
      // One that stands by has done nothing: the leader that it names is asked at once.
      if (leaderNamedIn(problem) != null && tries <= MAX_TRIES && turn(problem)) continue;
      if (shouldTurn(problem)) turn(problem);
      if (tries >= MAX_TRIES || !learnFrom(problem)) throw problem;
    }
  };

  const without = (method: "GET" | "HEAD", path: string, options: SendOptions = {}) =>
    call({ method, path, bodyHash: hashOfBody(""), headers: {}, write: (outgoing) => void outgoing.end() }, options);

  return {
    /** Whether the main process runs on this machine and shares its folder. */
    isLocal: "socketPath" in target,
    async send<T>(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<T> {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await call(
        {
          method,
          path,
          bodyHash: hashOfBody(text ?? ""),
          headers:
            text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
          write: (outgoing) => void outgoing.end(text),
        },
        options,
      );
      try {
        return JSON.parse(await textOf(answer, MAX_ANSWER_BYTES)) as T;
      } catch (cause) {
        throw noAnswer(cause);
      }
    },
    /** Headers of the answer; undefined if there is no such thing. */
    async head(path: string, options?: SendOptions): Promise<Readonly<Record<string, string>> | undefined> {
      const answer = await without("HEAD", path, options);
      answer.resume();
      return answer.statusCode === 404 ? undefined : (answer.headers as Record<string, string>);
    },
    async put(path: string, { open, bytes, sha256, headers = {} }: Body, options: SendOptions = {}) {
      const answer = await call(
        {
          method: "PUT",
          path,
          bodyHash: sha256,
          headers: {
            "content-type": "application/octet-stream",
            "content-length": bytes,
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
      await textOf(answer, MAX_ANSWER_BYTES).catch((cause) => {
        throw noAnswer(cause);
      });
    },
    /**
     * Headers that prove one request that somebody else sends, such as a thread. After a refusal it is told what was said, and
     * learns from it as it does by itself.
     */
    async prove(
      method: string,
      path: string,
      refused?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> },
    ): Promise<Readonly<Record<string, string>>> {
      if (refused !== undefined) learnFrom(refused);
      return proof({ method, path, bodyHash: hashOfBody("") });
    },
    /** The answer with its headers, as a stream. */
    open: (path: string, options?: SendOptions): Promise<IncomingMessage> => without("GET", path, options),
    /** The answer as a stream. */
    get: (path: string, options?: SendOptions): Promise<Readable> => without("GET", path, options),
    /** The address that is asked at the moment; undefined over the socket. */
    get place(): LinkPlace | undefined {
      return places[at];
    },
    /** Whether another coordinator may be asked instead. */
    get isOfSeveral(): boolean {
      return places.length > 1;
    },
    /** All coordinators that are known now; the one that is asked stays so. */
    know(all: readonly LinkPlace[]): void {
      const current = places[at];
      if (current === undefined) return;
      places = [current, ...all.filter(({ url }) => url.origin !== current.url.origin)];
      at = 0;
    },
    /** Lets go of all connections: the next request begins new ones. */
    reopen: () => connections.close(),
    close: () => connections.close(),
  };
}
