import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import type { Environment, Given } from "../../kernel/index.ts";
import type { TokenKind } from "../tables.ts";
import type { Share } from "./backlog.ts";
import type { ControlPorts } from "./ports.ts";
import type { Scope } from "./scope.ts";
import type { WireRoute } from "./wire.ts";

/** The one who asks, as far as access has found out. */
export interface Caller {
  /** A token's label, or `local:...` for who needs none. */
  readonly actor: string;
  readonly scope: Scope;
  readonly tokenId: string | null;
  /** For a node that signs its requests: the only one it may speak for. */
  readonly nodeId?: string;
  /** For a node: refuses unless it signed this request with this body. */
  readonly prove?: (bodySha256: string) => void;
  /** When its token opens nothing any more, in milliseconds since the epoch. */
  readonly expiresAt: number | null;
  /** Its token lets nodes join and nothing else. */
  readonly onlyJoins?: boolean;
  /** What its token is for; undefined for who needs none. */
  readonly kind?: TokenKind;
  /** Its token is a share: only what the views of this address ask is for it. */
  readonly sharedPath?: string;
  /** Its token came in a cookie: a browser asks for whoever sits there. */
  readonly isBrowser?: boolean;
  /** Address of the other side; `socket` for the Unix socket. */
  readonly from: string;
}

/** Under what a caller is counted: nobody spends what is another's, whoever it says it is. */
export const callerKey = ({ tokenId, nodeId, actor, from }: Caller): string => tokenId ?? nodeId ?? `${actor} ${from}`;

/** What a stream writes to. It waits while the reader is slow. */
export interface Out {
  write(text: string): Promise<void>;
  /** Aborts when the reader is gone or too slow, its token is revoked or expired, or the process stops. */
  readonly signal: AbortSignal;
}

/** The bytes of a request as they come. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** How many are announced. */
  readonly length: number;
  /** Refuses bytes that are not those whose hash was promised before they came. */
  accept(bodySha256: string): void;
}

export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly ports: ControlPorts;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly caller: Caller;
  readonly requestId: string;
  readonly method: string;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
  /** The document about the routes that are mounted. */
  readonly openApi: () => Promise<Record<string, unknown>>;
  /** What a reader of server-sent events saw last, as its header says. */
  readonly lastEventId: number | undefined;
  /** What waits for this reader of an endless answer. */
  readonly waiting: Share;
  /** What is sent, for routes that take bytes as they come. */
  readonly upload: Upload | undefined;
  readonly headers: Environment;
  /** The connection that it came by, for what depends on it. */
  readonly request: Pick<IncomingMessage, "headers" | "socket">;
  /** An endless answer. */
  stream(run: (out: Out) => Promise<void>): Response;
}

/** One route of the surface: what is mounted, documented, fuzzed and tested for access is read from it. */
export interface Route extends WireRoute {
  handle(call: Call): unknown;
}

/** What the usual answer is made of; whoever answers with another status or type gives the whole response. */
type Handled<A extends z.ZodType> = Given<z.output<A>> | Response;

/** Joins a route to what answers it; the table holds it without the types. */
export const handle = <P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType | null, A extends z.ZodType>(
  wire: WireRoute<P, Q, B, A>,
  handler: (
    call: Call<z.output<P>, z.output<Q>, B extends z.ZodType ? z.output<B> : undefined>,
  ) => Handled<A> | Promise<Handled<A>>,
): Route =>
  // Its schemas are built when they are read, so nothing is copied.
  Object.assign(Object.create(wire), { handle: handler }) as Route;
