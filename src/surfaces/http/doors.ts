/** The two doors of a process: how each is made, where it listens, and how it is asked whether it is still ours. */
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  type Server,
} from "node:http";
import { createServer as createTlsServer, request as httpsRequest } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { type Edges, messageOf, OperatingError, type Timer } from "../../kernel/index.ts";
import type { Door } from "./access.ts";
import { LOOPBACK_HOSTS } from "./address.ts";
import { onBrokenConnection } from "./late-heads.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import type { Env } from "./request.ts";
import type { Identity, TlsFiles } from "./tls.ts";

export interface SurfaceOptions extends Edges {
  readonly socketPath: string;
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsFiles | undefined;
  readonly fetch: (request: Request, env: Env["Bindings"]) => Response | Promise<Response>;
}

/** A fleet keeps one open for each node that waits for work. */
const MAX_CONNECTIONS = 16_384;
/** Of one address, where others can come from. */
const MAX_OF_ONE_ADDRESS = 256;
const MAX_HEADER_BYTES = 16 * 1_024;
/** Asked and answered by one loop: where that is busy, it must have had so many turns before no answer means anything. */
const CHECK_TURNS = 10;
const CHECK_TURN_MS = 200;
/** Whoever takes an answer by drops is cut off as well: what waits for it is memory of ours. */
const TAKE_ANSWER_MS = 120_000;

/** Whoever sends its request by drops is cut off: the head within 10 s, all of it within two minutes. */
const slowest = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
};

const listen = async (server: Server, where: { path: string } | { host: string; port: number }): Promise<void> => {
  server.listen(where);
  await once(server, "listening");
};

const invalid = (status: number, detail: string) => OperatingError.invalid("INVALID_REQUEST", detail, { status });
const brokenBy: Readonly<Record<string, readonly [string, OperatingError]>> = {
  HPE_HEADER_OVERFLOW: ["Request Header Fields Too Large", invalid(431, `a head may have ${MAX_HEADER_BYTES} bytes`)],
  // It may have come in time to a loop that had no turn to read it: whoever sent it is not at fault, and sends it again.
  ERR_HTTP_REQUEST_TIMEOUT: [
    "Request Timeout",
    OperatingError.busy("REQUEST_TIMEOUT", "the request was not read in time", { status: 408, hint: "Send it again." }),
  ],
};
const NOT_HTTP = ["Bad Request", invalid(400, "this is not HTTP")] as const;

