/** What strangers and bad workers send. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../../../src/kernel/index.ts";
import { joinNode } from "../../support/node-client.ts";
import type { AttackedMain } from "./attacked-main.ts";
import type { Attack } from "./list.ts";

const times = (count: number) => Array.from({ length: count }, (_, i) => i);
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const bytesIn = (folder: string): number =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" })
        .map((name) => statSync(join(folder, name)))
        .reduce((sum, about) => sum + (about.isFile() ? about.size : 0), 0)
    : 0;

async function poisonedCounts(attacked: AttackedMain, tries: number): Promise<void> {
  const token = await attacked.tokenFor("poisoner");
  await attacked.own("/v1/work/jobs", {
    method: "POST",
    body: { jobs: times(tries).map(() => ({ work_type: "selfplay", config_key: "hex8_2p", payload: { games: 1 } })) },
  });
  const claim = { node_id: "poisoner", most: tries, offer: { cpu: 64, memory_gb: 64 }, start: true };
  const { json } = await attacked.from(token, "/v1/work/claim", { method: "POST", body: claim });
  for (const { work_id, node_id, fence } of (json.leases ?? []) as Lease[]) {
    const evidence = { outputs: [], counts: { games: Number.MAX_SAFE_INTEGER } };
    const body = { completions: [{ ref: { work_id, node_id, fence }, evidence }] };
    await attacked.from(token, "/v1/work/complete", { method: "POST", body });
  }
  for (const path of ["/readyz", "/v1/loop"]) {
    const { status } = await attacked.own(path);
    assert(status === 200, `${path} answers ${status} after poisoned counts`);
  }
}

interface Lease {
  readonly work_id: string;
  readonly node_id: string;
  readonly fence: number;
}

/** Bytes under a node's name with a signature that is none. */
async function unprovenUploads(attacked: AttackedMain, tries: number): Promise<void> {
  const joining = await attacked.tokenFor("node");
  const node = await joinNode({ host: "127.0.0.1", port: attacked.port }, joining, "victim");
  const before = bytesIn(join(attacked.dataDir, "artifacts"));
  for (const _ of times(tries)) {
    const bytes = randomBytes(100_000);
    const path = `/v1/artifacts/${sha256Of(bytes)}`;
    const answer = await node.send("PUT", path, undefined, { raw: bytes, signedBody: "something else" });
    assert(answer.status >= 400, `an unproven upload was answered with ${answer.status}`);
  }
  assert(bytesIn(join(attacked.dataDir, "artifacts")) === before, "an unproven upload has left bytes on the disk");
}

async function readersThatDoNotRead(attacked: AttackedMain, tries: number): Promise<void> {
  const pad = "x".repeat(900_000);
  for (const n of times(Math.min(100, tries))) {
    const data = { config_key: "hex8_2p", new_games: 1, total_games: n, pad };
    const body = { specversion: "1.0", id: crypto.randomUUID(), type: "NEW_GAMES_AVAILABLE", source: "large", data };
    await attacked.own("/v1/events", { method: "POST", body });
  }
  const head = "GET /events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const sockets = await Promise.all(times(tries).map(() => attacked.raw(head)));
  for (const socket of sockets) socket.pause();
  for (const _ of times(20)) await attacked.own("/livez");
  for (const socket of sockets) socket.destroy();
}

async function costlyReads(attacked: AttackedMain, tries: number): Promise<void> {
  const paths = ["/v1/work/stats", "/v1/audit", "/v1/alerts", "/status", "/metrics"];
  // Whoever asks a thousand times at once may be cut off; the honest caller may not.
  const asked = times(tries).map((i) => attacked.from(undefined, paths[i % paths.length]!).catch(() => undefined));
  await Promise.all(asked);
}

async function unknownBeats(attacked: AttackedMain, tries: number): Promise<void> {
  const token = await attacked.tokenFor("flooder");
  const beats = times(200).map((i) => ({ ref: { work_id: `w${i}`, node_id: "flooder", fence: 1 } }));
  await Promise.all(
    times(4).map(async () => {
      for (const _ of times(tries)) await attacked.from(token, "/v1/work/beat", { method: "POST", body: { beats } });
    }),
  );
}

async function cutUploads(attacked: AttackedMain, tries: number): Promise<void> {
  const token = await attacked.tokenFor("cutter");
  const from = attacked.main().lines.length;
  for (const i of times(tries)) {
    const head = `PUT /v1/artifacts/${sha256Of(Buffer.from(`cut ${i}`))} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}`;
    const socket = await attacked.raw(`${head}\r\nContent-Length: 100000\r\n\r\nhalf of it`);
    socket.destroy();
  }
  await attacked.own("/livez");
  const stacks = attacked
    .main()
    .lines.slice(from)
    .filter((line) => line.includes("a request failed"));
  assert(stacks.length === 0, `cut uploads are logged as faults of the program: ${stacks[0]}`);
}

export const fromOutside: readonly Attack[] = [
  { what: "results that claim 2^53-1 games", times: 50, run: poisonedCounts },
  { what: "uploads with a garbage signature", times: 500, run: unprovenUploads },
  { what: "readers of large events that do not read", times: 80, run: readersThatDoNotRead },
  { what: "costly reads without a token", times: 1_000, run: costlyReads },
  { what: "beats for 200 jobs nobody has, on 4 lines", times: 100, run: unknownBeats },
  { what: "uploads that are cut off", times: 300, run: cutUploads },
];
