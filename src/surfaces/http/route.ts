import { z } from "zod";
import type { LimitClass } from "./limits.ts";
import type { Waiting } from "./live-events.ts";
import type { ControlPorts, OptionalPort } from "./ports.ts";
import type { Scope } from "./scope.ts";

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
  /** Address of the other side; `socket` for the Unix socket. */
  readonly from: string;
}

/** What a stream writes to. It waits while the reader is slow. */
export interface Out {
  write(text: string): Promise<void>;
  /** Aborts when the reader is gone, its token is revoked or expired, or the process stops. */
  readonly signal: AbortSignal;
}

/** The bytes of a request as they come. */
export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** How many are announced. */
  readonly length: number;
  /** For a node that did not say the hash of its body beforehand: refuses unless it signed these bytes. */
  prove(bodySha256: string): void;
  /** Whether who sends it is known already, so that what has come counts even if the rest does not. */
  readonly proven: boolean;
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
  /** The routes that are mounted, for the document about them. */
  readonly routes: readonly Route[];
  /** What a reader of server-sent events saw last, as its header says. */
  readonly lastEventId: number | undefined;
  /** What waits for slow readers, all together. */
  readonly waiting: Waiting;
  /** What is sent, for routes that take bytes as they come. */
  readonly upload: Upload | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** An endless answer. */
  stream(run: (out: Out) => Promise<void>): Response;
}

/** An answer with another status than the first one that the route declares, or of another type than JSON. */
export class Reply {
  readonly status: number;
  readonly body: unknown;
  readonly type: string | undefined;

  constructor(status: number, body: unknown, type?: string) {
    this.status = status;
    this.body = body;
    this.type = type;
  }
}

export interface Answer {
  readonly about: string;
  readonly schema: z.ZodType;
  readonly type: string;
}

/** One route of the surface, as data: what is mounted, documented, fuzzed and tested for access is read from it. */
export interface Route {
  /** Its name in the OpenAPI document, in lowerCamelCase. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With its parameters in braces: `/v1/daemons/{name}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly scope: Scope;
  readonly limit: LimitClass;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | null;
  readonly mostBodyBytes: number;
  /** By status. The first is the usual one. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** It takes bytes as they come, whatever they are, instead of JSON. */
  readonly bytes: boolean;
  /** Answers that do not end by themselves. */
  readonly endless: boolean;
  /** Whether it changes something, and so leaves a row in the record of writes: before the answer, or soon after it. */
  readonly record: "before" | "after" | "no";
  /** Without these it is not mounted. */
  readonly needs: readonly OptionalPort[];
  handle(call: Call): unknown;
}

const nothing = z.strictObject({});
type Nothing = typeof nothing;
const JSON_TYPE = "application/json";
const MOST_BODY_BYTES = 64 * 1_024;

interface Spec<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  readonly id: string;
  readonly method: Route["method"];
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly scope: Scope;
  readonly limit: LimitClass;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly mostBodyBytes?: number;
  readonly answers: Readonly<Record<number, { about: string; schema: z.ZodType; type?: string }>>;
  readonly bytes?: boolean;
  readonly endless?: boolean;
  readonly record?: Route["record"];
  readonly needs?: readonly OptionalPort[];
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => unknown;
}

/** Writes a route down with the types of what it is given; the table holds it without them. */
export const route = <
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType = z.ZodUndefined,
>(
  spec: Spec<P, Q, B>,
): Route => ({
  ...spec,
  params: spec.params ?? nothing,
  query: spec.query ?? nothing,
  body: spec.body ?? null,
  mostBodyBytes: spec.mostBodyBytes ?? MOST_BODY_BYTES,
  answers: Object.fromEntries(
    Object.entries(spec.answers).map(([status, answer]) => [status, { type: JSON_TYPE, ...answer }]),
  ),
  bytes: spec.bytes ?? false,
  endless: spec.endless ?? false,
  record: spec.record ?? (spec.method === "GET" ? "no" : "before"),
  needs: spec.needs ?? [],
  handle: (call) => spec.handle(call as Call<z.output<P>, z.output<Q>, z.output<B>>),
});

/** The status of an answer that does not say another one. */
export const usualStatus = ({ answers }: Route): number => Number(Object.keys(answers)[0]);
