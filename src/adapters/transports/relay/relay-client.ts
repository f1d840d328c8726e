/** Both ends of a relay: the node that parks connections, and the one that is put through. */
import { Agent, request, type Server } from "node:http";
import { request as tlsRequest } from "node:https";
import type { Socket } from "node:net";
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
import { pinned, trustFor } from "../http/asker.ts";
import { type Bearer, PROOF_HEADER, proofOf, TICKET_HEADER } from "../http/proof.ts";
import { HERE, KEEP_ALIVE_MS, KNOCK, RELAY_PROTOCOL } from "./relay-server.ts";

/** Where connections wait for callers. */
export interface RelayPlace {
  readonly url: string;
  /** SHA-256 of its certificate, where it is not one that the system trusts. */
  readonly fingerprint?: string | undefined;
  readonly ca?: string | undefined;
}

/** A relay that does not even answer in this time is not there: a line that was cut says nothing by itself. */
const DIAL_MS = 10_000;

/** A connection through the relay; rejects with what the relay said. */
function dial(
  relay: RelayPlace,
  path: string,
  headers: Readonly<Record<string, string>>,
  ended?: AbortSignal,
): Promise<Socket> {
  const url = new URL(path, relay.url);
  const isTls = url.protocol === "https:";
  const late = AbortSignal.timeout(DIAL_MS);
  const signal = ended === undefined ? late : AbortSignal.any([ended, late]);
  return new Promise((resolve, reject) => {
    const outgoing = (isTls ? tlsRequest : request)(url, {
      agent: false,
      headers: { ...headers, connection: "Upgrade", upgrade: RELAY_PROTOCOL },
      ...(isTls ? trustFor(relay) : {}),
    });
    if (isTls) pinned(outgoing, relay.fingerprint);
    // Only until there is an answer: what comes of it lives as long as it is used.
    const stop = () => outgoing.destroy(signal.reason as Error);
    signal.addEventListener("abort", stop, { once: true });
    const answered = () => signal.removeEventListener("abort", stop);
    outgoing.once("upgrade", (_, socket, first) => {
      answered();
      socket.on("error", () => socket.destroy());
      if (first.length > 0) socket.unshift(first);
      // Over plain HTTP or TLS it is one of these.
      resolve(socket as Socket);
    });
    outgoing.once("response", (answer) => {
      answered();
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
    outgoing.once("error", (thrown) => {
      answered();
      reject(
        OperatingError.unavailable("PLACE_UNREACHABLE", `the relay does not answer: ${messageOf(thrown)}`, {
          cause: thrown,
        }),
      );
    });
    outgoing.end();
  });
}

/** Connections to a node through the relay, for the HTTP transport. */
export function relayAgent(relay: RelayPlace, nodeId: string, ticket: string, bearer: Bearer): Agent {
  const path = `/v1/relay/to/${nodeId}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  agent.createConnection = (_options, done) => {
    dial(relay, path, { [TICKET_HEADER]: ticket, [PROOF_HEADER]: proofOf(bearer, ticket, "GET", path) }).then(
      (socket) => done?.(null, socket),
      (thrown: Error) => done?.(thrown, undefined as unknown as Duplex),
    );
    return undefined;
  };
  return agent;
}

export interface ParkOptions {
  readonly relay: RelayPlace;
  readonly bearer: Bearer;
  /** What serves whoever is put through. */
  readonly server: Server;
  readonly clock: Clock;
  readonly random: Random;
  /** Connections that wait at the relay. */
  readonly connections?: number;
}

/** Keeps some connections waiting at the relay, and makes a new one whenever one is used or lost. */
export function parkAtRelay({ relay, bearer, server, clock, random, connections = 4 }: ParkOptions) {
  const ended = new AbortController();
  const open = new Set<Duplex>();
  const waiting = new Set<Duplex>();
  const { signal } = ended;
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();
  /** Until somebody is put through on it, or it is lost. Only who was called is a caller: one who waits would be taken for a slow one. */
  const wait = (socket: Socket) =>
    new Promise<void>((resolve) => {
      // A line that was cut says nothing by itself, and who waits says nothing either.
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      socket.once("close", () => {
        open.delete(socket);
        resolve();
      });
      socket.once("readable", () => {
        const knock = socket.read(1) as Buffer | null;
        if (knock?.[0] !== KNOCK) return void socket.destroy();
        socket.write(Buffer.of(HERE));
        server.emit("connection", socket);
        resolve();
      });
    });
  const keepOne = async (): Promise<void> => {
    for (let failures = 0; !signal.aborted; )
      try {
        const path = `/v1/relay/park?at=${Math.floor(clock.now() / 1_000)}`;
        const socket = await dial(relay, path, { [PROOF_HEADER]: proofOf(bearer, "park", "GET", path) }, signal);
        failures = 0;
        open.add(socket);
        waiting.add(socket);
        isReady();
        await wait(socket).finally(() => waiting.delete(socket));
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
    /** Whether somebody could be put through now. */
    isWaiting: (): boolean => waiting.size > 0,
    async close(): Promise<void> {
      ended.abort(new Error("it ends"));
      for (const socket of open) socket.destroy();
      await running;
    },
  };
}
