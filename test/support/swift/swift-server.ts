/**
 * A real S3: OpenStack Swift with its `s3api`, from Debian's packages unpacked into a private folder; four servers and a cache on
 * loopback, no service of the machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasProgram, unpackedPackages } from "../debian-programs.ts";

const PYTHON = "/usr/bin/python3";
const PACKAGES = [
  "memcached libevent-2.1-7 liberasurecode1 libxslt1.1",
  "swift swift-account swift-container swift-object swift-proxy python3-swift",
  "python3-tempita python3-paste python3-pastedeploy-tpl python3-pastedeploy python3-pastescript python3-more-itertools python3-zipp",
  "python3-importlib-metadata python3-ply python3-pycparser python3-cffi python3-cffi-backend python3-greenlet python3-dnspython",
  "python3-eventlet python3-netifaces python3-pbr python3-wrapt python3-debtcollector python3-netaddr python3-oslo.i18n python3-dateutil",
  "python3-oslo.context python3-msgpack python3-iso8601 python3-packaging python3-tz python3-oslo.utils python3-oslo.serialization",
  "python3-pyinotify python3-oslo.log python3-certifi python3-charset-normalizer python3-idna python3-urllib3 python3-chardet",
  "python3-requests python3-rfc3986 python3-stevedore python3-oslo.config python3-pyeclib python3-xattr python3-lxml python3-six",
  "python3-yaml python3-setuptools python3-pkg-resources python3-pyparsing python3-cryptography",
].flatMap((line) => line.split(" "));

const skip = (why: string): undefined => {
  if (process.env.CI === "true") throw new Error(`no real S3 could be tried: ${why}`);
  console.warn(`SKIPPED: no real S3 was tried: ${why}`);
  return undefined;
};

const freePorts = async (count: number): Promise<number[]> => {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) server.close();
  return ports;
};

/** Asked without a pause, they would start more slowly. */
const LOOK_EVERY_MS = 50;
const SERVERS = ["account", "container", "object"] as const;

const storageConfig = (folder: string, name: string, port: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
user = ${userInfo().username}
swift_dir = ${folder}
devices = ${folder}/disks
mount_check = false
disable_fallocate = true
workers = 0
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`;

const FILTERS: Readonly<Record<string, string>> = {
  catch_errors: "",
  gatekeeper: "",
  listing_formats: "",
  s3api: "location = us-east-1\nmin_segment_size = 1\n",
  tempauth: "user_test_tester = testing-with-swift .admin\n",
  slo: "minimum_segment_size = 1\n",
  dlo: "",
};

const proxyConfig = (folder: string, port: number, cachePort: number) => `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
user = ${userInfo().username}
swift_dir = ${folder}
workers = 0
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
# Unless told, half a second without an answer shuts a part of it out for a minute: too short for a busy machine.
conn_timeout = 30
node_timeout = 60
error_suppression_limit = 100000
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${cachePort}
${Object.entries(FILTERS)
  .map(([name, more]) => `[filter:${name}]\nuse = egg:swift#${name}\n${more}`)
  .join("")}`;

export interface SwiftServer {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  stop(): Promise<void>;
}

/** Undefined, loudly, where it cannot be had. */
export async function swiftServer(folder: string): Promise<SwiftServer | undefined> {
  if (!hasProgram(PYTHON)) return skip(`there is no ${PYTHON}`);
  const root = unpackedPackages("swift", PACKAGES, "usr/bin/swift-proxy-server");
  if (root === undefined) return skip("there are no packages of Swift");
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const env = {
    ...process.env,
    // It is compiled once for all runs.
    PYTHONDONTWRITEBYTECODE: "",
    PYTHONPATH: join(root, "usr/lib/python3/dist-packages"),
    LD_LIBRARY_PATH: join(root, `usr/lib/${machine}-linux-gnu`),
  };
  mkdirSync(join(folder, "disks/d1"), { recursive: true });
  const [proxyPort = 0, cachePort = 0, ...ports] = await freePorts(5);
  writeFileSync(
    join(folder, "swift.conf"),
    "[swift-hash]\nswift_hash_path_suffix = x\nswift_hash_path_prefix = y\n[storage-policy:0]\nname = one\ndefault = yes\n",
  );
  writeFileSync(join(folder, "proxy.conf"), proxyConfig(folder, proxyPort, cachePort));
  const portOf = Object.fromEntries(SERVERS.map((name, i) => [name, ports[i] ?? 0]));
  for (const name of SERVERS)
    writeFileSync(join(folder, `${name}.conf`), storageConfig(folder, name, portOf[name] ?? 0));
  const launcher = fileURLToPath(new URL("./run-swift.py", import.meta.url));
  const log = join(folder, "servers.log");
  const started: ChildProcess[] = [];
  const start = (program: string, args: readonly string[]) => {
    const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.on("data", (text: Buffer) => writeFileSync(log, text, { flag: "a" }));
    started.push(child);
  };
  const stop = async (): Promise<void> => {
    await Promise.all(
      started.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }),
    );
  };
  start(join(root, "usr/bin/memcached"), ["-l", "127.0.0.1", "-p", String(cachePort), "-u", userInfo().username]);
  start(PYTHON, [launcher, folder, JSON.stringify(portOf)]);
  const endpoint = `http://127.0.0.1:${proxyPort}`;
  // The proxy answers 503 for as long as one of those behind it is not there.
  const behind = ports.slice(0, SERVERS.length).map((port) => `http://127.0.0.1:${port}/`);
  const answers = (url: string) => fetch(url).catch(() => undefined);
  while (
    (await answers(`${endpoint}/info`))?.status !== 200 ||
    (await Promise.all(behind.map(answers))).includes(undefined)
  ) {
    if (started.some(({ exitCode }) => exitCode !== null)) {
      await stop();
      return skip(`a server of Swift ended: ${readFileSync(log, "utf8").slice(-500)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return { endpoint, accessKeyId: "test:tester", secretAccessKey: "testing-with-swift", stop };
}
