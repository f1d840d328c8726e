import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/router/index.ts";
import { type RunningSurface, runSurface } from "../support/surface.ts";

let surface: RunningSurface;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_RATE_FACTOR: "1000" });
});
afterAll(() => surface.end());

const post = (path: string, body: unknown = {}) => surface.ask("socket", path, { method: "POST", body });
const daemons = () => surface.coordination.daemons;
const stateOf = (name: string) => daemons().getStatus()[name]!.state;

describe("what one asks of a daemon is answered with what came of it", () => {
  test("a resume that leaves other holds says so, and says which", async () => {
    await post("/v1/daemons/dlq_retry/pause", { reason: "looking into it" });
    daemons().pause("dlq_retry", "the queue is full", { hold: "backpressure:queue", actor: "daemon_control" });
    await expect.poll(() => stateOf("dlq_retry")).toBe("stopped");
    const { json } = await post("/v1/daemons/dlq_retry/resume");
    expect(json).toMatchObject({ state: "stopped", ok: false, message: "the queue is full" });
    daemons().resume("dlq_retry", { all: true });
    await expect.poll(() => stateOf("dlq_retry")).toBe("running");
    expect((await post("/v1/daemons/dlq_retry/resume")).json).toMatchObject({ ok: true });
  });

  test("a pause of an operator is one that an operator lifts, whoever that was", async () => {
    await post("/v1/daemons/dlq_retry/pause", { reason: "looking into it" });
    const { json } = await surface.ask("socket", "/v1/why/dlq_retry");
    const gates = json.gates as { gate: string; hint: string | null }[];
    expect(gates.find(({ gate }) => gate === "held_by:operator")?.hint).toBe(
      "Resume it: POST /v1/daemons/dlq_retry/resume.",
    );
    await post("/v1/daemons/dlq_retry/resume");
    await expect.poll(() => stateOf("dlq_retry")).toBe("running");
  });

  test("a start for which a dependency is missing names it", async () => {
    await post("/v1/daemons/dlq_retry/stop");
    await post("/v1/daemons/event_router/pause", { reason: "moving" });
    await expect.poll(() => stateOf("event_router")).toBe("stopped");
    const { json } = await post("/v1/daemons/dlq_retry/start");
    expect(json).toMatchObject({ ok: false, message: "it depends on event_router, which does not run" });
    await post("/v1/daemons/event_router/resume");
    await expect.poll(() => stateOf("event_router")).toBe("running");
    expect((await post("/v1/daemons/dlq_retry/start")).json).toMatchObject({ ok: true });
  });

  test("one that was given up is not restarted, and starts when it is reset", async () => {
    let broken = true;
    daemons().registerFactory({
      daemonType: "fragile",
      async factory({ ready, signal }) {
        if (broken) throw new Error("no such table");
        ready();
        await new Promise<void>((ended) => signal.addEventListener("abort", () => ended()));
      },
      maxRestarts: 0,
    });
    await daemons().start("fragile");
    await expect.poll(() => daemons().isPermanentlyFailed("fragile")).toBe(true);
    const restarted = await post("/v1/daemons/fragile/restart");
    expect([restarted.status, restarted.json.code]).toEqual([409, "DAEMON_GIVEN_UP"]);
    broken = false;
    expect((await post("/v1/daemons/fragile/reset")).json).toMatchObject({ ok: true });
    await expect.poll(() => stateOf("fragile")).toBe("running");
  });
});

test("what was asked of a daemon is on disk when the answer comes", async () => {
  let slow = false;
  const wrapStore = (store: Store): Store => ({
    async commit(operations) {
      // The supervisor's books take a detour; all else passes them by.
      if (slow && JSON.stringify(operations).includes("daemon_books"))
        await new Promise((resolve) => setTimeout(resolve, 300));
      return store.commit(operations);
    },
    read: (sql, ...params) => store.read(sql, ...params),
    scan: store.scan,
    get fault() {
      return store.fault;
    },
    onFault: (listen) => store.onFault(listen),
    close: () => store.close(),
  });
  const other = await runSurface({}, { wrapStore });
  slow = true;
  const asking = { method: "POST", body: { reason: "the disk is moved" } };
  const { json } = await other.ask("socket", "/v1/daemons/dlq_retry/pause", asking);
  expect(json).toMatchObject({ ok: true, message: "paused" });
  const [book] = other.coordination.router.store.read<{ value: string }>(
    "SELECT value FROM state_rows WHERE table_name = 'daemon_books' AND key = 'dlq_retry'",
  );
  expect(JSON.parse(book!.value).holds).toMatchObject([{ reason: "the disk is moved" }]);
  await other.end();
});

test("what a unit is owed is read and given up by nobody else, also while it is held", async () => {
  const own = ["dlq_retry", `daemon_control@${surface.coordination.settings.nodeId}`];
  daemons().pause("dlq_retry", "held");
  await expect.poll(() => stateOf("dlq_retry")).toBe("stopped");
  for (const consumer of own.map(encodeURIComponent)) {
    const opened = await post(`/v1/consumers/${consumer}/sessions`);
    expect([opened.status, opened.json.code]).toEqual([422, "INVALID_CONSUMER"]);
    const forgotten = await surface.ask("socket", `/v1/consumers/${consumer}`, { method: "DELETE" });
    expect([forgotten.status, forgotten.json.code]).toEqual([422, "INVALID_CONSUMER"]);
  }
  daemons().resume("dlq_retry");
  await expect.poll(() => stateOf("dlq_retry")).toBe("running");
  // The same unit of another node, and a name that only begins like one, are others.
  for (const consumer of ["daemon_control%40elsewhere", "dlq_retry.mine"]) {
    expect((await post(`/v1/consumers/${consumer}/sessions`)).status).toBe(200);
    expect((await surface.ask("socket", `/v1/consumers/${consumer}`, { method: "DELETE" })).status).toBe(200);
  }
});

test("a subject that nobody knows is not found; an alert that is closed cannot be acknowledged", async () => {
  const unknown = await surface.ask("socket", "/v1/why/evnt_router");
  expect([unknown.status, unknown.json.code]).toEqual([404, "UNKNOWN_UNIT"]);
  const about = { component: "c", error: "e", error_code: "E", severity: "error", node_id: "n1" } as const;
  const { eventId } = await surface.coordination.router.publish("ERROR", about);
  await expect.poll(async () => (await surface.ask("socket", `/v1/alerts/al_${eventId}`)).status).toBe(200);
  expect((await post(`/v1/alerts/al_${eventId}/close`)).status).toBe(200);
  const late = await post(`/v1/alerts/al_${eventId}/acknowledge`);
  expect([late.status, late.json.code]).toEqual([409, "ALERT_CLOSED"]);
});

test("no token bears a name under which the record knows those who need none", async () => {
  for (const label of ["local:socket", "Local:1000"]) {
    const { status, json } = await post("/v1/tokens", { label, scope: "operator" });
    expect([status, json.code]).toEqual([422, "INVALID_REQUEST"]);
  }
});

test("where nobody is meant to judge the health of the system, none is told", async () => {
  const node = await runSurface({ RINGRIFT_PROFILE: "training_node" });
  const { status, json } = await node.ask("socket", "/health");
  expect([status, json.code]).toEqual([404, "HEALTH_NOT_FOUND"]);
  expect((await node.ask("socket", "/readyz")).status).toBe(200);
  await node.ask("socket", "/v1/daemons/health_manager/start", { method: "POST", body: {} });
  await expect.poll(async () => (await node.ask("socket", "/health")).status).toBe(200);
  await node.end();
});
