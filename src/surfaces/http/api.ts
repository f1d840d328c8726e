import { hash } from "node:crypto";
import { type Context, Hono } from "hono";
import { BODY_HASH_HEADER } from "../../cluster/index.ts";
import {
  createIds,
  type Environment,
  isOperatingError,
  lazy,
  messageOf,
  OperatingError,
  type Random,
  systemRandom,
} from "../../kernel/index.ts";
import { type Access, tooMany } from "./access.ts";
import { type Backlog, createBacklog } from "./backlog.ts";
import { answerLimits, type Budget, bodyLimits, createBudget } from "./budget.ts";
import { bytesOf } from "./bytes.ts";
import { encoderOf } from "./encode.ts";
import { answerText } from "./in-slices.ts";
import { costOfBytes, costOfItems, type Limits, MAX_UNDER_WAY } from "./limits.ts";
import { openApiDocument } from "./openapi.ts";
import type { ControlPorts } from "./ports.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import { readTurns } from "./read-turns.ts";
import { type Env, isJson, jsonOf, parse, queryOf, readText, requestIdOf } from "./request.ts";
import { type Call, type Caller, callerKey, type Route, type Upload } from "./route.ts";
import { mountPage, type PageFiles, pageOfNothing } from "./serve-page.ts";
import { PAGE_HEADER, sessionCookie, sessionIn } from "./session-cookie.ts";
import { createStreams, type Streams } from "./streams.ts";
import { usualStatus } from "./wire.ts";

interface ApiOptions {
  readonly routes: readonly Route[];
  readonly ports: ControlPorts;
  readonly access: Access;
  readonly limits: Limits;
  readonly random?: Random;
  /** The page for browsers, where there is one. */
  readonly page?: PageFiles;
}

const MAX_WRITE_PATH = 300;
const MAX_WRITE_REASON = 500;
const MAX_BODY_BYTES = 16 * 1_024 ** 2;
/** Refusals that cost their sender nothing, not even a token: each address has only so many of them. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  "UNAUTHORIZED",
  "FORBIDDEN",
  "SCOPE_TOO_SMALL",
  "SHARE_TOO_SMALL",
  "ROUTE_NOT_FOUND",
]);
const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** What is known of a request while it is being answered. */
interface Asked {
  readonly route: Route | undefined;
  readonly requestId: string;
  readonly began: number;
  readonly from: string;
  caller?: Caller;
  /** What it sent, read. */
  body?: unknown;
}

const methodsOf = (routes: readonly Route[], path: string): string => {
  const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
  return [...(methods.includes("GET") ? ["GET", "HEAD"] : []), ...methods.filter((m) => m !== "GET"), "OPTIONS"].join(
    ", ",
  );
};

