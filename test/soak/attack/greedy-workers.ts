/** What a worker with a good token does to get more than its share, or to be believed without work. */
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../../../src/kernel/index.ts";
import { nodeKeys } from "../../support/node-client.ts";
import type { AttackedMain } from "./attacked-main.ts";
import type { Attack } from "./list.ts";

const times = (count: number) => Array.from({ length: count }, (_, i) => i);
const OFFER = { cpu: 1_000, memory_gb: 1_000 };
const CAPABILITIES = { cpu: 1, gpu: 0, memory_gb: 1, gpu_memory_gb: 0, tags: [] };

interface Lease {
  readonly work_id: string;
  readonly node_id: string;
  readonly fence: number;
}

const addJobs = async (attacked: AttackedMain, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 500) {
    const jobs = times(Math.min(500, left)).map(() => ({ work_type: "selfplay", payload: { games: 1 } }));
    await attacked.own("/v1/work/jobs", { method: "POST", body: { jobs } });
  }
};

/** Says what it likes under one token, and gives what came back. */
async function worker(attacked: AttackedMain, label: string) {
  const token = await attacked.tokenFor(label);
  return (path: string, body: unknown) => attacked.from(token, path, { method: "POST", body });
}

/** Results whose files never came are no results. */
async function ghosts(attacked: AttackedMain, tries: number): Promise<void> {
  const post = await worker(attacked, "ghost");
  await addJobs(attacked, tries);
  const { json } = await post("/v1/work/claim", { node_id: "ghost", most: tries, offer: OFFER, start: true });
  const completions = ((json.leases ?? []) as Lease[]).map(({ work_id, node_id, fence }) => ({
    ref: { work_id, node_id, fence },
    evidence: {
      outputs: [{ name: "games.jsonl", sha256: randomBytes(32).toString("hex"), bytes: 10 }],
      counts: { games: 1 },
    },
  }));
  assert(completions.length > 0, "no job was given out");
  const answers = (await post("/v1/work/complete", { completions })).json.answers as { ok: boolean }[];
  const taken = answers.filter(({ ok }) => ok).length;
  assert(taken === 0, `${taken} results were taken whose files never came`);
  const releases = completions.map(({ ref }) => ({ ref, reason: "the attack is over" }));
  await post("/v1/work/release", { releases });
}

/** One token holds no more than it may, under however many names. */
async function hoard(attacked: AttackedMain, tries: number): Promise<void> {
  const post = await worker(attacked, "hoarder");
  await addJobs(attacked, 1_200);
  const leases: Lease[] = [];
  let most = 0;
  // Leases lapse meanwhile, and their jobs are given out again: what counts is what is held at one time.
  const look = async () => {
    const { nodes } = (await attacked.own("/v1/nodes")).json as {
      nodes: { node_id: string; held?: { jobs: number } }[];
    };
    const own = nodes.filter(({ node_id }) => node_id.startsWith("hoarder-"));
    most = Math.max(
      most,
      own.reduce((sum, { held }) => sum + (held?.jobs ?? 0), 0),
    );
  };
  await Promise.all(
    times(tries).map(async (n) => {
      const claim = { node_id: `hoarder-${n}`, most: 1_000, offer: OFFER, start: true };
      leases.push(...(((await post("/v1/work/claim", claim)).json.leases ?? []) as Lease[]));
      if (n % 10 === 0) await look();
    }),
  );
  await look();
  assert(most > 0, "no job was held");
  assert(most <= 1_000, `one token holds ${most} jobs`);
  const releases = leases.map(({ work_id, node_id, fence }) => ({
    ref: { work_id, node_id, fence },
    reason: "the attack is over",
  }));
  for (let at = 0; at < releases.length; at += 500)
    await post("/v1/work/release", { releases: releases.slice(at, at + 500) });
}

async function manyConsumers(attacked: AttackedMain, tries: number): Promise<void> {
  const post = await worker(attacked, "consumer of all");
  const codes = new Set<unknown>();
  for (const n of times(tries)) {
    const { json } = await post(`/v1/consumers/greedy-${n}/sessions`, { event_types: ["NEW_GAMES_AVAILABLE"] });
    codes.add(json.code);
  }
  const { consumers } = (await attacked.own("/v1/consumers")).json as { consumers: { consumer: string }[] };
  const own = consumers.filter(({ consumer }) => consumer.startsWith("greedy-")).map(({ consumer }) => consumer);
  for (const consumer of own) await attacked.own(`/v1/consumers/${consumer}`, { method: "DELETE" });
  assert(own.length <= 50, `one token has ${own.length} durable consumers`);
}

