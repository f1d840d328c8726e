/** The doors of this process while another coordinator leads. */
import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openReader } from "../../adapters/sqlite/writer.ts";
import type { ClusterView } from "../../cluster/index.ts";
import { assert, type Edges } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import {
  addressOf,
  createAccess,
  createLimits,
  createStandbyApi,
  createSurface,
  createTokens,
  ENDPOINT_FILE,
  type EndpointFile,
  type Surface,
} from "../../surfaces/index.ts";
import type { ArtifactStore } from "../../sync/index.ts";
import { socketPathFor } from "../data-folder/socket-path.ts";
import { readToken, writeWhole } from "../data-folder/token.ts";
import type { Settings } from "../settings.ts";
import { readVersion } from "../version.ts";

export interface StandbyDoorOptions extends Edges {
  readonly settings: Settings;
  readonly port: number;
  readonly databasePath: string;
  readonly view: () => ClusterView | undefined;
  readonly shutdown: (reason: string, actor: string) => void;
  readonly files: () => ArtifactStore | undefined;
}

/** Reads alone: what is written comes from the log. When a token was used last is not worth more here. */
const lookingAt = (db: DatabaseSync): Store => ({
  read: (sql, ...params) => db.prepare(sql).all(...params) as never,
  scan: async () => assert(false, "a standby reads no more than tokens") as never,
  commit: async () => [] as never,
  fault: null,
  onFault: () => {},
  close: async () => {},
});

export async function openStandby(options: StandbyDoorOptions) {
  const { settings, clock, random, log } = options;
  const { api } = settings;
  const limits = createLimits(clock, api.rateFactor);
  const db = openReader(options.databasePath);
  const names = new Set([hostname().toLowerCase(), api.host, api.serverName?.toLowerCase()]);
  const access = createAccess({
    localToken: settings.token?.reveal() ?? readToken(settings.dataDir),
    localReads: api.localReads,
    isOurName: (name) => names.has(name) || surface.speaksFor(name),
    // Read anew each time: the leader gives and takes them.
    tokens: () => createTokens(lookingAt(db), clock, log),
    limits,
    log,
    metrics: { failedLogin: () => {} },
  });
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = api;
  const fetch = createStandbyApi({
    ...{ view: options.view, access, clock, random, log, shutdown: options.shutdown, files: options.files },
    retryAfterSeconds: Math.ceil(settings.coordinators.leaseMs / 1_000),
  });
  const surface: Surface = createSurface({
    socketPath: socketPathFor(settings.dataDir),
    host: api.host,
    port: options.port,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    ...{ clock, random, log, fetch },
  });
  await surface.open().catch((thrown: unknown) => {
    db.close();
    throw thrown;
  });
  const place = join(settings.dataDir, ENDPOINT_FILE);
  const endpoint: EndpointFile = {
    pid: process.pid,
    socket_path: surface.socketPath,
    port: surface.port,
    host: surface.host,
    secure: surface.secure,
    node_id: settings.nodeId,
    version: readVersion(),
    started_at: clock.now() / 1_000,
    role: "standby",
  };
  writeWhole(place, `${JSON.stringify(endpoint)}\n`);
  return {
    port: surface.port,
    socketPath: surface.socketPath,
    address: () => addressOf(surface, { serverName: api.serverName, hostname: hostname() }),
    async close(): Promise<void> {
      rmSync(place, { force: true });
      await surface.close();
      db.close();
    },
  };
}

export type Standby = Awaited<ReturnType<typeof openStandby>>;
