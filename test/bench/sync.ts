/**
 * Files from one node to another over loopback, whole and checked and on the disk, beside what one would type: an rsync daemon
 * followed by `sha256sum -c` and `sync -f`, and `cp` followed by the same. All of it without TLS, in one run, taking turns.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startTransfers } from "../../src/adapters/transports/transfers.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { createReservations, type Wanted } from "../../src/sync/index.ts";
import { listClaim, signTicket } from "../../src/sync/transfer/ticket.ts";
import { nodeKey } from "../support/node-keys.ts";
import { findRsync } from "../support/ssh-server.ts";
import { inFolder } from "./support/folder.ts";
import { defineBench, sized } from "./support/frame.ts";
import { atMost, type Contender, compare, type Goal } from "./support/measure.ts";
import { computedWithEndedUs } from "./support/process-time.ts";
import type { Section } from "./support/table.ts";
import { largeCatalog } from "./sync-catalog.ts";
import { manyNodes } from "./sync-nodes.ts";

export const about =
  "files between nodes: many small ones, some, a large one, one for fifty nodes; a catalog of a million";

const OURS = "one node from another";
const RSYNC = "rsync daemon, sha256sum -c, sync -f";
const CP = "cp, sha256sum -c, sync -f";

/** Files as a store keeps them, and the list that `sha256sum -c` reads. */
function makeFiles(folder: string, files: number, bytes: number): Wanted[] {
  const content = randomBytes(bytes);
  const wanted: Wanted[] = [];
  for (let i = 0; i < files; i += 1) {
    content.writeUInt32LE(i, 0);
    const sha256 = createHash("sha256").update(content).digest("hex");
    mkdirSync(join(folder, sha256.slice(0, 2)), { recursive: true });
    writeFileSync(join(folder, sha256.slice(0, 2), sha256), content);
    wanted.push({ sha256, bytes });
  }
  writeFileSync(`${folder}.sums`, wanted.map(({ sha256 }) => `${sha256}  ${sha256.slice(0, 2)}/${sha256}\n`).join(""));
  return wanted;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

async function ended(program: ChildProcess): Promise<void> {
  const exit = once(program, "exit");
  program.kill("SIGTERM");
  await exit;
}

/** Runs a program to its end beside this process; what it says is for people. */
async function runProgram(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] });
  const [status] = (await once(child, "exit")) as [number | null];
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}

async function rsyncDaemon(folder: string, source: string) {
  const found = findRsync();
  if (found === undefined) return undefined;
  const port = await freePort();
  const config = join(folder, "rsyncd.conf");
  const { uid, gid } = userInfo();
  writeFileSync(config, `use chroot = no\nuid = ${uid}\ngid = ${gid}\n[files]\npath = ${source}\n`);
  const args = ["--daemon", "--no-detach", `--config=${config}`, "--address=127.0.0.1", `--port=${port}`];
  const daemon = spawn(found.rsync, args, { env: { ...process.env, ...found.env }, stdio: "ignore" });
  while (!(await answers(port))) if (daemon.exitCode !== null) throw new Error("the rsync daemon ended");
  return {
    fetch: (target: string) =>
      runProgram(found.rsync, ["-a", `rsync://127.0.0.1:${port}/files/`, `${target}/`], folder, found.env),
    pid: daemon.pid,
    close: () => ended(daemon),
  };
}

