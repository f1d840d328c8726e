/**
 * The nats-server that `ringrift` runs for a coordinator: what is known of all three, with the secret and the certificates between them.
 * It is made once on one machine; each of the others gets its own file.
 */
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { defined, messageOf, OperatingError } from "../../../kernel/index.ts";

const port = z.int().min(1).max(65_535);
const peer = z.object({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "a name has letters, digits, '.', '_' and '-'"),
  host: z.string().regex(/^[A-Za-z0-9:.-]{1,253}$/, "a host is a name or an IP address"),
  client: port,
  route: port,
  /** The monitor listens on its own machine alone. */
  monitor: port,
});
export type EnginePeer = z.output<typeof peer>;

const engineSchema = z.object({
  format: z.literal("ringrift-engine-1"),
  /** Which of the peers this machine is. */
  name: z.string(),
  peers: z.array(peer).length(3),
  secret: z.string().min(32).max(200),
  ca: z.string().max(20_000),
  cert: z.string().max(20_000),
  key: z.string().max(20_000),
});
export type Engine = z.output<typeof engineSchema>;

const ENGINE_FOLDER = "engine";
export const engineFolder = (dataDir: string): string => join(dataDir, ENGINE_FOLDER);
export const engineFile = (dataDir: string): string => join(engineFolder(dataDir), "engine.json");
const ENGINE_USER = "ringrift";

/** Undefined where this machine runs no server by itself. */
export function readEngine(dataDir: string): Engine | undefined {
  const path = engineFile(dataDir);
  if (!existsSync(path)) return undefined;
  try {
    const engine = engineSchema.parse(JSON.parse(readFileSync(path, "utf8")));
    if (!engine.peers.some(({ name }) => name === engine.name)) throw new Error(`${engine.name} is none of its peers`);
    return engine;
  } catch (cause) {
    throw OperatingError.conflict("ENGINE_INVALID", `${path} cannot be used: ${messageOf(cause)}`, {
      cause,
      hint: "Copy the file of this machine again from the one where 'ringrift cluster engine init --peers ...' was run.",
    });
  }
}

/** The same for whoever is about to run it. */
export function needEngine(dataDir: string): Engine {
  const engine = readEngine(dataDir);
  if (engine === undefined)
    throw OperatingError.conflict("NO_ENGINE", `${dataDir} has no nats-server to run`, {
      hint: "Run 'ringrift cluster engine init --peers ...' on one machine, and copy its files to the others.",
    });
  return engine;
}

const DEFAULT_PORTS = { client: 4_222, route: 6_222, monitor: 8_222 };

/** `a=10.0.0.1,b=10.0.0.2,c=10.0.0.3`; ports may follow a host name or an IPv4 address: `a=host:4222:6222:8222`. */
export function readPeers(text: string): EnginePeer[] {
  const peers = text.split(",").map((part) => {
    const [name = "", place = ""] = part.trim().split("=");
    const [host = "", ...ports] = isIP(place) === 6 ? [place] : place.split(":");
    const [client, route, monitor] = ports.map(Number);
    const found = peer.safeParse({ ...DEFAULT_PORTS, ...{ name, host }, ...defined({ client, route, monitor }) });
    if (!found.success)
      throw OperatingError.invalid("USAGE", `'${part.trim()}' names no machine: ${found.error.issues[0]?.message}`, {
        hint: "Name three machines: --peers a=10.0.0.1,b=10.0.0.2,c=10.0.0.3",
      });
    return found.data;
  });
  const different = (values: readonly unknown[]) => new Set(values).size === peers.length;
  const isSound = peers.length === 3 && different(peers.map(({ name }) => name));
  if (!isSound || !different(peers.map(({ host, client }) => `${host} ${client}`)))
    throw OperatingError.invalid("USAGE", "three machines with different names and addresses are needed", {
      hint: "Name three machines: --peers a=10.0.0.1,b=10.0.0.2,c=10.0.0.3",
    });
  return peers;
}

/** Which of the three this machine runs. */
const ownPeer = ({ peers, name }: Engine): EnginePeer => peers.find((one) => one.name === name)!;

const inUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/**
 * A server that sends and no longer hears keeps the others from an election for as long as they take it to be there: without this, 20 to 30
 * seconds.
 */
const ROUTE_PINGS = 'ping_interval: "2s", ping_max: 2';

/** The settings of the server. All that a coordinator checks of a server is so here. */
export function engineConfig(engine: Engine, folder: string): string {
  const { name, peers, secret } = engine;
  const own = ownPeer(engine);
  const text = (value: string) => JSON.stringify(value);
  const tls = (verify: boolean) =>
    `tls { cert_file: ${text(join(folder, "cert.pem"))}, key_file: ${text(join(folder, "key.pem"))}, ca_file: ${text(join(folder, "ca.pem"))}, verify: ${verify}, timeout: 5 }`;
  const routes = peers.map(({ host, route }) => text(`nats-route://${ENGINE_USER}:${secret}@${inUrl(host)}:${route}`));
  return [
    `server_name: ${text(name)}`,
    `listen: ${text(`${inUrl(own.host)}:${own.client}`)}`,
    `http: ${text(`127.0.0.1:${own.monitor}`)}`,
    "max_payload: 8MB",
    tls(false),
    `authorization { user: ${ENGINE_USER}, password: ${text(secret)} }`,
    `jetstream { store_dir: ${text(join(folder, "store"))}, sync_interval: always }`,
    `cluster { name: ringrift, listen: ${text(`${inUrl(own.host)}:${own.route}`)}, ${tls(true)}, ${ROUTE_PINGS}, authorization { user: ${ENGINE_USER}, password: ${text(secret)}, timeout: 5 }, routes: [${routes.join(", ")}] }`,
    "",
  ].join("\n");
}

/** How coordinators reach these servers. Each machine looks at the monitor of its own server. */
export const engineLog = (engine: Engine, folder: string) => ({
  servers: engine.peers.map(({ host, client }) => `tls://${inUrl(host)}:${client}`),
  monitors: [`http://127.0.0.1:${ownPeer(engine).monitor}`],
  user: { name: ENGINE_USER, password: engine.secret },
  tls: { caFile: join(folder, "ca.pem") },
});
