/** Who may say what: the events of nodes and workers over the API of a coordination that really runs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinNode, type TestNode } from "../support/node-client.ts";
import { type RunningSurface, runSurface, type Where } from "../support/surface.ts";

let surface: RunningSurface;
let where: Where;
let token = "";
let node: TestNode;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_RATE_FACTOR: "50" });
  where = { host: "127.0.0.1", port: surface.coordination.api.port };
  const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: "w", scope: "worker" } });
  token = String(made.json.token);
  node = await joinNode(where, token, "box");
});
afterAll(() => surface.end());

const cloudEvent = (id: string, type: string, data: object, source = "/ringrift/elsewhere/monitor") => ({
  specversion: "1.0",
  id,
  type,
  source,
  time: "2026-01-02T03:04:05.678Z",
  data,
});
const cleanup = (id: string, bytes_freed: number, node_id = node.nodeId) =>
  cloudEvent(id, "DISK_CLEANUP_TRIGGERED", { node_id, bytes_freed, artifacts: 0, reason: "test" });
const heartbeat = (id: string, node_id: string) =>
  cloudEvent(id, "COORDINATOR_HEARTBEAT", {
    coordinator_name: "health_manager",
    node_id,
    health: "running",
    handled_events: 1,
    failed_events: 0,
    uptime_seconds: 1,
  });
const send = (events: unknown, node_id = node.nodeId) => node.send("POST", "/v1/nodes/events", { node_id, events });
const journal = (prefix: string) =>
  surface.coordination.router
    .history({ eventType: "DISK_CLEANUP_TRIGGERED", fromJournal: true, limit: 1_000 })
    .filter(({ eventId }) => eventId.startsWith(prefix));

describe("the events of a node", () => {
  test("are journaled in order under its own id, whatever their source says, and are answered one by one", async () => {
    const { status, json } = await send([
      cleanup("a1", 1),
      cloudEvent("a2", "DISK_CLEANUP_TRIGGERED", { node_id: node.nodeId, bytes_freed: "much" }),
      { no: "event" },
      cleanup("a3", 3),
    ]);
    expect(status).toBe(200);
    expect(json.answers).toMatchObject([
      { ok: true, value: { event_id: "a1", suppressed: null } },
      { ok: false, error: { code: "INVALID_PAYLOAD", retryable: false } },
      { ok: false, error: { code: "INVALID_EVENT", retryable: false } },
      { ok: true, value: { event_id: "a3", suppressed: null } },
    ]);
    expect(journal("a").map(({ eventId, nodeId, source }) => [eventId, nodeId, source])).toEqual([
      ["a1", node.nodeId, "monitor"],
      ["a3", node.nodeId, "monitor"],
    ]);
  });

  test("count once, however often they are sent", async () => {
    const events = [cleanup("b1", 1), cleanup("b2", 2)];
    await send(events);
    const again = await send([...events, cleanup("b3", 3)]);
    const suppressed = (again.json.answers as { value: { suppressed: unknown } }[]).map(
      ({ value }) => value.suppressed,
    );
    expect(suppressed).toEqual(["event_id", "event_id", null]);
    expect(journal("b").map(({ eventId }) => eventId)).toEqual(["b1", "b2", "b3"]);
  });

  test("are its own alone: neither as another node nor about one", async () => {
    expect((await send([cleanup("c1", 1)], surface.coordination.router.nodeId)).json).toMatchObject({
      status: 403,
      code: "NOT_YOUR_NODE",
    });
    const about = await send([cleanup("c2", 2, surface.coordination.router.nodeId), cleanup("c3", 3, "n-unknown")]);
    expect(about.json.answers).toMatchObject([
      { ok: false, error: { code: "NOT_YOUR_NODE" } },
      { ok: false, error: { code: "NOT_YOUR_NODE" } },
    ]);
    const direct = await node.send("POST", "/v1/events", cleanup("c4", 4, "n-unknown"));
    expect(direct.json).toMatchObject({ status: 403, code: "NOT_YOUR_NODE" });
    expect(journal("c")).toEqual([]);
  });

  test("published without an outbox are under its id as well", async () => {
    expect((await node.send("POST", "/v1/events", cleanup("d1", 1))).status).toBe(200);
    expect(journal("d")).toMatchObject([{ eventId: "d1", nodeId: node.nodeId }]);
  });
});

describe("what only the coordinator says of itself", () => {
  test.each(["/v1/events", "/v1/nodes/events"])("is refused from a node at %s, also under its own id", async (path) => {
    const own = heartbeat("e1", node.nodeId);
    const { json } = await node.send(
      "POST",
      path,
      path === "/v1/events" ? own : { node_id: node.nodeId, events: [own] },
    );
    expect(JSON.stringify(json)).toContain("NOT_YOURS_TO_SAY");
  });

  test("is refused from the token of a worker, for our node and for any other", async () => {
    for (const node_id of [surface.coordination.router.nodeId, "n-unknown"]) {
      const answer = await surface.ask("port", "/v1/events", { method: "POST", token, body: heartbeat("e2", node_id) });
      expect(answer.json).toMatchObject({ status: 403, code: "NOT_YOURS_TO_SAY" });
    }
    const heard = surface.coordination.router.history({ eventType: "COORDINATOR_HEARTBEAT" });
    expect(heard.map(({ eventId }) => eventId)).not.toContain("e2");
  });

  test("cannot be said as an emission with an ack either", async () => {
    const ask = (path: string, body: unknown) => surface.ask("port", path, { method: "POST", token, body });
    const opened = await ask("/v1/consumers/outside/sessions", { event_types: ["DISK_CLEANUP_TRIGGERED"] });
    const emit = [heartbeat("e3", surface.coordination.router.nodeId)];
    const acked = await ask(`/v1/consumers/outside/sessions/${opened.json.session_id}/ack`, { seqs: [1], emit });
    expect(acked.json).toMatchObject({ status: 403, code: "NOT_YOURS_TO_SAY" });
  });

  test("a worker does not speak for a node that is known, nor under the name of a unit", async () => {
    const say = (body: unknown) => surface.ask("port", "/v1/events", { method: "POST", token, body });
    expect((await say(cleanup("f1", 1, surface.coordination.router.nodeId))).json).toMatchObject({
      code: "NOT_YOUR_NODE",
    });
    expect((await say(cleanup("f2", 2, node.nodeId))).json).toMatchObject({ code: "NOT_YOUR_NODE" });
    for (const source of ["health_manager", `resource_monitor@${surface.coordination.router.nodeId}`]) {
      const named = { ...cleanup("f3", 3, "n-unknown"), source: `/ringrift/local/${encodeURIComponent(source)}` };
      expect((await say(named)).json, source).toMatchObject({ status: 403, code: "NOT_YOURS_TO_SAY" });
    }
    expect((await say(cleanup("f4", 4, "n-unknown"))).status).toBe(200);
  });

  test("is free to who runs the cluster", async () => {
    const body = heartbeat("e4", surface.coordination.router.nodeId);
    expect((await surface.ask("socket", "/v1/events", { method: "POST", body })).status).toBe(200);
  });
});

test("a beat tells what waits in the outbox of a node, and one of an older version says nothing of it", async () => {
  const body = {
    node_id: node.nodeId,
    incarnation: 1,
    version: "0.1.0",
    load: { running: 0, free: { cpu: 1, gpu: 0, memory_gb: 1, gpu_memory_gb: 0, tags: [] } },
    spool: { waiting: 0 },
  };
  await node.send("POST", "/v1/nodes/beat", { ...body, outbox: { waiting: 3, refused: 1 } });
  expect((await surface.ask("socket", "/v1/nodes/box")).json.outbox).toEqual({ waiting: 3, refused: 1 });
  await node.send("POST", "/v1/nodes/beat", body);
  expect((await surface.ask("socket", "/v1/nodes/box")).json.outbox).toBeNull();
});
