import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import type { Door } from "./access.ts";
import type { Env } from "./request.ts";

export interface Listening {
  readonly socketPath: string;
  readonly port: number;
  close(): Promise<void>;
}

const listen = (server: Server, where: { path: string } | { host: string; port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.off("error", reject);
      resolve();
    });
  });

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Serves the API on a Unix socket (mode 0600) and on loopback. The data folder's guard makes an old socket file ours to remove. */
export async function serveApi(api: Hono<Env>, options: { socketPath: string; port: number }): Promise<Listening> {
  const listenerAt = (cameBy: Door) => getRequestListener((request, env) => api.fetch(request, { ...env, cameBy }));
  const servers = [createServer(listenerAt("socket")), createServer(listenerAt("port"))] as const;
  for (const server of servers) {
    server.requestTimeout = 120_000;
    server.maxConnections = 4_096;
  }
  const [local, loopback] = servers;
  rmSync(options.socketPath, { force: true });
  try {
    const before = process.umask(0o177);
    try {
      await listen(local, { path: options.socketPath });
    } finally {
      process.umask(before);
    }
    chmodSync(options.socketPath, 0o600);
    await listen(loopback, { host: "127.0.0.1", port: options.port });
  } catch (cause) {
    await Promise.all(servers.map(close));
    const code = (cause as { code?: string }).code;
    if (code === "EADDRINUSE")
      throw new OperatingError("PORT_IN_USE", `port ${options.port} is taken by another program`, {
        cause,
        hint: "Set RINGRIFT_PORT to another port (0 picks a free one), or stop the other program.",
      });
    throw new OperatingError("CANNOT_LISTEN", `the API cannot listen: ${messageOf(cause)}`, { cause });
  }
  return {
    socketPath: options.socketPath,
    port: (loopback.address() as AddressInfo).port,
    async close() {
      await Promise.all(servers.map(close));
      rmSync(options.socketPath, { force: true });
    },
  };
}