/** Mounts the table: every request passes the same gates in the same order, and every answer leaves by the same door. */
export function createApi(options: ApiOptions) {
  const { routes, ports, access, limits, random = systemRandom() } = options;
  const { clock, log, metrics } = ports;
  const ids = createIds(clock, random);
  const app = new Hono<Env>();
  const streams = createStreams(
    clock,
    metrics,
    (thrown) => log.error("a stream was interrupted", { error: messageOf(thrown) }),
    ({ actor, from }, reason) => log.warn("a reader of a stream was cut off", { actor, from, why: reason.message }),
  );
  ports.tokens.onRevoked((id) => streams.endToken(id));

  const ask = (c: Context<Env>, route: Route | undefined): Asked => ({
    route,
    requestId: requestIdOf(c.req.header("x-request-id"), () => ids.uuid()),
    began: clock.monotonic(),
    from: c.env.incoming.socket.remoteAddress ?? c.env.cameBy,
  });
  const leave = (c: Context<Env>, asked: Asked, response: Response): Response => {
    response.headers.set("x-request-id", asked.requestId);
    for (const [name, value] of Object.entries(NO_STORE))
      if (!response.headers.has(name)) response.headers.set(name, value);
    const seconds = (clock.monotonic() - asked.began) / 1_000;
    metrics.request(c.req.method, asked.route?.path ?? "(none)", response.status, seconds);
    return response;
  };
  const complain = (thrown: unknown, { requestId, route, caller, from }: Asked): Response => {
    const problem = problemOf(thrown, requestId);
    if (!isOperatingError(thrown))
      log.error("a request failed", {
        request_id: requestId,
        route: route?.id,
        error: thrown instanceof Error ? thrown.stack : messageOf(thrown),
      });
    else {
      ports.nodes.refusals.note({ code: thrown.code, from: caller?.from ?? from, nodeId: caller?.nodeId });
      if (problem.status >= 400) metrics.refused(thrown.code);
    }
    const after = isOperatingError(thrown) ? thrown.details.retryAfterSeconds : undefined;
    return Response.json(problem, {
      status: problem.status,
      headers: {
        "content-type": PROBLEM_TYPE,
        ...(typeof after === "number" ? { "retry-after": String(after) } : {}),
        ...(problem.status === 401 ? { "www-authenticate": 'Bearer realm="ringrift"' } : {}),
        // What is left of a body that nobody reads must not be taken for the next request.
        ...(problem.status === 413 ? { connection: "close" } : {}),
      },
    });
  };
  const slowed = (c: Context<Env>, thrown: unknown): unknown => {
    if (c.env.cameBy === "socket" || !isOperatingError(thrown) || !TURNED_AWAY.has(thrown.code)) return thrown;
    const wait = limits.take(c.env.incoming.socket.remoteAddress ?? "gone", "refused");
    return wait > 0 ? tooMany(wait, "too many requests that are turned away came from here") : thrown;
  };
  const answer = async (c: Context<Env>, asked: Asked, run: () => Promise<Response>): Promise<Response> => {
    try {
      return leave(c, asked, await run());
    } catch (thrown) {
      const response = complain(slowed(c, thrown), asked);
      // A session that has ended is forgotten by its browser too, once our page was told; a stream tells nobody.
      if (
        response.status === 401 &&
        c.req.header(PAGE_HEADER) !== undefined &&
        c.req.header("authorization") === undefined &&
        sessionIn(c.env.incoming) !== undefined
      )
        response.headers.append("set-cookie", sessionCookie(c.env.incoming, "", 0));
      return leave(c, asked, response);
    }
  };
  const pathOf = (path: string) => path.replaceAll(/\{(\w+)\}/g, ":$1");
  let document: Promise<Record<string, unknown>> | undefined;
  /** Made once: it is long, and the same for everybody. */
  const openApi = (): Promise<Record<string, unknown>> => (document ??= openApiDocument(routes, ports.version));
  const stage: Stage = { ...options, openApi, streams, backlog: createBacklog(), answers: createBudget(answerLimits) };
  const withBody = bodyHolder();
  const withTurn = turnHolder();

  for (const route of routes) {
    const encoder = lazy(() => encoderOf(route.answer));
    app.on(route.method, pathOf(route.path), (c) => {
      const asked = ask(c, route);
      return answer(c, asked, async () => {
        const caller = access.check(c.env.incoming, c.env.cameBy, route);
        asked.caller = caller;
        admit(c, route, caller, options);
        const run = () => perform(c, { route, encoder }, caller, asked, stage);
        const respond = route.body === null ? run : () => withBody(c, caller, run);
        return withTurn(c, route, caller, () => (route.record === "no" ? respond() : recorded(c, asked, respond)));
      });
    });
  }

  /** Whatever becomes of a write that was let in, its row says so. */
  const recorded = async (c: Context<Env>, asked: Asked, respond: () => Promise<Response>): Promise<Response> => {
    const { route, requestId } = asked;
    let response: Response;
    try {
      response = await respond();
    } catch (thrown) {
      response = complain(thrown, asked);
    }
    const caller = asked.caller!;
    const row = {
      at: clock.now(),
      actor: caller.actor,
      scope: route!.scope,
      method: route!.method,
      path: c.req.path.slice(0, MAX_WRITE_PATH),
      status: response.status,
      request_id: requestId,
      came_from: caller.from,
      ...intentOf(asked.body),
    };
    if (route!.record === "after") ports.writes.addSoon(row);
    else
      await ports.writes.add(row).catch((thrown: unknown) =>
        log.error("a change was not recorded", {
          request_id: requestId,
          actor: caller.actor,
          error: messageOf(thrown),
        }),
      );
    return response;
  };

  if (options.page !== undefined)
    mountPage(app, options.page, (c, answerWith) => {
      const asked = ask(c, undefined);
      return answer(c, asked, async () => {
        // Everybody may have the page, which says nothing; but nobody may call us by a name that is not ours.
        access.check(c.env.incoming, c.env.cameBy, { scope: "probe", method: "GET", id: "", path: "" });
        return answerWith();
      });
    });
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = methodsOf(routes, path);
    app.all(pathOf(path), (c) => {
      const asked = ask(c, undefined);
      return answer(c, asked, async () => {
        access.check(c.env.incoming, c.env.cameBy, { scope: "probe", method: "GET", id: "", path: "" });
        if (c.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
        const refused = OperatingError.denied("METHOD_NOT_ALLOWED", `there is no ${c.req.method} ${c.req.path}`, {
          status: 405,
          hint: `There is: ${allow}.`,
        });
        const response = complain(refused, asked);
        response.headers.set("allow", allow);
        return response;
      });
    });
  }
  app.notFound((c) => {
    const asked = ask(c, undefined);
    return answer(c, asked, async () => {
      access.check(c.env.incoming, c.env.cameBy, undefined);
      const shown = options.page && (await pageOfNothing(c, options.page));
      if (shown !== undefined) return shown;
      throw OperatingError.notFound("ROUTE_NOT_FOUND", `there is no ${c.req.method} ${c.req.path.slice(0, 200)}`, {
        hint: "GET /openapi.json lists what is available.",
      });
    });
  });
  /** Ends every endless answer, in good order. */
  const endStreams = () => streams.endAll();
  return { app, endStreams };
}

