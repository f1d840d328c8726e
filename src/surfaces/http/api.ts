import { hash } from "node:crypto";
import { type Context, Hono } from "hono";
import { BODY_HASH_HEADER } from "../../cluster/index.ts";
import {
  createIds,
  isOperatingError,
  messageOf,
  OperatingError,
  type Random,
  systemRandom,
} from "../../kernel/index.ts";
import { type Access, tooMany } from "./access.ts";
import type { Limits } from "./limits.ts";
import type { Waiting } from "./live-events.ts";
import type { ControlPorts } from "./ports.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import { type Env, isJson, jsonOf, parse, queryOf, readText, requestIdOf } from "./request.ts";
import { type Call, type Caller, Reply, type Route, type Upload, usualStatus } from "./route.ts";
import { routesFor } from "./route-table.ts";
import { createStreams, type Streams } from "./streams.ts";

export interface ApiOptions {
  readonly ports: ControlPorts;
  readonly access: Access;
  readonly limits: Limits;
  readonly random?: Random;
}

export interface Api {
  readonly app: Hono<Env>;
  readonly routes: readonly Route[];
  /** Ends every endless answer, in good order. */
  endStreams(): void;
}

const WRITE_PATH_MOST = 300;
const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** What is known of a request while it is being answered. */
interface Asked {
  readonly route: Route | undefined;
  readonly requestId: string;
  readonly began: number;
  readonly from: string;
  caller?: Caller;
}

const methodsOf = (routes: readonly Route[], path: string): string => {
  const methods = routes.filter((route) => route.path === path).map(({ method }) => method as string);
  return [...(methods.includes("GET") ? ["GET", "HEAD"] : []), ...methods.filter((m) => m !== "GET"), "OPTIONS"].join(
    ", ",
  );
};

