import type { IncomingMessage } from "node:http";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { stream } from "hono/streaming";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import {
  type AnyEvent,
  consumerStatus,
  type DeadLetterFilter,
  type EventRouter,
  eventById,
  eventsOfTrace,
  fromStored,
  inUnixSeconds,
  pairsOfEvent,
} from "../../router/index.ts";
import { checkAccess } from "./access.ts";
import { eventsOfBody, ingest, onTheWire } from "./ingest.ts";
import { problemOf } from "./problem.ts";
import { type Env, parse, readJson } from "./request.ts";
import * as schema from "./schemas.ts";
import { sessionRoutes } from "./sessions.ts";

const MOST_BODY_BYTES = 16 * 1024 * 1024;
const MOST_EVENTS = 1_000;

export interface ApiOptions {
  readonly router: EventRouter;
  readonly clock: Clock;
  readonly token: string;
  /** The whole state of the process, for `/status`. */
  readonly status: () => Readonly<Record<string, unknown>>;
  readonly audit: () => unknown;
}

const filterOf = (given: z.output<typeof schema.deadLetterActionBody>): DeadLetterFilter => ({
  ...(given.id === undefined ? {} : { id: given.id }),
  ...(given.event_id === undefined ? {} : { eventId: given.event_id }),
  ...(given.consumer === undefined ? {} : { consumer: given.consumer }),
  ...(given.event_type === undefined ? {} : { eventType: given.event_type }),
  ...(given.fingerprint === undefined ? {} : { fingerprint: given.fingerprint }),
  ...(given.before === undefined ? {} : { before: given.before * 1_000 }),
});

/** The local API: other processes publish, consume and ask through it. */
export function createApi(options: ApiOptions): Hono<Env> {
  const { router, clock } = options;
  const app = new Hono<Env>();
  app.onError((thrown, c) => {
    const problem = problemOf(thrown);
    return c.json(problem, problem.status as ContentfulStatusCode, { "content-type": "application/problem+json" });
  });
  app.notFound((c) => {
    const problem = problemOf(new OperatingError("ROUTE_NOT_FOUND", `there is no ${c.req.method} ${c.req.path}`));
    return c.json(problem, 404, { "content-type": "application/problem+json" });
  });
  app.use(async (c, next) => {
    checkAccess(c.env.incoming as IncomingMessage, c.env.cameBy, options.token);
    await next();
  });
  app.use(
    bodyLimit({
      maxSize: MOST_BODY_BYTES,
      onError: () => {
        throw new OperatingError("PAYLOAD_TOO_LARGE", `a request may have ${MOST_BODY_BYTES} bytes`);
      },
    }),
  );

  app.get("/livez", (c) => c.json({ status: "ok" }));
  app.get("/status", (c) => c.json(options.status()));
  app.get("/v1/audit", (c) => c.json(options.audit() as Record<string, unknown>));
  eventRoutes(app, options);
  deadLetterRoutes(app, router);
  sessionRoutes(app, router, clock);
  app.get("/v1/consumers", (c) => c.json({ consumers: consumerStatus(router.store).map(inUnixSeconds) }));
  app.delete("/v1/consumers/:consumer", async (c) => c.json(await router.forgetConsumer(c.req.param("consumer"))));
  return app;
}

function eventRoutes(app: Hono<Env>, { router, clock }: ApiOptions): void {
  app.post("/v1/events", async (c) => {
    const body = await readJson(c, z.unknown());
    const prepared = eventsOfBody(body, MOST_EVENTS).map((json) => ingest(router, clock, json));
    const published = await router.publishAll(prepared);
    const events = published.map(({ eventId, eventType, seq, suppressed }) => ({
      event_id: eventId,
      event_type: eventType,
      seq,
      suppressed,
    }));
    return c.json({ events });
  });
  app.get("/v1/events", (c) => {
    const query = parse(schema.historyQuery, c.req.query());
    const { event_type: eventType, order_key: orderKey, ...rest } = query;
    const filter = {
      ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
      ...(eventType === undefined ? {} : { eventType }),
      ...(orderKey === undefined ? {} : { orderKey }),
    };
    return c.json({ events: router.history({ ...filter, fromJournal: true }).map(onTheWire) });
  });
  app.get("/v1/events/:id", (c) => {
    const stored = eventById(router.store, c.req.param("id"));
    if (stored === undefined)
      throw new OperatingError("EVENT_NOT_FOUND", `no event ${c.req.param("id")} in the journal`);
    const deliveries = pairsOfEvent(router.store, stored.seq);
    return c.json({ event: onTheWire(fromStored(router.catalog, stored)), deliveries });
  });
  app.get("/v1/events/:id/trace", (c) => {
    const stored = eventById(router.store, c.req.param("id"));
    if (stored === undefined)
      throw new OperatingError("EVENT_NOT_FOUND", `no event ${c.req.param("id")} in the journal`);
    const events = eventsOfTrace(router.store, stored.trace_id, 10_000).map((row) => ({
      event: onTheWire(fromStored(router.catalog, row)),
      deliveries: pairsOfEvent(router.store, row.seq),
    }));
    return c.json({ trace_id: stored.trace_id, events });
  });
  app.get("/v1/stream", (c) => {
    const types = c.req.queries("event_type") ?? [];
    // Before the answer begins: a name that is refused is an answer of its own.
    const heard = listen(router, types);
    return stream(c, (out) => tail(heard, out));
  });
}

