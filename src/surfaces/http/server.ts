import { chmodSync, rmSync, statSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type Server,
} from "node:http";
import { createServer as createTlsServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Clock, type Log, messageOf, OperatingError, type Random } from "../../kernel/index.ts";
import type { Door } from "./access.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import type { Env } from "./request.ts";
import { type Identity, readIdentity, stampOf, type TlsFiles } from "./tls.ts";

export interface SurfaceOptions {
  readonly socketPath: string;
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsFiles | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly fetch: (request: Request, env: Env["Bindings"]) => Response | Promise<Response>;
}

export interface DoorReport {
  readonly door: string;
  readonly address: string;
  readonly ok: boolean;
  /** Surely not ours any more, and not just slow to answer. */
  readonly gone: boolean;
  readonly message: string;
}

/** The doors of a process, opened and kept: a Unix socket that only its owner can open, and a port. */
export interface Surface {
  readonly socketPath: string;
  readonly port: number;
  readonly host: string;
  readonly secure: boolean;
  open(): Promise<void>;
  /** Asks each door over itself whether it is ours and answers; takes up certificates that changed. */
  check(): Promise<readonly DoorReport[]>;
  /** Opens a door anew where it was; connections that were made through it live on. */
  reopen(door: string): Promise<void>;
  /** Whether the certificate speaks for this name. */
  speaksFor(name: string): boolean;
  close(): Promise<void>;
}

const LOOPBACK_HOSTS: readonly string[] = ["127.0.0.1", "localhost", "::1"];

/** A fleet keeps one open for each node that waits for work. */
const MOST_CONNECTIONS = 16_384;
/** Of one address, where others can come from. */
const MOST_OF_ONE_ADDRESS = 256;
const MOST_HEADER_BYTES = 16 * 1_024;
const CHECK_TIMEOUT_MS = 2_000;
const CLOSE_GRACE_MS = 1_000;

/** Whoever sends its request by drops is cut off: the head within 10 s, all of it within two minutes. */
const slowest = {
  maxHeaderSize: MOST_HEADER_BYTES,
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
};

const listen = (server: Server, where: { path: string } | { host: string; port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });

const statusOfParser: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", `a head may have ${MOST_HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request Timeout", "the request did not come in time"],
};

/** What is not even HTTP, or too much of it, is answered in the same words as the rest. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, title, detail] = statusOfParser[error.code ?? ""] ?? [400, "Bad Request", "this is not HTTP"];
  const problem = { ...problemOf(new OperatingError("INVALID_REQUEST", detail)), status };
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
}

/** What came of asking a door; no trouble is good news. */
interface Heard {
  readonly trouble: string;
  readonly gone: boolean;
}

interface OpenDoor {
  readonly server: Server;
}

interface DoorPlan {
  readonly name: "socket" | "port";
  address(): string;
  make(): Server;
  listen(server: Server): Promise<void>;
  ask(nonce: string): RequestOptions;
}

function limitAddresses(server: Server): void {
  const counts = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const from = socket.remoteAddress ?? "gone";
    const count = (counts.get(from) ?? 0) + 1;
    if (count > MOST_OF_ONE_ADDRESS) return void socket.destroy();
    counts.set(from, count);
    socket.once("close", () => {
      const left = (counts.get(from) ?? 1) - 1;
      if (left === 0) counts.delete(from);
      else counts.set(from, left);
    });
  });
}

