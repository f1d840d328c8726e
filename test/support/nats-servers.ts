/**
 * Real nats-servers on loopback. Debian 12 has one that is too old to be safe, so a newer one is fetched from Debian's next suite, with
 * apt's own check of signatures, into a private folder; the machine's sources stay as they are.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasProgram } from "./debian-programs.ts";
import { type Host, startedOn } from "./hosts.ts";
import { until } from "./patience.ts";
import { freePort, type Owned, type Started } from "./process.ts";
import type { SmallDisk } from "./small-disk.ts";

const SUITE = "forky";
const FETCH_MS = 120_000;
const PROGRAM = "usr/sbin/nats-server";
const WANTED = /v?2\.(1[5-9]|[2-9]\d)\./;

const isNewEnough = (program: string): boolean =>
  WANTED.test(spawnSync(program, ["--version"], { encoding: "utf8" }).stdout ?? "");

/** The machine's own mirror of Debian, asked for the next suite. */
function nextSources(): string | undefined {
  const folder = "/etc/apt/sources.list.d";
  const files = [
    "/etc/apt/sources.list",
    ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []),
  ];
  const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
  const mirrors = texts.flatMap((text) => [
    ...text.matchAll(/^(?:URIs:\s*|deb(?: \[[^\]]*\])? )(\S+\/debian)\/?(?=\s|$)/gm),
  ]);
  const mirror = mirrors[0]?.[1];
  return mirror && `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${SUITE} main\n`;
}

/** Downloads and unpacks the one package; what apt needs for that stays in `work`. */
function fetchInto(work: string, sources: string): boolean {
  for (const part of ["lists/partial", "cache/archives/partial", "sources.d"])
    mkdirSync(join(work, part), { recursive: true });
  writeFileSync(join(work, "sources.list"), sources);
  const options = [
    `Dir::Etc::SourceList=${join(work, "sources.list")}`,
    `Dir::Etc::SourceParts=${join(work, "sources.d")}`,
    `Dir::State::Lists=${join(work, "lists")}`,
    `Dir::Cache=${join(work, "cache")}`,
    "Acquire::Languages=none",
    "APT::Sandbox::User=",
  ].flatMap((option) => ["-o", option]);
  const apt = (...args: string[]) =>
    spawnSync("apt-get", [...options, ...args], { cwd: work, timeout: FETCH_MS }).status === 0;
  if (!apt("update") || !apt("download", "nats-server")) return false;
  const deb = readdirSync(work).find((file) => file.endsWith(".deb"));
  return deb !== undefined && spawnSync("dpkg", ["-x", deb, "unpacked"], { cwd: work, timeout: FETCH_MS }).status === 0;
}

/** Where a nats-server is that is safe to use; undefined where none is to be had. */
export function findNatsServer(): string | undefined {
  if (hasProgram("nats-server") && isNewEnough("nats-server")) return "nats-server";
  const folder = join(tmpdir(), `ringrift-nats-server-${process.getuid?.() ?? 0}`);
  const program = join(folder, PROGRAM);
  if (existsSync(program)) return program;
  const sources = hasProgram("apt-get") && hasProgram("dpkg") ? nextSources() : undefined;
  if (sources === undefined) return undefined;
  const work = mkdtempSync(join(tmpdir(), "ringrift-nats-server-"));
  try {
    if (!fetchInto(work, sources)) return undefined;
    try {
      renameSync(join(work, "unpacked"), folder);
    } catch {
      // Somebody else was first; two that fetch at once both bring the same.
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return existsSync(program) && isNewEnough(program) ? program : undefined;
}

export interface NatsServer {
  readonly name: string;
  readonly url: string;
  readonly monitor: string;
  /** Its folder. */
  readonly store: string;
  readonly process: () => Started;
  /** Starts it again on its folder. */
  readonly start: () => void;
}

interface Place {
  /** Where clients and other servers reach it. */
  readonly address: string;
  readonly client: number;
  readonly http: number;
  readonly route: number;
  readonly host: Host | undefined;
}

const NAMES = ["n1", "n2", "n3"] as const;

/** On hosts of their own everybody has the same ports; on one machine nobody has. */
const placesOn = (hosts: readonly Host[] | undefined): Promise<Place[]> =>
  Promise.all(
    NAMES.map(async (_, i) => {
      const host = hosts?.[i];
      return host === undefined
        ? { address: "127.0.0.1", client: await freePort(), http: await freePort(), route: await freePort(), host }
        : { address: host.address, client: 4_222, http: 8_222, route: 6_222, host };
    }),
  );

/**
 * Three servers that are one cluster. On loopback they have elected a leader; on hosts of their own only who is there can ask them, also
 * their monitors. With disks each keeps its stream on one of them.
 */
export async function natsServers(
  own: Owned,
  program: string,
  hosts?: readonly Host[],
  disks?: readonly SmallDisk[],
): Promise<readonly NatsServer[]> {
  const places = await placesOn(hosts);
  const routes = places.map(({ address, route }) => `nats://${address}:${route}`);
  const folder = own.folder();
  const servers = NAMES.map((name, i): NatsServer => {
    const { address, client, http, route, host } = places[i]!;
    const file = join(folder, `${name}.conf`);
    const store = join(disks?.[i]?.folder ?? folder, name);
    writeFileSync(
      file,
      `server_name: ${name}
listen: "${address}:${client}"
http: "127.0.0.1:${http}"
max_payload: 8MB
jetstream { store_dir: ${JSON.stringify(store)}, sync_interval: always, max_file_store: 2GB, max_memory_store: 64MB }
cluster { name: ringrift, listen: "${address}:${route}", ping_interval: "2s", ping_max: 2, routes: ${JSON.stringify(routes)} }
`,
    );
    let running: Started;
    const start = () => {
      const how = host === undefined ? { execPath: program, execArgv: ["-c"] } : startedOn(host, program, "-c");
      running = own.startNode(file, [], how);
    };
    start();
    return {
      ...{ name, store, start },
      url: `nats://${address}:${client}`,
      monitor: `http://127.0.0.1:${http}`,
      process: () => running,
    };
  });
  if (hosts !== undefined) return servers;
  const isReady = async () => {
    const answers = await Promise.all(
      servers.map(({ monitor }) =>
        fetch(`${monitor}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    return answers.every(Boolean);
  };
  await until(isReady, () => "the nats-servers did not become healthy");
  return servers;
}