/** What is not even HTTP, or too much of it, is answered in the same words as the rest. */
function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [title, problem] = brokenBy[error.code ?? ""] ?? NOT_HTTP;
  const body = JSON.stringify(problemOf(problem));
  socket.end(
    `HTTP/1.1 ${problem.status} ${title}\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
}

/** What came of asking a door; no trouble is good news. */
interface Found {
  readonly trouble: string;
  readonly gone: boolean;
}

export interface DoorPlan {
  readonly name: "socket" | "port";
  address(): string;
  make(): Server;
  listen(server: Server): Promise<void>;
  ask(nonce: string): RequestOptions;
}

/** What doors share while they are open. */
export interface DoorState {
  /** Where any port would do, the first one that was given. */
  port: number;
  identity: Identity | undefined;
  /** Requests of our own that we wait for: whoever answers without us having seen them is somebody else. */
  readonly awaited: Map<string, boolean>;
}

function limitAddresses(server: Server): void {
  const counts = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const from = socket.remoteAddress ?? "gone";
    const count = (counts.get(from) ?? 0) + 1;
    if (count > MAX_OF_ONE_ADDRESS) return void socket.destroy();
    counts.set(from, count);
    socket.once("close", () => {
      const left = (counts.get(from) ?? 1) - 1;
      if (left === 0) counts.delete(from);
      else counts.set(from, left);
    });
  });
}

/** What makes of a request one of the web, and sends the answer. With it comes all that `fetch` needs: a tenth of a start. */
type Answering = ReturnType<typeof import("@hono/node-server").getRequestListener>;

/** It is loaded so long after the doors are open, or by the first who asks. */
const LOAD_AFTER_MS = 2_000;

function listenerAt(cameBy: Door, { fetch, clock }: SurfaceOptions, { awaited }: DoorState) {
  let loaded: Answering | undefined;
  const load = async (): Promise<Answering> => {
    const { getRequestListener } = await import("@hono/node-server");
    loaded ??= getRequestListener((request, env) => {
      const { incoming, outgoing } = env as Env["Bindings"];
      return fetch(request, { incoming, outgoing, cameBy });
    });
    return loaded;
  };
  clock.after(LOAD_AFTER_MS, () => void load());
  return (incoming: IncomingMessage, outgoing: Parameters<Answering>[1]) => {
    const id = incoming.headers["x-request-id"];
    if (typeof id === "string" && awaited.has(id)) awaited.set(id, true);
    outgoing.once("prefinish", () => {
      // The system has taken most answers whole by now.
      if (outgoing.closed || incoming.socket.writableLength === 0) return;
      const patience = clock.after(TAKE_ANSWER_MS, () => incoming.socket.destroy());
      outgoing.once("close", () => patience.cancel());
    });
    if (loaded !== undefined) void loaded(incoming, outgoing);
    else void load().then((answer) => answer(incoming, outgoing));
  };
}

const made = (server: Server, { clock }: SurfaceOptions): Server => {
  server.maxConnections = MAX_CONNECTIONS;
  server.maxHeadersCount = 100;
  onBrokenConnection(server, clock, answerBroken);
  return server;
};
export const cannotListen = (cause: unknown, at: string, port: number): OperatingError => {
  const { code } = cause as { code?: string };
  return code === "EADDRINUSE"
    ? OperatingError.conflict("PORT_IN_USE", `port ${port} is used by another program`, {
        cause,
        hint: "Set RINGRIFT_PORT to another port (0 picks a free one), or stop the other program.",
      })
    : OperatingError.internal("CANNOT_LISTEN", `the API cannot listen on ${at}: ${messageOf(cause)}`, { cause });
};

export function planDoors(options: SurfaceOptions, state: DoorState): readonly DoorPlan[] {
  const { socketPath, host } = options;
  const isLoopback = LOOPBACK_HOSTS.includes(host);
  return [
    {
      name: "socket",
      address: () => socketPath,
      make: () => made(createServer(slowest, listenerAt("socket", options, state)), options),
      async listen(server) {
        rmSync(socketPath, { force: true });
        // The file is made within the call; the mask is of the whole process and must not outlive it.
        const before = process.umask(0o177);
        let listening: Promise<void>;
        try {
          listening = listen(server, { path: socketPath });
        } finally {
          process.umask(before);
        }
        await listening;
        chmodSync(socketPath, 0o600);
      },
      ask: (nonce) => ({ socketPath, headers: { host: "localhost", "x-request-id": nonce } }),
    },
    {
      name: "port",
      address: () => `${host}:${state.port}`,
      make() {
        const { identity } = state;
        const listener = listenerAt(isLoopback ? "loopback" : "network", options, state);
        const server = made(
          identity === undefined
            ? createServer(slowest, listener)
            : createTlsServer(
                { ...slowest, cert: identity.cert, key: identity.key, minVersion: "TLSv1.2", handshakeTimeout: 10_000 },
                listener,
              ),
          options,
        );
        if (!isLoopback) limitAddresses(server);
        return server;
      },
      async listen(server) {
        await listen(server, { host, port: state.port });
        // Where any port would do, the first one is kept: others have been told of it.
        state.port = (server.address() as AddressInfo).port;
      },
      ask(nonce) {
        const anywhere = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
        // Who it is shows in the request that arrives here, not in the certificate.
        return {
          host: anywhere,
          port: state.port,
          rejectUnauthorized: false,
          headers: { host: "localhost", "x-request-id": nonce },
        } as RequestOptions;
      },
    },
  ];
}

/** Asks a door over itself whether it is ours and answers. */
export const askDoor = (
  plan: DoorPlan,
  { clock, random }: SurfaceOptions,
  { awaited, identity }: DoorState,
): Promise<Found> =>
  new Promise((resolve) => {
    const nonce = `door-${random.bits().toString(16)}${random.bits().toString(16)}`;
    awaited.set(nonce, false);
    const send = plan.name === "port" && identity !== undefined ? httpsRequest : httpRequest;
    const done = (trouble: string, gone = true) => {
      awaited.delete(nonce);
      patience.cancel();
      outgoing.destroy();
      resolve({ trouble, gone: gone && trouble !== "" });
    };
    const outgoing = send({ ...plan.ask(nonce), path: "/livez", method: "HEAD", agent: false }, (answer) => {
      answer.resume();
      done(awaited.get(nonce) === true ? "" : "somebody else answers there");
    });
    const waitFor = (turns: number): Timer =>
      clock.after(
        CHECK_TURN_MS,
        () => {
          if (turns === 1) return done(`no answer within ${(CHECK_TURNS * CHECK_TURN_MS) / 1_000} s`, false);
          patience = waitFor(turns - 1);
        },
        "hold",
      );
    let patience = waitFor(CHECK_TURNS);
    outgoing.on("error", (error) => done(messageOf(error)));
    outgoing.end();
  });
