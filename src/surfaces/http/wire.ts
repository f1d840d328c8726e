/**
 * A route as plain data: method, path, and the schemas of what is sent and what comes back. It is written down once, in the
 * `wire.ts` of its feature, and needs no server: the server mounts it with a handler, OpenAPI is printed from it, commands
 * and clients call it and get the type of its answer.
 *
 * A feature is a folder:
 * - `wire.ts`     `export const getThing = defineRoute("getThing", "GET /v1/things/{id}", { tag, summary, params, about, answer })`.
 *                 What is a schema is given as a function, `answer: () => z.object(...)`, or by `lazy` where several share it: it is
 *                 built when the route is first called, since a process calls few of all routes.
 *                 Instants are `time` of `fields.ts`: Unix seconds on the wire, milliseconds on both sides of it. What is
 *                 named `_seconds` is a length of time and stays one. What scope and limit are not said follow from the
 *                 method: GET is for who may read, everything else for operators.
 * - `routes.ts`   `export const thingRoutes = [handle(getThing, ({ ports, params }) => ...)]`; it gives what `answer` says, in
 *                 milliseconds. The list `src/surfaces/routes.ts` mounts it.
 * - `command.ts`  `await main.call(getThing, { params, query, body })` is the answer, checked and in milliseconds. For `--json`
 *                 `main.raw(getThing, ...)` is the answer as it came, and `main.read(getThing, raw)` reads it afterwards. What is
 *                 undefined in a query or body is not sent.
 * - `view.ts`     how people see it: pure functions of `Answer<typeof getThing>`.
 */
import { z } from "zod";
import { type Given, lazy, lazyTable, OperatingError } from "../../kernel/index.ts";
import { decoderOf } from "./encode.ts";
import type { LimitClass } from "./limits.ts";
import { routeAddress } from "./route-address.ts";
import type { Scope } from "./scope.ts";

export interface Documented {
  readonly about: string;
  readonly schema: z.ZodType;
  readonly type: string;
}

export interface WireRoute<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType | null = z.ZodType | null,
  A extends z.ZodType = z.ZodType,
> {
  /** Its name in the OpenAPI document, in lowerCamelCase. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With its parameters in braces: `/v1/daemons/{name}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly scope: Scope;
  readonly limit: LimitClass;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly maxBodyBytes: number;
  /** What each thing in a list of the body counts as, towards the limit: by the list's name, 1 unless said. */
  readonly itemCosts: Readonly<Record<string, number>>;
  /** What else bounds a write, for the reference; empty where rate and body are all. */
  readonly bound: string;
  /** The usual answer. */
  readonly answer: A;
  /** By status. The first is the usual one. */
  readonly answers: Readonly<Record<number, Documented>>;
  /** It takes bytes as they come, whatever they are, instead of JSON. */
  readonly bytes: boolean;
  /** Answers that do not end by themselves. */
  readonly endless: boolean;
  /** Whether it changes something, and so leaves a row in the record of writes: before the answer, or soon after it. */
  readonly record: "before" | "after" | "no";
}

const nothing = z.strictObject({});
type Nothing = typeof nothing;
const JSON_TYPE = "application/json";
const MAX_BODY_BYTES = 64 * 1_024;

type Method = WireRoute["method"];

interface Spec<P, Q, B, A>
  extends Pick<WireRoute, "tag" | "summary">,
    Partial<
      Pick<WireRoute, "scope" | "limit" | "maxBodyBytes" | "itemCosts" | "bound" | "bytes" | "endless" | "record">
    > {
  readonly params?: () => P;
  readonly query?: () => Q;
  readonly body?: () => B;
  /** What the answer is, in words. */
  readonly about: string;
  readonly answer: () => A;
  /** 200 unless it says so. */
  readonly status?: number;
  /** Of the answer, where it is not JSON. */
  readonly type?: string;
  readonly otherAnswers?: Readonly<Record<number, Told>>;
}

interface Told extends Pick<Documented, "about">, Partial<Pick<Documented, "type">> {
  readonly schema: () => z.ZodType;
}

/** An object with the values of one and what the other gives when it is read. */
const joined = <V extends object, L extends object>(values: V, read: L): V & L =>
  Object.defineProperties(values, Object.getOwnPropertyDescriptors(read)) as V & L;