/** A token that is good for one node. */
async function joinsBeyond(attacked: AttackedMain, tries: number): Promise<void> {
  const made = await attacked.own("/v1/tokens", {
    method: "POST",
    body: { label: "one node", scope: "worker", join_uses: 1 },
  });
  const token = String(made.json.token);
  const joins = await Promise.all(
    times(tries).map((n) => {
      const { public_key } = nodeKeys();
      const body = { public_key, label: `n${n}`, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES };
      return attacked.from(token, "/v1/nodes/join", { method: "POST", body });
    }),
  );
  const joined = joins.filter(({ status }) => status === 200);
  for (const { json } of joined) await attacked.own(`/v1/nodes/${json.node_id}/forget`, { method: "POST", body: {} });
  assert(joined.length <= 1, `${joined.length} nodes joined with a token for one`);
}

async function largePublishes(attacked: AttackedMain, tries: number): Promise<void> {
  const post = await worker(attacked, "large");
  const pad = "z".repeat(900_000);
  for (const n of times(tries)) {
    const events = times(10).map((i) => ({
      ...{ specversion: "1.0", id: crypto.randomUUID(), type: "NEW_GAMES_AVAILABLE", source: "large" },
      data: { config_key: "hex8_2p", new_games: 1, total_games: n * 10 + i, pad },
    }));
    // Who still owes for the last one is turned away before its body is read, and may find the line cut.
    await post("/v1/events", events).catch(() => undefined);
  }
}

/** Deliveries to sessions that read nothing. */
async function unreadDeliveries(attacked: AttackedMain, tries: number): Promise<void> {
  const token = await attacked.tokenFor("does not read");
  const sockets = [];
  for (const n of times(tries)) {
    const { json } = await attacked.from(token, `/v1/consumers/unread-${n}/sessions`, {
      method: "POST",
      body: { event_types: ["NEW_GAMES_AVAILABLE"], start: "earliest" },
    });
    const path = `/v1/consumers/unread-${n}/sessions/${json.session_id}/stream?credit=10000`;
    const socket = await attacked.raw(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    socket.pause();
    sockets.push(socket);
  }
  for (const _ of times(50)) await attacked.own("/livez");
  for (const socket of sockets) socket.destroy();
  for (const n of times(tries)) await attacked.own(`/v1/consumers/unread-${n}`, { method: "DELETE" });
}

/** What is said of nodes that nobody knows changes nobody's health. */
async function falseAlarms(attacked: AttackedMain, tries: number): Promise<void> {
  const post = await worker(attacked, "alarmist");
  for (const n of times(tries))
    await post("/v1/events", {
      ...{ specversion: "1.0", id: crypto.randomUUID(), type: "NODE_UNHEALTHY", source: "alarmist" },
      data: { node_id: `nobody-${n}`, reason: "it burns" },
    });
  const { json } = await attacked.own("/health");
  const said = JSON.stringify(json);
  assert(!said.includes("nobody-"), "events about nodes that nobody knows are taken for the health of the system");
}

/** Bytes that changed on the disk are never given out under their old name. */
async function changedFiles(attacked: AttackedMain, tries: number): Promise<void> {
  const token = await attacked.tokenFor("reader");
  for (const n of times(tries)) {
    const bytes = randomBytes(5_000 + n);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const path = `/v1/artifacts/${sha256}`;
    const put = await attacked.from(token, path, { method: "PUT", raw: bytes });
    if (put.status === 429) continue;
    assert(put.status === 201, `an upload was answered with ${put.status} ${put.text}`);
    const folder = join(attacked.dataDir, "artifacts", sha256.slice(0, 2));
    assert(readdirSync(folder).includes(sha256), "an artifact is not where it should be");
    writeFileSync(join(folder, sha256), randomBytes(5_000 + n));
    const { status } = await attacked.from(token, path);
    assert(status !== 200, "changed bytes were given out under their old name");
  }
}

export const byGreedyWorkers: readonly Attack[] = [
  { what: "results whose files never came", times: 200, run: ghosts },
  { what: "claims of 1,000 jobs under new names, with one token", times: 100, run: hoard },
  { what: "new durable consumers, with one token", times: 300, run: manyConsumers },
  { what: "joins at once with a token for one node", times: 100, run: joinsBeyond },
  { what: "publishes of 9 MB", times: 30, run: largePublishes },
  { what: "sessions with a credit of 10,000 that do not read", times: 10, run: unreadDeliveries },
  { what: "alarms about nodes that nobody knows", times: 200, run: falseAlarms },
  { what: "stored files that are changed on the disk", times: 50, run: changedFiles },
];
