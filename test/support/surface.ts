/** The control surface of a coordination that really runs, and a client that shows every byte of an answer. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { join } from "node:path";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import type { BootstrapOptions } from "../../src/app/bootstrap-options.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { type Owned, owned } from "./process.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly type: string;
  readonly text: string;
  /** The body where it is JSON. */
  readonly json: Record<string, unknown>;
}

export interface Asking {
  readonly method?: string;
  readonly body?: unknown;
  /** The body as it is sent, instead of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string | undefined;
  /** Ask a stream's head and first bytes, then hang up. */
  readonly cutAfterBytes?: number;
}

export interface RunningSurface {
  readonly own: Owned;
  readonly dataDir: string;
  readonly token: string;
  readonly coordination: Awaited<ReturnType<typeof bootstrapCoordination>>;
  ask(via: "socket" | "port", path: string, asking?: Asking): Promise<Answer>;
  end(): Promise<void>;
}

/** Starts a coordination on a folder of its own and any free port. */
export async function runSurface(
  env: Readonly<Record<string, string>> = {},
  more: Partial<BootstrapOptions> = {},
): Promise<RunningSurface> {
  const own = owned();
  const dataDir = own.folder();
  const coordination = await bootstrapCoordination({
    settings: readSettings(env, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
    ...more,
  });
  const { api } = coordination;
  return {
    own,
    dataDir,
    coordination,
    token: readFileSync(join(dataDir, "token"), "utf8").trim(),
    ask(via, path, asking = {}) {
      const where = via === "socket" ? { socketPath: api.socketPath } : { host: "127.0.0.1", port: api.port };
      return ask({ ...where, secure: via === "port" && api.secure }, path, asking);
    },
    async end() {
      await coordination.shutdown();
      await own.end();
    },
  };
}

/** The ends of connections that a server of this process has on its port, from now on; whoever asks says when to look no more. */
export function connectionsOf(port: number, atEnd: (end: () => void) => void) {
  const taken: { readonly socket: Socket; readonly from: number | undefined }[] = [];
  const hear = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    // Where it came from is forgotten with the connection.
    if (socket.localPort === port) taken.push({ socket, from: socket.remotePort });
  };
  subscribe("net.server.socket", hear);
  atEnd(() => void unsubscribe("net.server.socket", hear));
  return taken;
}

export type Where = ({ readonly socketPath: string } | { readonly host: string; readonly port: number }) & {
  readonly secure?: boolean;
};

export const ask = (where: Where, path: string, asking: Asking = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { method = "GET", body, raw, token, cutAfterBytes } = asking;
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = {
      ...(sent === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...asking.headers,
    };
    const { secure = false, ...address } = where;
    const send = secure ? httpsRequest : httpRequest;
    const outgoing = send(
      { ...address, method, path, headers, agent: false, rejectUnauthorized: false } as object,
      (answer) => {
        let text = "";
        const done = () => {
          const type = String(answer.headers["content-type"] ?? "");
          const json = type.includes("json") && !type.includes("ndjson") && text !== "" ? JSON.parse(text) : {};
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, type, text, json });
        };
        answer.setEncoding("utf8").on("data", (part: string) => {
          text += part;
          if (cutAfterBytes !== undefined && text.length >= cutAfterBytes && answer.statusCode === 200) {
            done();
            outgoing.destroy();
          }
        });
        answer.once("end", done);
        answer.once("error", () => done());
      },
    );
    outgoing.once("error", reject);
    outgoing.end(sent);
  });