const documented = ({ about, type = JSON_TYPE, schema }: Told): Documented =>
  joined({ about, type }, lazyTable({ schema }));

export function defineRoute<
  A extends z.ZodType,
  P extends z.ZodObject = Nothing,
  Q extends z.ZodObject = Nothing,
  B extends z.ZodType | null = null,
>(id: string, place: `${Method} /${string}`, spec: Spec<P, Q, B, A>): WireRoute<P, Q, B, A> {
  const { about, status = 200, type = JSON_TYPE, otherAnswers = {}, params, query, body, answer, ...rest } = spec;
  const [method, path] = place.split(" ") as [Method, string];
  const isRead = method === "GET";
  // Built once, whether it is read as the answer or in the list of answers.
  const usual = lazy(answer);
  const all = { [status]: { about, schema: usual, type }, ...otherAnswers };
  return joined(
    {
      id,
      method,
      path,
      scope: isRead ? "read" : "operator",
      limit: isRead ? "read" : "write",
      maxBodyBytes: MAX_BODY_BYTES,
      itemCosts: {},
      bound: "",
      bytes: false,
      endless: false,
      record: isRead ? "no" : "before",
      ...rest,
      answers: Object.fromEntries(Object.entries(all).map(([code, each]) => [code, documented(each)])),
    } as const,
    lazyTable({
      params: params ?? (() => nothing as unknown as P),
      query: query ?? (() => nothing as unknown as Q),
      body: body ?? (() => null as B),
      answer: usual,
    }),
  );
}

/** The status of an answer that does not say another one. */
export const usualStatus = ({ answers }: Pick<WireRoute, "answers">): number => Number(Object.keys(answers)[0]);

/** What a route answers, times in milliseconds. */
export type Answer<W extends WireRoute> = Given<z.output<W["answer"]>>;
/** What a route answers as it comes over the wire, times in seconds. */
export type RawAnswer<W extends WireRoute> = z.input<W["answer"]>;

type Empty = Record<never, never>;
type Part<K extends string, S> = S extends z.ZodType
  ? Empty extends z.input<S>
    ? { readonly [k in K]?: Given<z.input<S>> }
    : { readonly [k in K]: Given<z.input<S>> }
  : unknown;
/** What is sent to a route, as it is on the wire. */
export type Input<W extends WireRoute> = Part<"params", W["params"]> &
  Part<"query", W["query"]> &
  Part<"body", W["body"]>;
/** As an argument that may be left out where the route needs nothing. */
export type InputArgs<W extends WireRoute> = Empty extends Input<W> ? [input?: Input<W>] : [input: Input<W>];

/** The path of a route with its parameters and its query filled in. */
export function addressOf<W extends WireRoute>(route: W, ...[input]: InputArgs<W>): string {
  const { params, query } = (input ?? {}) as Record<"params" | "query", Record<string, unknown> | undefined>;
  return routeAddress(route.path, params, query);
}

/** Reads what a route answered. */
export const answerOf = <W extends WireRoute>(route: W, raw: unknown): Answer<W> => readAnswer(route, raw, {});

/** The same for who asks once and ends: to compile a schema takes longer than to read one answer without that. */
export const answerOnce = <W extends WireRoute>(route: W, raw: unknown): Answer<W> =>
  readAnswer(route, raw, { jitless: true });

function readAnswer<W extends WireRoute>(route: W, raw: unknown, how: { readonly jitless?: boolean }): Answer<W> {
  const read = z.safeDecode(route.answer, raw as never, how);
  if (read.success) return read.data as Answer<W>;
  const { issues } = read.error;
  // A neighbour of a newer version may have a word that is not known here; that is no reason not to understand the rest.
  if (issues.every(({ code }) => code === "invalid_value")) return (decoderOf(route.answer)?.(raw) ?? raw) as Answer<W>;
  const [issue] = issues;
  throw OperatingError.internal(
    "UNEXPECTED_ANSWER",
    `the answer to ${route.id} is not what was expected: ${issue?.path.join(".")}: ${issue?.message}`,
    // What stands in between may answer in its own words for a moment.
    { retryable: true, hint: "Is this a RingRift main process with a similar version?" },
  );
}