/** Mounts the table: every request passes the same gates in the same order, and every answer leaves by the same door. */
export function createApi({ ports, access, limits, random = systemRandom() }: ApiOptions): Api {
  const { clock, log, metrics } = ports;
  const ids = createIds(clock, random);
  const routes = routesFor(ports);
  const app = new Hono<Env>();
  const streams = createStreams(clock, metrics, (thrown) =>
    log.error("a stream broke off", { error: messageOf(thrown) }),
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
    for (const [name, value] of Object.entries(NO_STORE)) response.headers.set(name, value);
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
      ports.nodes?.refusals.note({ code: thrown.code, from: caller?.from ?? from, nodeId: caller?.nodeId });
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
  const answer = async (c: Context<Env>, asked: Asked, run: () => Promise<Response>): Promise<Response> => {
    try {
      return leave(c, asked, await run());
    } catch (thrown) {
      return leave(c, asked, complain(thrown, asked));
    }
  };
  const gates = { ports, access, limits };
  const stage: Stage = { limits, ports, routes, streams, waiting: { bytes: 0 } };

  for (const route of routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(route.method, path, (c) => {
      const asked = ask(c, route);
      return answer(c, asked, async () => {
        const caller = admit(c, route, gates, asked);
        const respond = () => perform(c, route, caller, asked.requestId, stage);
        return route.record === "no" ? respond() : recorded(c, asked, respond);
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
    const added = ports.writes.add({
      at: clock.now(),
      actor: caller.actor,
      scope: route!.scope,
      method: route!.method,
      path: c.req.path.slice(0, WRITE_PATH_MOST),
      status: response.status,
      request_id: requestId,
      came_from: caller.from,
    });
    const untold = added.catch((thrown: unknown) =>
      log.error("a write was not recorded", { request_id: requestId, actor: caller.actor, error: messageOf(thrown) }),
    );
    if (route!.record === "before") await untold;
    return response;
  };

  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = methodsOf(routes, path);
    app.all(path.replaceAll(/\{(\w+)\}/g, ":$1"), (c) => {
      const asked = ask(c, undefined);
      return answer(c, asked, async () => {
        access.check(c.env.incoming, c.env.cameBy, { scope: "probe", method: "GET" });
        if (c.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
        const refused = new OperatingError("METHOD_NOT_ALLOWED", `there is no ${c.req.method} ${c.req.path}`, {
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
      throw new OperatingError("ROUTE_NOT_FOUND", `there is no ${c.req.method} ${c.req.path.slice(0, 200)}`, {
        hint: "GET /openapi.json lists what there is.",
      });
    });
  });
  return { app, routes, endStreams: () => streams.endAll() };
}

interface Gates {
  readonly ports: ControlPorts;
  readonly access: Access;
  readonly limits: Limits;
}

/** Who it is, whether it asks too often, and whether there is somebody home. */
function admit(c: Context<Env>, route: Route, { ports, access, limits }: Gates, asked: Asked): Caller {
  const caller = access.check(c.env.incoming, c.env.cameBy, route);
  asked.caller = caller;
  // A node is held to its limit once it has proven who it is: nobody spends another's.
  if (c.env.cameBy !== "socket" && caller.prove === undefined) keepToLimit(caller, route, limits);
  if (route.scope === "probe") return caller;
  const phase = ports.phase();
  if (phase === "starting")
    throw new OperatingError("STARTING", "the process is still starting", {
      retryable: true,
      details: { retryAfterSeconds: 1 },
    });
  if (phase === "stopping")
    throw new OperatingError("STOPPING", "the process stops", { retryable: true, details: { retryAfterSeconds: 5 } });
  return caller;
}

function keepToLimit(caller: Caller, route: Route, limits: Limits): void {
  const wait = limits.take(caller.tokenId ?? caller.nodeId ?? `${caller.actor} ${caller.from}`, route.limit);
  if (wait > 0) throw tooMany(wait, `more requests of the kind '${route.limit}' than are allowed`);
}

interface Stage {
  readonly limits: Limits;
  readonly ports: ControlPorts;
  readonly routes: readonly Route[];
  readonly streams: Streams;
  readonly waiting: Waiting;
}

async function perform(
  c: Context<Env>,
  route: Route,
  caller: Caller,
  requestId: string,
  { limits, ports, routes, streams, waiting }: Stage,
): Promise<Response> {
  const { type } = route.answers[usualStatus(route)]!;
  const text = route.body === null ? undefined : await readText(c.env.incoming, route.mostBodyBytes);
  const promised = c.req.header(BODY_HASH_HEADER);
  const proven = !route.bytes || caller.prove === undefined || promised !== undefined;
  if (proven) caller.prove?.(route.bytes ? String(promised) : hash("sha256", text ?? "", "hex"));
  if (proven && caller.prove !== undefined) keepToLimit(caller, route, limits);
  // Its head is the same as that of a GET; there is no body to wait for.
  if (route.endless && c.req.method === "HEAD") return new Response(null, { headers: { "content-type": type } });
  const call: Call = {
    ports,
    routes,
    caller,
    requestId,
    method: c.req.method,
    waiting,
    get signal() {
      return c.req.raw.signal;
    },
    params: parse(route.params, c.req.param(), "path"),
    query: parse(route.query, queryOf(c.req.url), "query"),
    body: route.body === null ? undefined : parse(route.body, bodyOf(c, text ?? "")),
    upload: route.bytes ? uploadOf(c, caller, promised, proven) : undefined,
    headers: c.env.incoming.headers as Readonly<Record<string, string | undefined>>,
    lastEventId: lastEventIdOf(c.req.header("last-event-id")),
    stream: (run) => streams.open(caller, c.req.raw.signal, { "content-type": type }, run),
  };
  const given = await route.handle(call);
  if (given instanceof Response) return given;
  const reply = given instanceof Reply ? given : new Reply(usualStatus(route), given);
  if (reply.type === undefined) return Response.json(reply.body, { status: reply.status });
  return new Response(String(reply.body), { status: reply.status, headers: { "content-type": reply.type } });
}

/** Bytes as they come. A hash that was promised, and signed, must be that of what came. */
function uploadOf(c: Context<Env>, caller: Caller, promised: string | undefined, proven: boolean): Upload {
  const announced = c.env.incoming.headers["content-length"];
  if (announced === undefined || !/^\d{1,15}$/.test(announced))
    throw new OperatingError("LENGTH_REQUIRED", "a request with bytes must say how many come (Content-Length)");
  return {
    bytes: c.env.incoming,
    length: Number(announced),
    proven,
    prove(bodySha256) {
      if (proven && promised !== undefined && promised !== bodySha256)
        throw new OperatingError("BAD_SIGNATURE", `the body is not the one that ${BODY_HASH_HEADER} promises`);
      if (!proven) caller.prove?.(bodySha256);
    },
  };
}

function bodyOf(c: Context<Env>, text: string): unknown {
  // A form that a foreign page sends without asking first is never JSON. No page reaches the socket.
  if (text !== "" && c.env.cameBy !== "socket" && !isJson(c.req.header("content-type") ?? null))
    throw new OperatingError("UNSUPPORTED_MEDIA_TYPE", "a body must be JSON and say so", {
      hint: "Send 'Content-Type: application/json'.",
    });
  return jsonOf(text);
}

const lastEventIdOf = (header: string | undefined): number | undefined => {
  if (header === undefined || header === "") return undefined;
  const place = Number(header);
  if (!/^\d{1,16}$/.test(header) || !Number.isSafeInteger(place))
    throw new OperatingError("INVALID_REQUEST", "Last-Event-ID: not a place in the journal");
  return place;
};