/** What a body takes is held until its request is answered; of a sender that has proven nothing, for its address. */
function bodyHolder() {
  const bodies = createBudget(bodyLimits);
  return async (c: Context<Env>, caller: Caller, run: () => Promise<Response>): Promise<Response> => {
    const isProven = caller.prove === undefined || c.req.header(BODY_HASH_HEADER) !== undefined;
    const sender = isProven ? callerKey(caller) : `unproven ${caller.from}`;
    // One that does not say how long it is may be as long as any.
    const bytes = c.req.header("transfer-encoding") === undefined ? announced(c) : MAX_BODY_BYTES;
    if (!bodies.hasRoom(sender, bytes)) throw tooMany(1, "what you sent before is still being worked on");
    const letGo = bodies.hold(sender, bytes);
    try {
      return await run();
    } finally {
      letGo();
    }
  };
}

/** How many requests of one caller are under way: those that wait for work or events would take every place from the others. */
function turnHolder() {
  const underWay = new Map<string, number>();
  const turnFor = readTurns();
  return async (c: Context<Env>, route: Route, caller: Caller, run: () => Promise<Response>): Promise<Response> => {
    if (c.env.cameBy === "socket" || route.scope === "probe") return run();
    const key = caller.prove === undefined ? callerKey(caller) : `unproven ${caller.from} ${callerKey(caller)}`;
    const before = underWay.get(key) ?? 0;
    if (before >= MAX_UNDER_WAY) throw tooMany(1, `${before} requests of yours are under way: wait for their answers`);
    underWay.set(key, before + 1);
    try {
      if (route.method === "GET") await turnFor(key);
      return await run();
    } finally {
      const left = underWay.get(key)! - 1;
      if (left > 0) underWay.set(key, left);
      else underWay.delete(key);
    }
  };
}

/** Whether it asks too often, and whether there is somebody home. */
function admit(c: Context<Env>, route: Route, caller: Caller, { ports, limits }: ApiOptions): void {
  // A node is held to its limit once it has proven who it is: nobody spends another's.
  if (caller.prove === undefined) keepToLimit(c, caller, route, limits);
  if (route.scope === "probe") return;
  const phase = ports.phase();
  if (phase === "starting")
    throw OperatingError.unavailable("STARTING", "the process is still starting", {
      details: { retryAfterSeconds: 1 },
    });
  if (phase === "stopping")
    throw OperatingError.unavailable("STOPPING", "the process is stopping", { details: { retryAfterSeconds: 5 } });
}

/** What the record of writes keeps of a body: whether it was meant, and why. */
function intentOf(body: unknown): { readonly dry_run: 0 | 1; readonly reason: string | null } {
  const { dry_run, reason, note } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const why = reason ?? note;
  return {
    dry_run: dry_run === true ? 1 : 0,
    reason: typeof why === "string" ? why.slice(0, MAX_WRITE_REASON) : null,
  };
}

const announced = ({ env: { incoming } }: Context<Env>): number => Number(incoming.headers["content-length"] ?? 0);

/** Before its body is read: whoever owes for what it has asked already costs nothing more. */
function keepToLimit(c: Context<Env>, caller: Caller, route: Route, limits: Limits): void {
  if (c.env.cameBy === "socket") return;
  const cost = route.bytes ? 1 : costOfBytes(announced(c));
  const wait = limits.take(callerKey(caller), route.limit, cost);
  if (wait > 0) throw tooMany(wait, `more of the kind '${route.limit}' than is allowed`);
}

/** What a body turns out to hold is owed. */
function chargeItems(c: Context<Env>, caller: Caller, route: Route, body: unknown, text: string, limits: Limits): void {
  if (c.env.cameBy === "socket") return;
  const cost = Math.max(costOfItems(body, route.itemCosts), costOfBytes(Buffer.byteLength(text)));
  const paid = costOfBytes(announced(c));
  if (cost > paid) limits.take(callerKey(caller), route.limit, cost - paid, true);
}

interface Stage extends ApiOptions {
  readonly openApi: () => Promise<Record<string, unknown>>;
  readonly streams: Streams;
  readonly backlog: Backlog;
  /** Answers that their callers have not taken yet. */
  readonly answers: Budget;
}

