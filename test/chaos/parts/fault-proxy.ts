/**
 * A line that fails: between workers and their main process it takes TLS apart and puts it together again, so that it can
 * do what a bad network and a bad proxy do. It drops connections, delays bytes, goes half open (takes everything, says
 * nothing), cuts in the middle of an answer, and answers with a 5xx of its own.
 */
import { once } from "node:events";
import { type AddressInfo, connect as connectPlain, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { pick, type Random } from "../../../src/kernel/index.ts";

export type Fault = "none" | "refuse" | "delay" | "half-open" | "cut" | "error";
export const FAULTS = ["refuse", "delay", "half-open", "cut", "error"] as const satisfies readonly Fault[];

export interface FaultProxy {
  readonly port: number;
  fault: Fault;
  /** The main process listens elsewhere now. */
  target: number;
  /** Ends everything that is open, in the middle of whatever it is. */
  cutAll(): void;
  /** How many connections suffered each fault. */
  readonly suffered: Readonly<Record<string, number>>;
  close(): Promise<void>;
}

const ANSWER =
  "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n";

export async function faultProxy(options: {
  readonly target: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly random: Random;
}): Promise<FaultProxy> {
  const { tls, random } = options;
  const open = new Set<Socket>();
  const suffered: Record<string, number> = {};
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => open.delete(socket));
    return socket;
  };

  const relay = (from: Socket, to: Socket, back: boolean) => {
    from.on("data", (chunk: Buffer) => {
      const { fault } = proxy;
      if (fault === "none") return void to.write(chunk);
      suffered[fault] = (suffered[fault] ?? 0) + 1;
      if (fault === "half-open") return;
      if (fault === "delay")
        return void setTimeout(() => to.writable && to.write(chunk), 50 + pick(random, 400)).unref();
      if (fault === "cut" && back) {
        // Half of the answer, and then nothing: the question has been heard.
        to.write(chunk.subarray(0, chunk.length >> 1));
        return void from.destroy();
      }
      if (fault === "error" && back) {
        to.end(ANSWER);
        return void from.destroy();
      }
      to.write(chunk);
    });
    from.on("close", () => to.destroy());
    from.on("end", () => to.end());
  };

  const accept = (client: Socket) => {
    keep(client);
    if (proxy.fault === "refuse") {
      suffered.refuse = (suffered.refuse ?? 0) + 1;
      return void client.destroy();
    }
    const to = { host: "127.0.0.1", port: proxy.target };
    const server = keep(tls === undefined ? connectPlain(to) : connectTls({ ...to, rejectUnauthorized: false }));
    relay(client, server, false);
    relay(server, client, true);
  };
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer({ ...tls }, accept);
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    fault: "none",
    target: options.target,
    suffered,
    cutAll() {
      for (const socket of open) socket.destroy();
    },
    async close() {
      proxy.cutAll();
      server.close();
    },
  };
  return proxy;
}
