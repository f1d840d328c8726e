import { hostname } from "node:os";
import type { HttpSurfacePort } from "../daemons/index.ts";
import { type Edges, messageOf } from "../kernel/index.ts";
import {
  addressOf,
  allRoutes,
  type ControlPorts,
  createAccess,
  createApi,
  createLimits,
  createSurface,
  createTokens,
  createWrites,
  pageFolder,
  readPage,
  type Surface,
} from "../surfaces/index.ts";
import type { Settings } from "./settings.ts";

export interface ServingOptions extends Edges {
  readonly settings: Pick<Settings, "api" | "port">;
  readonly socketPath: string;
  readonly localToken: string;
  readonly ports: Omit<ControlPorts, "clock" | "log" | "tokens" | "writes" | "address">;
}

/** Puts the control surface together; its doors are still shut. */
export function serveControl(options: ServingOptions) {
  const { settings, clock, random, log, localToken } = options;
  const { store, metrics } = options.ports;
  const { api, port } = settings;
  const tokens = createTokens(store, clock, log);
  const writes = createWrites(store, clock, (rows, thrown) =>
    log.error("changes were not recorded", { rows, error: messageOf(thrown) }),
  );
  const address = () => addressOf(surface, { serverName: api.serverName, hostname: hostname() });
  const ports: ControlPorts = { ...options.ports, clock, log, tokens, writes, address };
  const limits = createLimits(clock, api.rateFactor);
  const names = new Set([hostname().toLowerCase(), api.host, api.serverName?.toLowerCase()]);
  const access = createAccess({
    localToken,
    localReads: api.localReads,
    isOurName: (name) => names.has(name) || surface.speaksFor(name),
    tokens: () => tokens,
    limits,
    log,
    metrics,
    nodes: ports.nodes?.gate,
  });
  const page = readPage(pageFolder());
  const { app, endStreams } = createApi({ routes: allRoutes, ports, access, limits, random, page });
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = api;
  const surface: Surface = createSurface({
    socketPath: options.socketPath,
    host: api.host,
    port,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    clock,
    random,
    log,
    fetch: (request, env) => app.fetch(request, env),
  });
  return {
    surface,
    tokens,
    address,
    /** Ends the endless answers in good order. */
    endStreams,
    /** Shuts the doors; what still waits to be recorded is. */
    async close(): Promise<void> {
      await surface.close();
      await writes.flush();
    },
    /** What `http_server` keeps up. */
    kept: {
      check: () => surface.check(),
      reopen: (door) => surface.reopen(door),
      sample: (nodeId, values) => metrics.sample(nodeId, values),
    } satisfies HttpSurfacePort as HttpSurfacePort,
  };
}