async function perform(
  c: Context<Env>,
  { route, encoder }: { readonly route: Route; readonly encoder: () => ReturnType<typeof encoderOf> },
  caller: Caller,
  asked: Asked,
  { limits, ports, openApi, streams, backlog, answers }: Stage,
): Promise<Response> {
  const status = usualStatus(route);
  const { type } = route.answers[status]!;
  const key = callerKey(caller);
  if (route.scope !== "probe" && !answers.hasRoom(key))
    throw tooMany(1, "answers that you asked for wait to be read: take them first");
  const text = await bodyOfKnown(c, route, caller, limits);
  const body = route.body === null ? undefined : parse(route.body, bodyOf(c, text ?? ""));
  asked.body = body;
  if (text !== undefined) chargeItems(c, caller, route, body, text, limits);
  // Its head is the same as that of a GET; there is no body to wait for.
  if (route.endless && c.req.method === "HEAD") return new Response(null, { headers: { "content-type": type } });
  const waiting = backlog.open(key);
  const call: Call = {
    ports,
    openApi,
    caller,
    requestId: asked.requestId,
    method: c.req.method,
    waiting,
    get signal() {
      return c.req.raw.signal;
    },
    params: parse(route.params, c.req.param(), "path"),
    query: parse(route.query, queryOf(c.req.url), "query"),
    body,
    upload: route.bytes ? uploadOf(c) : undefined,
    headers: c.env.incoming.headers as Environment,
    request: c.env.incoming,
    lastEventId: lastEventIdOf(c.req.header("last-event-id")),
    stream: (run) => streams.open(caller, waiting, c.req.raw.signal, c.env.outgoing, { "content-type": type }, run),
  };
  // Before it listens to anything: whoever is refused leaves nothing behind that still listens.
  if (route.endless) streams.assertRoom(caller);
  const given = await route.handle(call);
  if (given instanceof Response) return given;
  const answer = await answerText(given, encoder());
  c.env.outgoing.once("close", answers.hold(key, Buffer.byteLength(answer)));
  return new Response(answer, { status, headers: { "content-type": type } });
}

const notPromised = () =>
  OperatingError.denied("BAD_SIGNATURE", `the body is not the one that ${BODY_HASH_HEADER} promises`, { status: 401 });

/**
 * The text of a body, once it is known who sends it. A node that says the hash of its body beforehand is known before the
 * first byte of it is looked at; bytes that go to the disk are taken from no other.
 */
async function bodyOfKnown(c: Context<Env>, route: Route, caller: Caller, limits: Limits): Promise<string | undefined> {
  const read = async () => (route.body === null ? undefined : await readText(c.env.incoming, route.maxBodyBytes));
  if (caller.prove === undefined) return read();
  const promised = c.req.header(BODY_HASH_HEADER);
  if (promised === undefined && route.bytes)
    throw OperatingError.denied("BAD_SIGNATURE", "a node must send the hash of its bytes first", {
      status: 401,
      hint: `Sign the SHA-256 of the body and send it as ${BODY_HASH_HEADER}.`,
    });
  if (promised === undefined) {
    const text = await read();
    caller.prove(hash("sha256", text ?? "", "hex"));
    keepToLimit(c, caller, route, limits);
    return text;
  }
  caller.prove(promised);
  keepToLimit(c, caller, route, limits);
  const text = await read();
  if (!route.bytes && promised !== hash("sha256", text ?? "", "hex")) throw notPromised();
  return text;
}

/** Bytes as they come. */
function uploadOf(c: Context<Env>): Upload {
  const promised = c.req.header(BODY_HASH_HEADER);
  const announced = c.env.incoming.headers["content-length"];
  if (announced === undefined || !/^\d{1,15}$/.test(announced))
    throw OperatingError.denied("LENGTH_REQUIRED", "an upload needs the header Content-Length", {
      status: 411,
    });
  return {
    bytes: bytesOf(c.env.incoming),
    length: Number(announced),
    accept(bodySha256) {
      if (promised !== undefined && promised !== bodySha256) throw notPromised();
    },
  };
}

function bodyOf(c: Context<Env>, text: string): unknown {
  // A form that a foreign page sends without asking first is never JSON. No page reaches the socket.
  if (text !== "" && c.env.cameBy !== "socket" && !isJson(c.req.header("content-type") ?? ""))
    throw OperatingError.denied("UNSUPPORTED_MEDIA_TYPE", "the body must be JSON, with the right content type", {
      status: 415,
      hint: "Send 'Content-Type: application/json'.",
    });
  return jsonOf(text);
}

const lastEventIdOf = (header: string | undefined): number | undefined => {
  if (header === undefined || header === "") return undefined;
  const place = Number(header);
  if (!/^\d{1,16}$/.test(header) || !Number.isSafeInteger(place))
    throw OperatingError.invalid("INVALID_REQUEST", "Last-Event-ID: not a position in the journal");
  return place;
};
