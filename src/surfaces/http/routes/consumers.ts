import { z } from "zod";
import { unitNameOf } from "../../../daemons/index.ts";
import { OperatingError } from "../../../kernel/index.ts";
import { consumerStatus, inUnixSeconds, type Session } from "../../../router/index.ts";
import { ingestFor } from "../ingest.ts";
import { onTheWire } from "../on-the-wire.ts";
import { type Call, type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "consumers";
const BEAT_MS = 5_000;
const MOST_BODY_BYTES = 16 * 1_024 * 1_024;
const base = "/v1/consumers/{consumer}/sessions";
const one = z.strictObject({ consumer: schema.name });
const both = z.strictObject({ consumer: schema.name, session: schema.name });

const delivered = (batch: Awaited<ReturnType<Session["poll"]>>) =>
  batch.map(({ event, attempt }) => ({ attempt, event: onTheWire(event) }));

/**
 * What the units of this process are owed is theirs, also while they are held or stopped: nobody outside reads it in their
 * place or gives it up for them.
 */
const refuseOwn = ({ ports, params: { consumer } }: Pick<Call<z.output<typeof one>>, "ports" | "params">): void => {
  const unit = unitNameOf(consumer);
  const place = consumer.slice(unit.length + 1);
  const here = place === "" || place === ports.router.nodeId || place.startsWith(`${ports.router.nodeId}/`);
  if (here && ports.daemons.holds().has(unit))
    throw new OperatingError("INVALID_CONSUMER", `'${consumer}' is a unit of the main process`, {
      hint: "Choose another name; 'ringrift daemons' stops and pauses units.",
    });
};

const sessionOf = ({ ports, params }: Call<z.output<typeof both>>): Session =>
  ports.router.session(params.consumer, params.session);

const seqs = z.array(z.int());

/**
 * Consumers of other processes. A session is opened under a stable name; deliveries are polled or streamed to it and end
 * with an ack or a nack. Who comes back reads on from where it was.
 */
export const consumerRoutes: readonly Route[] = [
  route({
    id: "listConsumers",
    method: "GET",
    path: "/v1/consumers",
    tag,
    summary: "Durable consumers, with their place in the journal.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "One row for each.", schema: z.object({ consumers: z.array(schema.document) }) } },
    handle: ({ ports }) => ({ consumers: consumerStatus(ports.store).map(inUnixSeconds) }),
  }),
  route({
    id: "forgetConsumer",
    method: "DELETE",
    path: "/v1/consumers/{consumer}",
    tag,
    summary: "Says goodbye for a consumer: it is owed nothing any more.",
    scope: "operator",
    limit: "write",
    params: one,
    answers: { 200: { about: "How many deliveries it is forgiven.", schema: z.object({ forgiven: z.int() }) } },
    handle(call) {
      refuseOwn(call);
      return call.ports.router.forgetConsumer(call.params.consumer);
    },
  }),
  route({
    id: "openSession",
    method: "POST",
    path: base,
    tag,
    summary: "Opens a session; another one of the same consumer ends with it.",
    scope: "worker",
    limit: "traffic",
    params: one,
    body: schema.openSessionBody,
    answers: {
      200: { about: "It is open.", schema: z.object({ session_id: z.string(), consumer: z.string() }) },
    },
    record: "after",
    async handle({ ports, params, body }) {
      refuseOwn({ ports, params });
      const session = await ports.router.openSession({
        consumer: params.consumer,
        eventTypes: body.event_types,
        start: body.start,
        version: body.version,
        ...(body.lease_seconds === undefined ? {} : { leaseMs: body.lease_seconds * 1_000 }),
      });
      return { session_id: session.id, consumer: session.consumer };
    },
  }),
  route({
    id: "pollSession",
    method: "POST",
    path: `${base}/{session}/poll`,
    tag,
    summary: "Takes deliveries, and waits for some.",
    scope: "worker",
    limit: "traffic",
    params: both,
    body: schema.pollBody,
    answers: {
      200: {
        about: "What is leased to you now.",
        schema: z.object({ deliveries: z.array(z.object({ attempt: z.int(), event: schema.cloudEvent })) }),
      },
    },
    record: "no",
    async handle(call) {
      const { max, wait_seconds } = call.body;
      return { deliveries: delivered(await sessionOf(call as never).poll(max, wait_seconds * 1_000, call.signal)) };
    },
  }),
  route({
    id: "ackSession",
    method: "POST",
    path: `${base}/{session}/ack`,
    tag,
    summary: "Done, together with what follows from it.",
    scope: "worker",
    limit: "traffic",
    params: both,
    body: schema.ackBody,
    mostBodyBytes: MOST_BODY_BYTES,
    answers: {
      200: { about: "What counted, and what was no longer yours.", schema: z.object({ acked: seqs, refused: seqs }) },
    },
    record: "after",
    handle(call) {
      const { ports, body, caller } = call;
      const session = sessionOf(call as never);
      const emitted = body.emit.map(ingestFor(ports, caller));
      return session.ack(body.seqs, emitted);
    },
  }),
  route({
    id: "nackSession",
    method: "POST",
    path: `${base}/{session}/nack`,
    tag,
    summary: "It failed here: one try is spent.",
    scope: "worker",
    limit: "traffic",
    params: both,
    body: schema.nackBody,
    answers: {
      200: { about: "What becomes of it.", schema: z.object({ outcome: z.enum(["retrying", "dead", "refused"]) }) },
    },
    record: "after",
    handle: async (call) => ({ outcome: await sessionOf(call as never).nack(call.body.seq, call.body.error) }),
  }),
  route({
    id: "closeSession",
    method: "DELETE",
    path: `${base}/{session}`,
    tag,
    summary: "Ends a session in good order: what is not acknowledged goes back, and no try is spent.",
    scope: "worker",
    limit: "traffic",
    params: both,
    answers: { 200: { about: "It is closed.", schema: z.object({ closed: z.literal(true) }) } },
    record: "after",
    async handle(call) {
      await call.ports.router.closeSession(sessionOf(call as never), false);
      return { closed: true };
    },
  }),
  route({
    id: "streamSession",
    method: "GET",
    path: `${base}/{session}/stream`,
    tag,
    summary:
      "Deliveries as they come, as JSON lines; an empty line is a sign of life. A lost connection ends the session.",
    scope: "worker",
    limit: "stream",
    params: both,
    query: schema.streamQuery,
    answers: {
      200: { about: "JSON lines `{attempt, event}`.", schema: z.string(), type: "application/x-ndjson" },
    },
    endless: true,
    handle(call) {
      const { ports, query } = call;
      const session = sessionOf(call as never);
      return call.stream(async ({ write, signal }) => {
        try {
          while (!session.closed && !signal.aborted) {
            const room = query.credit - session.held;
            const batch =
              room > 0 ? await session.poll(Math.min(room, 256), BEAT_MS, signal) : await session.room(BEAT_MS, signal);
            const lines = delivered(batch ?? []).map((each) => `${JSON.stringify(each)}\n`);
            if (!signal.aborted) await write(lines.length === 0 ? "\n" : lines.join(""));
          }
        } catch (thrown) {
          // The session's end ends the stream; the client asks again and is told why.
          if (!session.closed) throw thrown;
        } finally {
          // When we are the ones who leave, nobody has failed.
          if (!session.closed) await ports.router.closeSession(session, ports.phase() !== "stopping");
        }
      });
    },
  }),
];
