/**
 * A switchboard beside the coordinator for nodes that nobody can reach. Such a node dials out and parks connections here; who has a
 * ticket for it is put through on one of them, and from then on bytes pass unseen. It belongs on a thread: every byte passes it twice.
 */

import type { KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Clock, isOperatingError, messageOf, OperatingError } from "../../../kernel/index.ts";
import { type Budget, checkTicket } from "../../../sync/transfer/index.ts";
import { type ServerRefusal, tellRefusal } from "../http/artifact-server.ts";
import { bearerOf, PROOF_HEADER, TICKET_HEADER } from "../http/proof.ts";

export const RELAY_PROTOCOL = "ringrift-relay";
/** Who is put through is called first, and answers: one that was cut off looks as if it still waited. */
export const KNOCK = 0x05;
export const HERE = 0x06;
const KNOCK_MS = 1_500;
export const KEEP_ALIVE_MS = 5_000;
const MAX_PARKED_OF_ONE = 16;
const MAX_PARKED = 4_096;
const MAX_SKEW_MS = 300_000;

export interface RelayServerOptions {
  /** The coordinator's public key. */
  readonly key: KeyObject;
  /** Whether a node of this id has joined. */
  readonly isKnown: (nodeId: string) => boolean;
  readonly clock: Pick<Clock, "now">;
  readonly budget: Budget;
  readonly onRefused: (refusal: ServerRefusal) => void;
  readonly maxTunnels?: number;
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const given = request.headers[name];
  return Array.isArray(given) ? undefined : given;
};

/** Whether who waits answers to a knock. */
const isThere = (node: Duplex): Promise<boolean> =>
  new Promise((resolve) => {
    const end = (answer: boolean) => {
      clearTimeout(late);
      node.off("readable", listen);
      node.off("close", gone);
      resolve(answer);
    };
    const listen = () => {
      const byte = node.read(1) as Buffer | null;
      if (byte !== null) end(byte[0] === HERE);
    };
    const gone = () => end(false);
    const late = setTimeout(gone, KNOCK_MS);
    node.on("readable", listen);
    node.once("close", gone);
    node.write(Buffer.of(KNOCK));
  });

/** A relay by itself. */
export function createRelayServer(options: RelayServerOptions): Server {
  const server = createServer((_, response) => void response.writeHead(426, { connection: "close" }).end());
  relayOn(server, options);
  return server;
}

/** Lets a server that answers other things also put callers through. */
export function relayOn(server: Server, options: RelayServerOptions): void {
  const { key, isKnown, clock, budget, onRefused, maxTunnels = 256 } = options;
  const parked = new Map<string, Set<Duplex>>();
  let parkedCount = 0;
  let tunnels = 0;

  const park = (nodeId: string, socket: Duplex): void => {
    const ofNode = parked.get(nodeId) ?? new Set<Duplex>();
    if (parkedCount >= MAX_PARKED || ofNode.size >= MAX_PARKED_OF_ONE)
      throw OperatingError.busy("RELAY_BUSY", `${parkedCount} connections wait here, ${ofNode.size} of them yours`);
    parked.set(nodeId, ofNode.add(socket));
    parkedCount += 1;
    socket.once("close", () => unpark(nodeId, socket));
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${RELAY_PROTOCOL}\r\nConnection: Upgrade\r\n\r\n`);
  };
  const unpark = (nodeId: string, socket: Duplex): void => {
    const ofNode = parked.get(nodeId);
    if (!ofNode?.delete(socket)) return;
    parkedCount -= 1;
    if (ofNode.size === 0) parked.delete(nodeId);
  };

  async function* paid(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of bytes) {
      await budget.spend(chunk.length, "low");
      yield chunk;
    }
  }
  /** Calls those who wait, the last to come first, until one answers. */
  const call = async (nodeId: string): Promise<Duplex> => {
    for (let node = [...(parked.get(nodeId) ?? [])].at(-1); node !== undefined; ) {
      unpark(nodeId, node);
      if (await isThere(node)) return node;
      node.destroy();
      node = [...(parked.get(nodeId) ?? [])].at(-1);
    }
    throw OperatingError.unavailable("PLACE_UNREACHABLE", `node ${nodeId} has no connection here at the moment`);
  };
  const connect = async (caller: Duplex, nodeId: string, first: Buffer): Promise<void> => {
    if (tunnels >= maxTunnels) throw OperatingError.busy("RELAY_BUSY", `${tunnels} connections pass here`);
    tunnels += 1;
    const node = await call(nodeId).catch((thrown: unknown) => {
      tunnels -= 1;
      throw thrown;
    });
    caller.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${RELAY_PROTOCOL}\r\nConnection: Upgrade\r\n\r\n`);
    if (first.length > 0) node.write(first);
    try {
      await Promise.all([pipeline(caller, node), pipeline(node, paid, caller)]);
    } catch {
      // Either side has gone: so has the other.
    } finally {
      tunnels -= 1;
      caller.destroy();
      node.destroy();
    }
  };

  /** `/v1/relay/park?at=<unix seconds>` by the node itself, `/v1/relay/to/<node>` by who has a ticket for it. */
  const admit = async (request: IncomingMessage, socket: Duplex, first: Buffer): Promise<void> => {
    const [path = "", method = ""] = [request.url, request.method];
    const proof = header(request, PROOF_HEADER);
    const url = new URL(path, "http://relay");
    if (url.pathname === "/v1/relay/park") {
      const nodeId = bearerOf(proof, "park", method, path);
      if (Math.abs(Number(url.searchParams.get("at")) * 1_000 - clock.now()) > MAX_SKEW_MS)
        throw OperatingError.denied("CLOCK_SKEW", `the clock of node ${nodeId} is off`, { details: { to: nodeId } });
      if (!isKnown(nodeId))
        throw OperatingError.denied("UNKNOWN_NODE", `no node '${nodeId}' has joined here`, { details: { to: nodeId } });
      return park(nodeId, socket);
    }
    const [, nodeId = ""] = /^\/v1\/relay\/to\/([\w.-]{1,200})$/.exec(url.pathname) ?? [];
    const ticket = header(request, TICKET_HEADER);
    const claim = checkTicket(ticket, { key, from: nodeId, nowMs: clock.now() });
    const bearer = bearerOf(proof, ticket ?? "", method, path);
    if (bearer !== claim.to)
      throw OperatingError.denied("TICKET_OF_ANOTHER", `the ticket is for node ${claim.to}, this is ${bearer}`, {
        details: { to: bearer },
      });
    await connect(socket, nodeId, first);
  };

  server.on("upgrade", (request: IncomingMessage, socket: Socket, first: Buffer) => {
    const from = socket.remoteAddress ?? "unknown";
    socket.on("error", () => socket.destroy());
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    admit(request, socket, first).catch((thrown: unknown) => {
      const error = isOperatingError(thrown) ? thrown : OperatingError.internal("RELAY_FAILED", messageOf(thrown));
      tellRefusal(error, from, onRefused);
      const { kind, code, message, status, retryable } = error;
      const body = JSON.stringify({ kind, code, detail: message, retryable });
      socket.end(
        `HTTP/1.1 ${status} Refused\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    });
  });
  server.on("close", () => {
    for (const ofNode of parked.values()) for (const socket of ofNode) socket.destroy();
  });
}