interface Out {
  write(text: string): Promise<unknown>;
  onAbort(listener: () => void): void;
}

interface Heard {
  /** What was heard since the last call, and how many more there was no room for. */
  take(): { events: AnyEvent[]; missed: number };
  /** Told when there is something to take. */
  onMore(wake: () => void): void;
  stop(): void;
}

/** Listens to some events, or to all; what nobody takes is kept up to a bound and then counted. */
function listen(router: EventRouter, types: readonly string[]): Heard {
  let waiting: AnyEvent[] = [];
  let missed = 0;
  let wake = () => {};
  const hear = (event: AnyEvent) => {
    if (waiting.length >= 10_000) missed += 1;
    else waiting.push(event);
    wake();
  };
  const stops: (() => void)[] = [];
  const stop = () => {
    for (const end of stops.splice(0)) end();
  };
  try {
    for (const type of types.length === 0 ? [null] : types)
      stops.push(router.subscribe(type, hear, { name: "stream", view: "crossProcess" }));
  } catch (thrown) {
    stop();
    throw thrown;
  }
  return {
    take() {
      const taken = { events: waiting, missed };
      waiting = [];
      missed = 0;
      return taken;
    },
    onMore(call) {
      wake = call;
    },
    stop,
  };
}

/** What happens from now on, as JSON lines; a reader that is too slow is told how many it missed. */
async function tail(heard: Heard, out: Out): Promise<void> {
  let open = true;
  let wake = () => {};
  heard.onMore(() => wake());
  out.onAbort(() => {
    open = false;
    wake();
  });
  try {
    await out.write("\n");
    while (open) {
      const { events, missed } = heard.take();
      const lines = events.map((event) => `${JSON.stringify({ event: onTheWire(event) })}\n`);
      if (missed > 0) lines.push(`${JSON.stringify({ missed })}\n`);
      if (lines.length > 0) await out.write(lines.join(""));
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    heard.stop();
  }
}

function deadLetterRoutes(app: Hono<Env>, router: EventRouter): void {
  const { deadLetters } = router;
  app.get("/v1/dead-letters", (c) => {
    const { limit, status, ...rest } = parse(schema.deadLetterQuery, c.req.query());
    const filter = filterOf({ ...rest, max_events: limit, dry_run: true, actor: "" });
    return c.json({
      dead_letters: deadLetters.list(status === undefined ? filter : { ...filter, status }, limit).map(inUnixSeconds),
    });
  });
  app.get("/v1/dead-letters/summary", (c) =>
    c.json({ counts: deadLetters.counts(), groups: deadLetters.getErrorSummary(100).map(inUnixSeconds) }),
  );
  app.post("/v1/dead-letters/retry", async (c) => {
    const body = await readJson(c, schema.deadLetterActionBody);
    const letters = await deadLetters.retryAll({
      filter: filterOf(body),
      maxEvents: body.max_events,
      dryRun: body.dry_run,
      actor: body.actor,
      ...(body.per_second === undefined ? {} : { perSecond: body.per_second }),
    });
    return c.json({ dry_run: body.dry_run, dead_letters: letters.map(inUnixSeconds) });
  });
  app.post("/v1/dead-letters/discard", async (c) => {
    const body = await readJson(c, schema.deadLetterActionBody);
    const letters = await deadLetters.discard({
      filter: filterOf(body),
      maxEvents: body.max_events,
      dryRun: body.dry_run,
      actor: body.actor,
    });
    return c.json({ dry_run: body.dry_run, dead_letters: letters.map(inUnixSeconds) });
  });
  app.post("/v1/dead-letters/cleanup", async (c) => {
    const { older_than_hours } = await readJson(c, z.strictObject({ older_than_hours: z.number().min(0).max(1e6) }));
    return c.json({ deleted: await deadLetters.cleanup(older_than_hours) });
  });
}