async function servingNode(source: string, target: string) {
  const coordinator = generateKeyPairSync("ed25519");
  const pem = coordinator.publicKey.export({ type: "spki", format: "pem" }).toString();
  const file = fileURLToPath(new URL("../support/serving-node.ts", import.meta.url));
  const node = spawn(process.execPath, [file, JSON.stringify({ folder: source, coordinator: pem })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: node.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const { port, nodeId } = JSON.parse(line) as { port: number; nodeId: string };
  const us = nodeKey();
  // As a node that has joined keeps its files: side by side, and small ones that came together in packs.
  const pathOf = (sha256: string) => join(target, sha256);
  const landingOf = (sha256: string) => ({ path: pathOf(sha256), part: `${pathOf(sha256)}.part` });
  const { reserve } = createReservations({ maxBytes: 1e12, landingOf, isLeaving: () => false });
  // The thread of a node runs as long as the node does.
  const transfers = await startTransfers({
    ...us,
    folder: target,
    isFlat: true,
    packs: { folder: `${target}.packs`, quarantine: `${target}.quarantine` },
    store: { reserve, pathOf },
    scratch: `${target}.scratch`,
    maxBytesPerSecond: null,
    stallMs: 60_000,
    programs: { rsync: "rsync", ssh: "ssh" },
    log: silentLog(),
    onRefused: () => {},
  });
  return {
    pid: node.pid,
    async fetch(wanted: readonly Wanted[]): Promise<void> {
      const seconds = Math.floor(Date.now() / 1_000);
      const claim = {
        ...listClaim(wanted),
        from: nodeId,
        to: us.nodeId,
        issuedAt: seconds - 1,
        expiresAt: seconds + 3_600,
      };
      const ticket = signTicket(claim, coordinator.privateKey);
      const url = `http://127.0.0.1:${port}`;
      const report = await transfers.fetch({
        wanted,
        sources: [{ transport: "http", url, nodeId, ticket, list: wanted }],
      });
      if (report.arrived.length !== wanted.length)
        throw new Error(`only ${report.arrived.length} of ${wanted.length} came`);
    },
    /** It has nothing, as before the first run. */
    async empty(): Promise<void> {
      const all = (await transfers.packed?.list()) ?? [];
      await transfers.packed?.drop(all.map(({ sha256 }) => sha256));
    },
    async close() {
      await transfers.close();
      const exit = once(node, "exit");
      node.stdin.end();
      await exit;
    },
  };
}

interface Load {
  readonly title: string;
  readonly files: number;
  readonly bytes: number;
  /** How many times the time of rsync it may take. */
  readonly atMostRsync: number;
}

const transfer = ({ title, files, bytes, atMostRsync }: Load, rounds: number): Promise<Section> =>
  inFolder(async (folder) => {
    const [source, target] = [join(folder, "source"), join(folder, "target")];
    mkdirSync(source);
    mkdirSync(target);
    const wanted = makeFiles(source, files, bytes);
    execFileSync("sync", ["-f", source]);
    const node = await servingNode(source, target);
    const daemon = await rsyncDaemon(folder, source);
    let runs = 0;
    const prepare = async () => {
      await node.empty();
      // Set aside, not removed: a file system makes files slowly, for all alike, where it has just removed some.
      runs += 1;
      renameSync(target, `${target}.${runs}`);
      mkdirSync(target);
      execFileSync("sync", ["-f", folder]);
    };
    const checked = async (bring: () => Promise<void>) => {
      await bring();
      await runProgram("sha256sum", ["-c", "--quiet", `${source}.sums`], target);
      await runProgram("sync", ["-f", target], target);
    };
    // Where others compute too, what was computed says more than what went by.
    const processors = new Map<string, number>();
    const computedUs = (): number =>
      [process.pid, node.pid, daemon?.pid].map(computedWithEndedUs).reduce((sum, each) => sum + each, 0);
    const contender = (name: string, bring: () => Promise<void>): Contender => ({
      name,
      prepare,
      async run() {
        const before = computedUs();
        await bring();
        processors.set(name, Math.min(computedUs() - before, processors.get(name) ?? Number.POSITIVE_INFINITY));
      },
    });
    const contenders: Contender[] = [
      contender(OURS, () => node.fetch(wanted)),
      contender(CP, () => checked(() => runProgram("cp", ["-r", `${source}/.`, target], folder))),
      ...(daemon === undefined ? [] : [contender(RSYNC, () => checked(() => daemon.fetch(target)))]),
    ];
    try {
      const measured = await compare(contenders, 1, rounds);
      const goals: Goal[] =
        daemon === undefined ? [] : [atMost("our time : rsync's", measured.costRatio(OURS, RSYNC), atMostRsync)];
      const ownUs = measured.contenders.find(({ name }) => name === OURS)?.costUs ?? Number.NaN;
      const notes = {
        "our time : cp's": measured.costRatio(OURS, CP),
        "megabytes a second": (files * bytes) / ownUs,
        ...(daemon === undefined
          ? { rsync: "there is none here" }
          : { "our processor time : rsync's": processors.get(OURS)! / processors.get(RSYNC)! }),
      };
      return { title, measured: measured.contenders, goals, notes };
    } finally {
      await node.close();
      await daemon?.close();
    }
  });

const bench = defineBench("sync", {
  files: (size) =>
    transfer(
      { title: "files of 0.5 MB", files: sized(size, 2_000, 400, 4), bytes: 500_000, atMostRsync: 1 },
      sized(size, 3, 2, 1),
    ),
  large: (size) =>
    transfer(
      { title: "one large file", files: 1, bytes: sized(size, 1e9, 3e8, 3e6), atMostRsync: 1 },
      sized(size, 3, 2, 1),
    ),
  small: (size) =>
    transfer(
      { title: "many files of 5 kB", files: sized(size, 20_000, 5_000, 50), bytes: 5_000, atMostRsync: 0.5 },
      sized(size, 3, 2, 1),
    ),
  nodes: (size) =>
    manyNodes({ nodes: sized(size, 50, 20, 4), bytes: sized(size, 50e6, 10e6, 2e6), bytesPerSecond: 10e6 }),
  catalog: (size) => largeCatalog({ artifacts: sized(size, 1_000_000, 200_000, 5_000), lacking: 1_000 }),
});
export const run = bench.run;
export const tiny = bench.tiny;
export const print = bench.print;

if (import.meta.main) await bench.main();