/** The data folder's guard makes an old socket file ours to remove. */
export function createSurface(options: SurfaceOptions): Surface {
  const { socketPath, host, tls, clock, random, log } = options;
  const isLoopback = LOOPBACK_HOSTS.includes(host);
  let identity: Identity | undefined = tls === undefined ? undefined : readIdentity(tls);
  let tlsTrouble = "";
  let { port } = options;
  const doors = new Map<string, OpenDoor>();
  /** Requests of our own that we wait for: whoever answers without us having seen them is somebody else. */
  const awaited = new Map<string, boolean>();
  let closing: Promise<void> | undefined;

  const listenerAt = (cameBy: Door) => {
    const answer = getRequestListener((request, env) => {
      const { incoming, outgoing } = env as Env["Bindings"];
      return options.fetch(request, { incoming, outgoing, cameBy });
    });
    return (incoming: IncomingMessage, outgoing: Parameters<typeof answer>[1]) => {
      const id = incoming.headers["x-request-id"];
      if (typeof id === "string" && awaited.has(id)) awaited.set(id, true);
      void answer(incoming, outgoing);
    };
  };
  const made = (server: Server): Server => {
    server.maxConnections = MOST_CONNECTIONS;
    server.maxHeadersCount = 100;
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => answerBroken(error, socket as Socket));
    return server;
  };
  const cannotListen = (cause: unknown, at: string): OperatingError => {
    const { code } = cause as { code?: string };
    return code === "EADDRINUSE"
      ? new OperatingError("PORT_IN_USE", `port ${port} is taken by another program`, {
          cause,
          hint: "Set RINGRIFT_PORT to another port (0 picks a free one), or stop the other program.",
        })
      : new OperatingError("CANNOT_LISTEN", `the API cannot listen on ${at}: ${messageOf(cause)}`, { cause });
  };

  const plans: readonly DoorPlan[] = [
    {
      name: "socket",
      address: () => socketPath,
      make: () => made(createServer(slowest, listenerAt("socket"))),
      async listen(server) {
        rmSync(socketPath, { force: true });
        const before = process.umask(0o177);
        try {
          await listen(server, { path: socketPath });
        } finally {
          process.umask(before);
        }
        chmodSync(socketPath, 0o600);
      },
      ask: (nonce) => ({ socketPath, headers: { host: "localhost", "x-request-id": nonce } }),
    },
    {
      name: "port",
      address: () => `${host}:${port}`,
      make() {
        const listener = listenerAt(isLoopback ? "loopback" : "network");
        const server = made(
          identity === undefined
            ? createServer(slowest, listener)
            : createTlsServer(
                { ...slowest, cert: identity.cert, key: identity.key, minVersion: "TLSv1.2", handshakeTimeout: 10_000 },
                listener,
              ),
        );
        if (!isLoopback) limitAddresses(server);
        return server;
      },
      async listen(server) {
        await listen(server, { host, port });
        // Where any port would do, the first one is kept: others have been told of it.
        port = (server.address() as AddressInfo).port;
      },
      ask(nonce) {
        const anywhere = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
        // Who it is shows in the request that arrives here, not in the certificate.
        return {
          host: anywhere,
          port,
          rejectUnauthorized: false,
          headers: { host: "localhost", "x-request-id": nonce },
        } as RequestOptions;
      },
    },
  ];
  const planOf = (name: string): DoorPlan => {
    const plan = plans.find((each) => each.name === name);
    if (plan === undefined) throw new Error(`there is no door '${name}'`);
    return plan;
  };

  const openDoor = async (plan: DoorPlan): Promise<void> => {
    const server = plan.make();
    try {
      await plan.listen(server);
    } catch (cause) {
      server.close();
      throw cannotListen(cause, plan.address());
    }
    server.on("error", (error) => log.error("a door of the API broke", { door: plan.name, error: messageOf(error) }));
    doors.set(plan.name, { server });
  };
  const closeDoor = (server: Server, graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = clock.after(graceMs, () => server.closeAllConnections(), "hold");
      server.close(() => {
        timer.cancel();
        resolve();
      });
      server.closeIdleConnections();
    });

  const ask = (plan: DoorPlan): Promise<Heard> =>
    new Promise((resolve) => {
      const nonce = `door-${random.bits().toString(16)}${random.bits().toString(16)}`;
      awaited.set(nonce, false);
      const send = plan.name === "port" && identity !== undefined ? httpsRequest : httpRequest;
      const done = (trouble: string, gone = true) => {
        awaited.delete(nonce);
        timer.cancel();
        outgoing.destroy();
        resolve({ trouble, gone: gone && trouble !== "" });
      };
      const outgoing = send({ ...plan.ask(nonce), path: "/livez", method: "HEAD", agent: false }, (answer) => {
        answer.resume();
        done(awaited.get(nonce) === true ? "" : "somebody else answers there");
      });
      const timer = clock.after(
        CHECK_TIMEOUT_MS,
        () => done(`no answer within ${CHECK_TIMEOUT_MS / 1_000} s`, false),
        "hold",
      );
      outgoing.on("error", (error) => done(messageOf(error)));
      outgoing.end();
    });

  const refreshIdentity = () => {
    if (tls === undefined || identity === undefined) return;
    try {
      if (stampOf(tls) === identity.stamp) {
        tlsTrouble = "";
        return;
      }
      identity = readIdentity(tls);
      const { server } = doors.get("port") ?? {};
      // Connections that exist keep what they agreed on; the next ones get the new certificate.
      if (server !== undefined && "setSecureContext" in server)
        (server as ReturnType<typeof createTlsServer>).setSecureContext({ cert: identity.cert, key: identity.key });
      tlsTrouble = "";
      log.info("the API took up a new certificate");
    } catch (thrown) {
      if (tlsTrouble === "") log.error("the new certificate of the API is not used", { error: messageOf(thrown) });
      tlsTrouble = `the old certificate is still in use: ${messageOf(thrown)}`;
    }
  };

  return {
    socketPath,
    host,
    secure: tls !== undefined,
    get port() {
      return port;
    },
    async open() {
      try {
        for (const plan of plans) await openDoor(plan);
      } catch (thrown) {
        await this.close();
        throw thrown;
      }
    },
    async check() {
      refreshIdentity();
      const troubles = await Promise.all(plans.map(ask));
      return plans.map((plan, i) => {
        const { trouble, gone } = troubles[i]!;
        return {
          door: plan.name,
          address: plan.address(),
          ok: trouble === "",
          gone,
          message: trouble !== "" ? trouble : plan.name === "port" ? tlsTrouble : "",
        };
      });
    },
    async reopen(name) {
      if (closing !== undefined) return;
      const plan = planOf(name);
      const old = doors.get(name)?.server;
      doors.delete(name);
      // It stops taking new ones at once; what is under way ends by itself.
      old?.close();
      await openDoor(plan);
      log.warn("a door of the API was opened anew", { door: name, address: plan.address() });
    },
    speaksFor: (name) => identity?.speaksFor(name) ?? false,
    close() {
      closing ??= (async () => {
        const inode = inodeOf(socketPath);
        await Promise.all([...doors.values()].map(({ server }) => closeDoor(server, CLOSE_GRACE_MS)));
        if (inode !== undefined && inodeOf(socketPath) === inode) rmSync(socketPath, { force: true });
      })();
      return closing;
    },
  };
}

const inodeOf = (path: string): number | undefined => {
  try {
    return statSync(path).ino;
  } catch {
    // Nothing is there, which is all that one wants to know.
    return undefined;
  }
};
