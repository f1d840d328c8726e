import type { Hono } from "hono";
import { stream } from "hono/streaming";
import type { Clock } from "../../kernel/index.ts";
import type { EventRouter, Session } from "../../router/index.ts";
import { ingest, onTheWire } from "./ingest.ts";
import { type Env, parse, readJson } from "./request.ts";
import * as schema from "./schemas.ts";

const BEAT_MS = 5_000;

const delivered = (batch: Awaited<ReturnType<Session["poll"]>>) =>
  batch.map(({ event, attempt }) => ({ attempt, event: onTheWire(event) }));

/**
 * Consumers of other processes. A session is opened under a stable name; deliveries are polled or streamed to it and end
 * with an ack or a nack. Who comes back reads on from where it was.
 */
export function sessionRoutes(app: Hono<Env>, router: EventRouter, clock: Clock): void {
  const base = "/v1/consumers/:consumer/sessions";
  const sessionOf = (c: { req: { param(name: string): string | undefined } }) =>
    router.session(c.req.param("consumer") ?? "", c.req.param("session") ?? "");

  app.post(base, async (c) => {
    const body = await readJson(c, schema.openSessionBody);
    const session = await router.openSession({
      consumer: c.req.param("consumer"),
      eventTypes: body.event_types,
      start: body.start,
      version: body.version,
      ...(body.lease_seconds === undefined ? {} : { leaseMs: body.lease_seconds * 1_000 }),
    });
    return c.json({ session_id: session.id, consumer: session.consumer });
  });

  app.post(`${base}/:session/poll`, async (c) => {
    const { max, wait_seconds } = await readJson(c, schema.pollBody);
    const batch = await sessionOf(c).poll(max, wait_seconds * 1_000, c.req.raw.signal);
    return c.json({ deliveries: delivered(batch) });
  });

  app.post(`${base}/:session/ack`, async (c) => {
    const { seqs, emit } = await readJson(c, schema.ackBody);
    const session = sessionOf(c);
    const emitted = emit.map((json) => ingest(router, clock, json));
    return c.json(await session.ack(seqs, emitted));
  });

  app.post(`${base}/:session/nack`, async (c) => {
    const { seq, error } = await readJson(c, schema.nackBody);
    return c.json({ outcome: await sessionOf(c).nack(seq, error) });
  });

  app.delete(`${base}/:session`, async (c) => {
    await router.closeSession(sessionOf(c), false);
    return c.json({ closed: true });
  });

  /** JSON lines, pushed as they come, at most `credit` unacknowledged; an empty line is a beat. A lost connection ends the session. */
  app.get(`${base}/:session/stream`, (c) => {
    const { credit } = parse(schema.streamQuery, c.req.query());
    const session = sessionOf(c);
    return stream(c, async (out) => {
      const gone = new AbortController();
      out.onAbort(() => gone.abort());
      try {
        while (!session.closed && !gone.signal.aborted) {
          const room = credit - session.held;
          const batch =
            room > 0
              ? await session.poll(Math.min(room, 256), BEAT_MS, gone.signal)
              : await session.room(BEAT_MS, gone.signal);
          const lines = delivered(batch ?? []).map((one) => `${JSON.stringify(one)}\n`);
          if (!gone.signal.aborted) await out.write(lines.length === 0 ? "\n" : lines.join(""));
        }
      } catch (thrown) {
        // The session's end ends the stream; the client asks again and is told why.
        if (!session.closed) throw thrown;
      } finally {
        if (!session.closed) await router.closeSession(session, true);
      }
    });
  });
}
