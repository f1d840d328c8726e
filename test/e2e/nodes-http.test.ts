/** Nodes over the API of a coordination that really runs: who is let in, who is turned away, and what is told of it. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signRequest } from "../../src/cluster/index.ts";
import type { Lease } from "../../src/work/index.ts";
import { CAPABILITIES, joinNode, nodeKeys, type TestNode } from "../support/node-client.ts";
import { type RunningSurface, runSurface, type Where } from "../support/surface.ts";

let surface: RunningSurface;
let where: Where & { host: string; port: number };
let workerToken = "";
let good: TestNode;
const env = { RINGRIFT_NODE_BEAT: "0.5", RINGRIFT_NODE_SUSPECT: "1.5", RINGRIFT_NODE_DEAD: "3" };
beforeAll(async () => {
  surface = await runSurface({ ...env, RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0", RINGRIFT_RATE_FACTOR: "50" });
  where = { host: "127.0.0.1", port: surface.coordination.api.port };
  const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: "w", scope: "worker" } });
  workerToken = String(made.json.token);
  good = await joinNode(where, workerToken, "good");
});
afterAll(() => surface.end());

const stateOf = async (name: string) => (await surface.ask("socket", `/v1/nodes/${name}`)).json.state;
const events = (eventType: string) =>
  surface.coordination.router
    .history({ eventType, fromJournal: true, limit: 1_000 })
    .map(({ payload }) => payload as Record<string, unknown>);
const post = (path: string, body: unknown) => surface.ask("socket", path, { method: "POST", body });
const addJob = async (more = {}) => {
  const { json } = await post("/v1/work/jobs", { jobs: [{ work_type: "selfplay", ...more }] });
  return (json.added as [{ work_id: string }])[0].work_id;
};
const claimBody = (node_id: string) => ({ node_id, most: 1, offer: CAPABILITIES });

describe("a node", () => {
  test("joins with the token of a worker, is known by its key, and is told to be there once it beats", async () => {
    const { public_key } = nodeKeys();
    const body = { public_key, label: "twin", version: "0.0.9", protocol: 1, capabilities: CAPABILITIES };
    const joined = await surface.ask("port", "/v1/nodes/join", { method: "POST", token: workerToken, body });
    const id = `n${createHash("sha256").update(Buffer.from(public_key, "base64")).digest("hex").slice(0, 16)}`;
    expect(joined.json).toMatchObject({
      node_id: id,
      deprecated: true,
      protocol: { current: 1, least: 1 },
      timing: { beat_seconds: 0.5, suspect_seconds: 1.5, dead_seconds: 3 },
    });
    expect(await stateOf(id)).toBe("joined");
    expect((await good.beat()).json).toMatchObject({ state: "online", drain: false });
    await expect.poll(() => stateOf("good")).toBe("online");
    expect(events("HOST_ONLINE").map(({ node_id }) => node_id)).toContain(good.nodeId);
    expect(events("HOST_ONLINE").map(({ node_id }) => node_id)).not.toContain(id);
  });

  test("claims, completes and brings files with its signature alone", async () => {
    const work_id = await addJob();
    const claimed = await good.send("POST", "/v1/work/claim", claimBody(good.nodeId));
    const [lease] = claimed.json.leases as [Lease];
    expect(lease).toMatchObject({ work_id, node_id: good.nodeId });
    const bytes = randomBytes(100_000);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const put = await good.send("PUT", `/v1/artifacts/${sha256}`, undefined, { raw: bytes });
    expect([put.status, put.json]).toEqual([201, { sha256, size: 100_000, received: 100_000 }]);
    const ref = { work_id, node_id: good.nodeId, fence: lease.fence };
    const evidence = { outputs: [{ name: "g", sha256, bytes: bytes.length }], counts: { games: 2 } };
    const done = await good.send("POST", "/v1/work/complete", { completions: [{ ref, evidence }] });
    expect(done.json.answers).toEqual([{ ok: true, value: { repeated: false } }]);
    expect(readFileSync(join(surface.dataDir, "artifacts", sha256.slice(0, 2), sha256))).toEqual(bytes);
    const shown = (await surface.ask("socket", "/v1/nodes/good")).json;
    expect(shown).toMatchObject({ work: { completed: 1, games: 2 } });
  });

  test("that is cordoned gets nothing, and everything again when it is let", async () => {
    const work_id = await addJob();
    await post("/v1/nodes/good/cordon", { reason: "a look at the fans" });
    const none = await good.send("POST", "/v1/work/claim", { ...claimBody(good.nodeId), wait_seconds: 5 });
    expect(none.json).toMatchObject({ leases: [], retry_after_seconds: 10 });
    expect(String(none.json.reason)).toContain("a look at the fans");
    expect((await post("/v1/nodes/good/drain", {})).json).toMatchObject({ draining: true });
    expect((await good.beat()).json).toMatchObject({ drain: true });
    await post("/v1/nodes/good/uncordon", {});
    expect((await good.beat()).json).toMatchObject({ drain: false });
    const claimed = await good.send("POST", "/v1/work/claim", claimBody(good.nodeId));
    expect(claimed.json.leases).toMatchObject([{ work_id }]);
    await post(`/v1/work/jobs/${work_id}/cancel`, { reason: "tidy up" });
  });

  test("that falls silent is suspect, then dead; its job runs elsewhere, and its late word is refused", async () => {
    const [one, two] = [await joinNode(where, workerToken, "one"), await joinNode(where, workerToken, "two")];
    const other = await joinNode(where, workerToken, "other");
    for (const node of [one, two, other]) await node.beat();
    const work_id = await addJob();
    const [lease] = (await one.send("POST", "/v1/work/claim", claimBody(one.nodeId))).json.leases as [Lease];
    expect(lease.work_id).toBe(work_id);
    const again = other.send("POST", "/v1/work/claim", { ...claimBody(other.nodeId), wait_seconds: 30 });
    const stateWhileOtherLives = async () => {
      await other.beat();
      return stateOf("one");
    };
    await expect.poll(stateWhileOtherLives).toBe("dead");
    const [moved] = (await again).json.leases as [Lease];
    expect(moved).toMatchObject({ work_id, fence: lease.fence + 1, attempts: 1 });
    for (const name of ["NODE_SUSPECT", "P2P_NODE_DEAD", "HOST_OFFLINE"])
      expect(events(name).filter(({ node_id }) => node_id === one.nodeId)).toHaveLength(1);
    const together = events("P2P_NODES_DEAD").at(-1)?.node_ids as string[];
    expect(together).toEqual(expect.arrayContaining([one.nodeId, two.nodeId]));
    const ref = { work_id, node_id: one.nodeId, fence: lease.fence };
    const late = await one.send("POST", "/v1/work/beat", { beats: [{ ref }] });
    expect(late.json.answers).toMatchObject([{ ok: false, error: { code: "STALE_LEASE" } }]);
    await expect.poll(() => stateOf("one")).toBe("online");
    await post(`/v1/work/jobs/${work_id}/cancel`, { reason: "tidy up" });
  });

  test("that says goodbye has left, and one that is forgotten is nobody", async () => {
    const node = await joinNode(where, workerToken, "brief");
    await node.beat();
    await expect.poll(() => stateOf("brief")).toBe("online");
    await node.send("POST", "/v1/nodes/leave", { node_id: node.nodeId, reason: "SIGTERM" });
    await expect.poll(() => stateOf("brief")).toBe("left");
    expect(events("HOST_OFFLINE").find(({ node_id }) => node_id === node.nodeId)).toMatchObject({
      reason: "it left: SIGTERM",
    });
    expect(events("NODE_SUSPECT").some(({ node_id }) => node_id === node.nodeId)).toBe(false);
    expect((await post("/v1/nodes/brief/forget", {})).json).toMatchObject({ node_id: node.nodeId });
    const refused = await node.beat();
    expect([refused.status, refused.json.code]).toEqual([401, "UNKNOWN_NODE"]);
    await expect.poll(() => events("NODE_RETIRED").map(({ node_id }) => node_id)).toContain(node.nodeId);
    expect((await surface.ask("socket", "/v1/nodes/brief")).status).toBe(404);
  });
});

describe("turned away", () => {
  const refusals: [what: string, status: number, code: string, run: () => Promise<{ status: number; json: object }>][] =
    [
      [
        "a wrong token",
        401,
        "UNAUTHORIZED",
        () => surface.ask("port", "/v1/nodes/join", { method: "POST", token: "x", body: {} }),
      ],
      ["a forged node", 401, "BAD_SIGNATURE", () => good.beat({ key: nodeKeys().privateKey })],
      ["a changed body", 401, "BAD_SIGNATURE", () => good.beat({ signedBody: "{}" })],
      ["a malformed header", 401, "BAD_SIGNATURE", () => good.beat({ header: "v1 node_id=me" })],
      ["an unknown node", 401, "UNKNOWN_NODE", () => good.beat({ nodeId: "n0123456789abcdef" })],
      ["a clock that is off", 401, "CLOCK_SKEW", () => good.beat({ issuedAt: Math.round(Date.now() / 1_000) - 400 })],
      ["another's name", 403, "NOT_YOUR_NODE", () => good.send("POST", "/v1/work/claim", claimBody("somebody"))],
      [
        "a bearer that speaks for a node with a key",
        403,
        "NOT_YOUR_NODE",
        () =>
          surface.ask("port", "/v1/work/claim", { method: "POST", token: workerToken, body: claimBody(good.nodeId) }),
      ],
      [
        "a bearer that speaks for the coordinator's own node",
        403,
        "NOT_YOUR_NODE",
        () =>
          surface.ask("port", "/v1/work/claim", {
            method: "POST",
            token: workerToken,
            body: claimBody(surface.coordination.settings.nodeId),
          }),
      ],
      [
        "an old version",
        426,
        "PROTOCOL_REFUSED",
        () =>
          surface.ask("port", "/v1/nodes/join", {
            method: "POST",
            token: workerToken,
            body: {
              public_key: nodeKeys().public_key,
              label: "old",
              version: "0.0.1",
              protocol: 0,
              capabilities: { cpu: 1 },
            },
          }),
      ],
      [
        "an oversized body",
        413,
        "PAYLOAD_TOO_LARGE",
        () => good.send("POST", "/v1/nodes/beat", undefined, { raw: `"${"x".repeat(100_000)}"` }),
      ],
    ];

  test.each(refusals)("%s is answered %i %s, counted, and harms nobody else", async (_, status, code, run) => {
    const counted = async () => {
      const { text } = await surface.ask("socket", "/metrics");
      return Number(new RegExp(`ringrift_http_refusals_total\\{code="${code}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
    };
    const before = await counted();
    const refused = await run();
    expect([refused.status, refused.json]).toMatchObject([status, { code }]);
    expect(await counted()).toBe(before + 1);
    expect((await good.beat()).status).toBe(200);
  });

  test("a request that is said again is refused; one that was overtaken is not", async () => {
    const first = await good.beat();
    expect(first.status).toBe(200);
    const replayed = await good.beat({ counter: good.counter });
    expect([replayed.status, replayed.json.code]).toEqual([401, "REPLAYED_REQUEST"]);
    good.counter += 10;
    expect((await good.beat()).status).toBe(200);
    expect((await good.beat({ counter: good.counter - 5 })).status).toBe(200);
    expect((await good.beat({ counter: good.counter - 5_000 < 0 ? 0 : good.counter - 5_000 })).status).toBeLessThan(
      500,
    );
  });

  test("what was signed for another run of the coordinator is worth nothing, and the answer says for which to sign", async () => {
    const stale = await good.beat({ boot: "before" });
    expect([stale.status, stale.json]).toMatchObject([
      401,
      { code: "NODE_SESSION_STALE", details: { boot: good.boot } },
    ]);
    expect((await good.beat()).status).toBe(200);
  });

  test("an older life of a node is refused once a newer one has spoken", async () => {
    const node = await joinNode(where, workerToken, "restarted");
    await node.beat();
    node.incarnation = 2;
    expect((await node.beat()).status).toBe(200);
    const old = await node.beat({ incarnation: 1 });
    expect([old.status, old.json.code]).toEqual([409, "STALE_INCARNATION"]);
  });

  test("again and again raises an alert that says why and from where", async () => {
    for (let i = 0; i < 6; i += 1) await good.beat({ key: nodeKeys().privateKey });
    const alerts = async () => (await surface.ask("socket", "/v1/alerts")).json.alerts as { message: string }[];
    await expect.poll(async () => (await alerts()).map(({ message }) => message).join("\n")).toContain("BAD_SIGNATURE");
    expect((await good.beat()).status).toBe(200);
  });
});

describe("a file", () => {
  const bytes = randomBytes(50_000);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const put = (part: Buffer, range: string | undefined, more = {}) =>
    good.send("PUT", `/v1/artifacts/${sha256}`, undefined, {
      raw: part,
      headers: range === undefined ? {} : { "content-range": range },
      ...more,
    });

  test("comes in parts, goes on where it stopped, and is whole or not there", async () => {
    const first = await put(bytes.subarray(0, 20_000), "bytes 0-19999/50000");
    expect([first.status, first.json]).toEqual([202, { sha256, size: null, received: 20_000 }]);
    const gap = await put(bytes.subarray(30_000), "bytes 30000-49999/50000");
    expect([gap.status, gap.json]).toMatchObject([409, { code: "ARTIFACT_OFFSET", details: { received: 20_000 } }]);
    const head = await good.send("HEAD", `/v1/artifacts/${sha256}`);
    expect([head.status, head.headers["x-artifact-received"]]).toEqual([200, "20000"]);
    expect((await good.send("GET", `/v1/artifacts/${sha256}`)).status).toBe(404);
    const forged = await put(bytes.subarray(20_000), "bytes 20000-49999/50000", { key: nodeKeys().privateKey });
    expect(forged.status).toBe(401);
    const last = await put(bytes.subarray(20_000), "bytes 20000-49999/50000");
    expect([last.status, last.json]).toEqual([201, { sha256, size: 50_000, received: 50_000 }]);
    expect((await put(bytes, undefined)).status).toBe(201);
    const range = await fetch(`http://127.0.0.1:${surface.coordination.api.port}/v1/artifacts/${sha256}`, {
      headers: { range: "bytes=10-19" },
    });
    expect([range.status, range.headers.get("content-range")]).toEqual([206, "bytes 10-19/50000"]);
    expect(Buffer.from(await range.arrayBuffer())).toEqual(bytes.subarray(10, 20));
  });

  test("of a forger is refused before its first byte, and harms nobody's part", async () => {
    const other = randomBytes(30_000);
    const path = `/v1/artifacts/${createHash("sha256").update(other).digest("hex")}`;
    const headers = { "content-range": "bytes 0-9999/30000" };
    expect((await good.send("PUT", path, undefined, { raw: other.subarray(0, 10_000), headers })).status).toBe(202);
    const unsigned = await good.send("PUT", path, undefined, { raw: other, promises: false });
    expect([unsigned.status, unsigned.json.code]).toEqual([401, "BAD_SIGNATURE"]);
    const claim = { ...good, counter: 1_000_000, issuedAt: Math.round(Date.now() / 1_000) };
    const forged = request({
      ...where,
      method: "PUT",
      path,
      agent: false,
      headers: {
        "content-length": 2 ** 30,
        "x-ringrift-node": signRequest(claim, { method: "PUT", path, bodySha256: "" }, nodeKeys().privateKey),
      },
    });
    forged.flushHeaders();
    const [answer] = (await once(forged, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(401);
    forged.on("error", () => undefined).destroy();
    expect((await good.send("HEAD", path)).headers["x-artifact-received"]).toBe("10000");
  });

  test("with a wrong hash leaves nothing", async () => {
    const wrong = "00".repeat(32);
    const refused = await good.send("PUT", `/v1/artifacts/${wrong}`, undefined, { raw: bytes });
    expect([refused.status, refused.json.code]).toEqual([422, "ARTIFACT_HASH"]);
    const folder = join(surface.dataDir, "artifacts", "00");
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  });
});
