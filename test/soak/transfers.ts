/**
 * Three hosts in network namespaces: one has files, one fetches them over HTTP, rsync over ssh or a relay on the third, and the lines
 * between them are cut, cut one way, flapped and healed. Nothing torn is ever seen, no way starts over, and in the end all is there.
 */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DISK_MARKER } from "../../src/adapters/transports/disk-marker.ts";
import { sleep, systemClock } from "../../src/kernel/index.ts";
import type { Source, TransferReport, Wanted } from "../../src/sync/index.ts";
import { listClaim, signTicket } from "../../src/sync/transfer/ticket.ts";
import { type Host, hostsOnABridge } from "../support/hosts.ts";
import { nodeKey } from "../support/node-keys.ts";
import { owned, type Started } from "../support/process.ts";
import { sshServer } from "../support/ssh-server.ts";

export const about = "files between three hosts whose lines are cut, cut one way, flapped and healed";

export interface Options {
  readonly megabytes?: number;
  readonly rounds?: number;
}
/** Without harm: how fast a machine is decides what of a transfer a cut meets. */
export const tiny = { megabytes: 4, rounds: 0 } satisfies Options;

const DISK = "the files of host 1";
const STALL_MS = 2_000;
/** Leaves time for something to happen, and much more than what is on the line at once: that would still come after a cut. */
const BYTES_PER_SECOND = 6_000_000;

const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const namesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) => /^[0-9a-f]{64}$/.test(name));

