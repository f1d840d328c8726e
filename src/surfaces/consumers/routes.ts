import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { Session } from "../../router/index.ts";
import { ingestFor } from "../events/ingest.ts";
import { PIECE_BYTES } from "../events/live-events.ts";
import { onTheWire } from "../http/cloud-event.ts";
import { ownUnits } from "../http/node-callers.ts";
import type { ControlPorts } from "../http/ports.ts";
import { type Call, handle, type Route } from "../http/route.ts";
import {
  ackSession,
  closeSession,
  forgetConsumer,
  listConsumers,
  nackSession,
  openSession,
  pollSession,
  streamSession,
} from "./wire.ts";

const BEAT_MS = 5_000;

const delivered = (batch: Awaited<ReturnType<Session["poll"]>>) =>
  batch.map(({ event, attempt }) => ({ attempt, event: onTheWire(event) }));

/** Deliveries as lines, in pieces that are soon on their way; an empty line where there are none. */
function* linesOf(batch: Awaited<ReturnType<Session["poll"]>>): Generator<string> {
  let piece = batch.length === 0 ? "\n" : "";
  for (const each of delivered(batch)) {
    if (piece.length > PIECE_BYTES) {
      yield piece;
      piece = "";
    }
    piece += `${JSON.stringify(each)}\n`;
  }
  yield piece;
}

/**
 * What the units of this process are owed is theirs, also while they are held or stopped: nobody outside reads it in their
 * place or gives it up for them.
 */
const refuseOwn = (ports: ControlPorts, consumer: string): void => {
  if (ownUnits(ports)(consumer))
    throw OperatingError.invalid("INVALID_CONSUMER", `'${consumer}' is a unit of the main process`, {
      hint: "Choose another name; 'ringrift daemons' stops and pauses units.",
    });
};

type OfSession = Pick<Call<{ readonly consumer: string; readonly session: string }>, "ports" | "params">;

const sessionOf = ({ ports, params }: OfSession): Session => ports.router.session(params.consumer, params.session);

/**
 * Consumers of other processes. A session is opened under a stable name; deliveries are polled or streamed to it and end
 * with an ack or a nack. Who comes back reads on from where it was.
 */
export const consumerRoutes: readonly Route[] = [
  handle(listConsumers, ({ ports }) => ({ consumers: ports.router.consumers() })),
  handle(forgetConsumer, ({ ports, params: { consumer } }) => {
    refuseOwn(ports, consumer);
    return ports.router.forgetConsumer(consumer);
  }),
  handle(openSession, async ({ ports, params: { consumer }, body, caller }) => {
    refuseOwn(ports, consumer);
    const { event_types: eventTypes, start, version, lease_seconds } = body;
    const leaseMs = lease_seconds === undefined ? {} : { leaseMs: lease_seconds * 1_000 };
    const session = await ports.router.openSession({
      ...{ consumer, eventTypes, start, version, ...leaseMs },
      // Whoever is at the socket may do anything here.
      madeBy: caller.tokenId ?? caller.nodeId,
    });
    return { session_id: session.id, consumer: session.consumer };
  }),
  handle(pollSession, async (call) => {
    const { max, wait_seconds } = call.body;
    return { deliveries: delivered(await sessionOf(call).poll(max, wait_seconds * 1_000, call.signal)) };
  }),
  handle(ackSession, (call) => {
    const { ports, body, caller } = call;
    const session = sessionOf(call);
    return session.ack(body.seqs, body.emit.map(ingestFor(ports, caller)));
  }),
  handle(nackSession, async (call) => ({ outcome: await sessionOf(call).nack(call.body.seq, call.body.error) })),
  handle(closeSession, async (call) => {
    await call.ports.router.closeSession(sessionOf(call), false);
    return { closed: true as const };
  }),
  handle(streamSession, (call) => {
    const { ports, query } = call;
    const session = sessionOf(call);
    return call.stream(async ({ write, signal }) => {
      try {
        while (!session.closed && !signal.aborted) {
          const room = query.credit - session.held;
          const batch =
            room > 0 ? await session.poll(Math.min(room, 256), BEAT_MS, signal) : await session.room(BEAT_MS, signal);
          for (const lines of linesOf(batch ?? [])) if (!signal.aborted) await write(lines);
        }
      } catch (thrown) {
        // The session's end ends the stream; the client asks again and is told why.
        if (!session.closed) throw thrown;
      } finally {
        // When we are the ones who leave, or need its room for others, nobody has failed.
        const isOurDoing = ports.phase() === "stopping" || isOperatingError(signal.reason, "STREAM_TOO_SLOW");
        if (!session.closed) await ports.router.closeSession(session, !isOurDoing);
      }
    });
  }),
];
