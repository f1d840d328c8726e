/** Both ends of a relay: the node that parks connections, and the one that is put through. */
import { Agent, request, type Server } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Duplex } from "node:stream";
import {
  backoffMs,
  type Clock,
  kindOfStatus,
  messageOf,
  OperatingError,
  PEER_BACKOFF,
  type Random,
  sleep,
} from "../../../kernel/index.ts";
import { type Bearer, PROOF_HEADER, proofOf, TICKET_HEADER } from "../http/proof.ts";
import { RELAY_PROTOCOL } from "./relay-server.ts";

/** A connection through the relay; rejects with what the relay said. */
function dial(
  relayUrl: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Duplex> {
  const url = new URL(path, relayUrl);
  const send = url.protocol === "https:" ? tlsRequest : request;
  return new Promise((resolve, reject) => {
    const outgoing = send(url, {
      agent: false,
      headers: { ...headers, connection: "Upgrade", upgrade: RELAY_PROTOCOL },
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.once("upgrade", (_, socket, first) => {
      socket.on("error", () => socket.destroy());
      if (first.length > 0) socket.unshift(first);
      resolve(socket);
    });
    outgoing.once("response", (answer) => {
      answer.resume();
      const status = answer.statusCode ?? 500;
      reject(
        new OperatingError(
          kindOfStatus(status),
          status === 503 ? "PLACE_UNREACHABLE" : "RELAY_REFUSED",
          `the relay answers ${status}`,
          { retryable: status >= 500 || status === 429 },
        ),
      );
    });
    outgoing.once("error", (thrown) =>
      reject(
        OperatingError.unavailable("PLACE_UNREACHABLE", `the relay does not answer: ${messageOf(thrown)}`, {
          cause: thrown,
        }),
      ),
    );
    outgoing.end();
  });
}

/** Connections to a node through the relay, for the HTTP transport. */
export function relayAgent(relayUrl: string, nodeId: string, ticket: string, bearer: Bearer): Agent {
  const path = `/v1/relay/to/${nodeId}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  agent.createConnection = (_options, done) => {
    dial(relayUrl, path, { [TICKET_HEADER]: ticket, [PROOF_HEADER]: proofOf(bearer, ticket, "GET", path) }).then(
      (socket) => done?.(null, socket),
      (thrown: Error) => done?.(thrown, undefined as unknown as Duplex),
    );
    return undefined;
  };
  return agent;
}

export interface ParkOptions {
  readonly relayUrl: string;
  readonly bearer: Bearer;
  /** What serves whoever is put through. */
  readonly server: Server;
  readonly clock: Clock;
  readonly random: Random;
  /** Connections that wait at the relay. */
  readonly connections?: number;
}

/** Keeps some connections waiting at the relay, and makes a new one whenever one is used or lost. */
export function parkAtRelay({ relayUrl, bearer, server, clock, random, connections = 4 }: ParkOptions) {
  const ended = new AbortController();
  const open = new Set<Duplex>();
  const { signal } = ended;
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  const keepOne = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; )
      try {
        const path = `/v1/relay/park?at=${Math.floor(clock.now() / 1_000)}`;
        const socket = await dial(relayUrl, path, { [PROOF_HEADER]: proofOf(bearer, "park", "GET", path) }, signal);
        failures = 0;
        open.add(socket);
        isReady();
        await new Promise<void>((resolve) => {
          socket.once("close", () => {
            open.delete(socket);
            resolve();
          });
          // Only somebody who speaks is a caller: one who waits would be taken for a slow one, and ended.
          socket.once("readable", () => {
            server.emit("connection", socket);
            resolve();
          });
        });
      } catch {
        if (signal.aborted) return;
        failures += 1;
        await sleep(clock, backoffMs(PEER_BACKOFF, failures, random), signal).catch(() => undefined);
      }
  };
  const running = Promise.all(Array.from({ length: connections }, keepOne));
  return {
    /** Resolves once somebody can be put through. */
    ready,
    async close(): Promise<void> {
      ended.abort(new Error("it ends"));
      for (const socket of open) socket.destroy();
      await running;
    },
  };
}