export async function run({ megabytes = 60, rounds = 5 }: Options = {}) {
  const undo: (() => void)[] = [];
  const hosts = hostsOnABridge(`rr${process.pid % 1_000}`, 3, (one) => void undo.push(one));
  if (hosts === undefined) return { ok: true, skipped: "no network namespaces can be made here" };
  const own = owned();
  const scenes: Record<string, unknown>[] = [];
  let stopSsh = async (): Promise<void> => {};
  try {
    const [a, b, c] = hosts as [Host, Host, Host];
    const source = own.folder();
    writeFileSync(join(source, DISK_MARKER), `${DISK}\n`);
    const ssh = await sshServer(join(own.folder(), "ssh"), a);
    if (ssh === undefined) return { ok: true, skipped: "no rsync over ssh can be had here" };
    stopSsh = ssh.stop;
    const coordinator = generateKeyPairSync("ed25519");
    const coordinatorPem = coordinator.publicKey.export({ type: "spki", format: "pem" }).toString();
    const on = ({ enter: [program = "", ...args] }: Host) => ({
      execPath: program,
      execArgv: [...args, process.execPath],
    });
    const relay = own.startNode(
      new URL("../chaos/parts/relay-node.ts", import.meta.url),
      [c.address, coordinatorPem],
      on(c),
    );
    const relayUrl = `http://${c.address}:${(await relay.waitForLine(/^port (\d+)$/)).match[1]}`;
    const given = JSON.stringify({ folder: source, coordinator: coordinatorPem, host: a.address, relayUrl });
    const serving = own.startNode(new URL("../support/serving-node.ts", import.meta.url), [given], on(a));
    const { match } = await serving.waitForLine(/^\{"port":(\d+),"nodeId":"(n[0-9a-f]+)"\}$/);
    const [port, nodeId] = [Number(match[1]), String(match[2])];
    const us = nodeKey();
    const pem = us.privateKey.export({ type: "pkcs8", format: "pem" }).toString();

    const make = (): Wanted[] =>
      [megabytes * 1_000_000, ...Array.from({ length: 50 }, (_, i) => i * 100)].map((bytes) => {
        const content = randomBytes(bytes);
        const sha256 = sha256Of(content);
        mkdirSync(join(source, sha256.slice(0, 2)), { recursive: true });
        writeFileSync(join(source, sha256.slice(0, 2), sha256), content);
        return { sha256, bytes };
      });
    const sourcesOf = (list: readonly Wanted[]): Source[] => {
      const seconds = Math.floor(Date.now() / 1_000);
      const claim = {
        ...listClaim(list),
        from: nodeId,
        to: us.nodeId,
        issuedAt: seconds - 1,
        expiresAt: seconds + 3_600,
      };
      const ticket = signTicket(claim, coordinator.privateKey);
      const { user, identityFile, knownHostsFile } = ssh;
      return [
        { transport: "http", url: `http://${a.address}:${port}`, nodeId, ticket, list },
        {
          transport: "rsync",
          host: a.address,
          port: ssh.port,
          user,
          path: source,
          identityFile,
          knownHostsFile,
          disk: DISK,
        },
        { transport: "relay", url: relayUrl, nodeId, ticket, list },
      ];
    };
    const target = own.folder();
    const fetch = (wanted: readonly Wanted[], rate: number | null): Started => {
      const { rsync, env } = ssh.programs;
      const order = {
        folder: target,
        pem,
        wanted,
        sources: sourcesOf(wanted),
        rate,
        stallMs: STALL_MS,
        programs: { rsync, ssh: "ssh", env },
      };
      const file = join(own.folder(), "order.json");
      writeFileSync(file, JSON.stringify(order));
      return own.startNode(new URL("../chaos/parts/fetching-node.ts", import.meta.url), [file], on(b));
    };
    const reportOf = async (fetching: Started): Promise<TransferReport> => {
      const found = await fetching.waitForLine(/^report (.*)$/, { timeoutMs: 300_000 });
      await fetching.exited;
      return JSON.parse(found.match[1] ?? "{}") as TransferReport;
    };
    const checkNames = () => {
      for (const { name, parentPath } of namesIn(target))
        if (sha256Of(readFileSync(join(parentPath, name))) !== name)
          throw new Error(`${name} is not what its name says`);
    };
    /** The file that is on its way when something happens to the line, at a rate that leaves time for it. */
    const scene = async (name: string, harm: (fetching: Started) => Promise<void>): Promise<TransferReport> => {
      const wanted = make();
      const fetching = fetch(wanted, BYTES_PER_SECOND);
      await fetching.waitForLine(/^at /);
      await harm(fetching);
      const first = await reportOf(fetching);
      checkNames();
      a.heal();
      const rest = await reportOf(fetch(wanted, null));
      checkNames();
      const came = new Set([...first.arrived, ...rest.arrived, ...rest.present]);
      if (came.size !== wanted.length) throw new Error(`${name}: ${came.size} of ${wanted.length} files came`);
      const moved = [...first.tries, ...rest.tries].reduce((sum, { bytes }) => sum + bytes, 0);
      const size = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
      scenes.push({
        name,
        ways: first.tries.map(({ transport, bytes, error }) => ({ transport, bytes, error: error?.code })),
        moved_share: moved / size,
      });
      // A pack that is cut is asked for again; the large file never is.
      if (moved > size * 1.05) throw new Error(`${name}: ${moved} bytes travelled for ${size}`);
      return first;
    };
    const calm = await reportOf(fetch(make(), null));
    checkNames();
    if (calm.failed.length > 0) throw new Error(`calm: ${JSON.stringify(calm.tries)}`);
    const clock = systemClock();
    for (let round = 0; round < rounds; round += 1) {
      const cut = await scene("HTTP is cut off, rsync goes on", async () => a.cut("both", port));
      if (!cut.tries.some(({ transport, bytes }) => transport === "rsync" && bytes > 0))
        throw new Error("rsync brought nothing");
      await scene("nothing leaves the host any more, and later it does", async () => a.cut("out"));
      await scene("the line flaps", async () => {
        for (let flaps = 0; flaps < 3; flaps += 1) {
          a.cut("both");
          await sleep(clock, STALL_MS / 4);
          a.heal();
          await sleep(clock, STALL_MS / 4);
        }
      });
      a.hide();
      const hidden = await reportOf(fetch(make(), null));
      a.heal();
      checkNames();
      const byRelay = hidden.tries.find(({ transport }) => transport === "relay");
      if (hidden.failed.length > 0 || byRelay?.files === 0) throw new Error(`hidden: ${JSON.stringify(hidden.tries)}`);
      scenes.push({
        name: "a host that only dials out is reached through the relay",
        ways: hidden.tries.map(({ transport, files }) => ({ transport, files })),
      });
    }
    return { ok: true, scenes };
  } finally {
    await stopSsh();
    await own.end();
    for (const one of undo.toReversed()) one();
  }
}
