import { createHash } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { type Clock, silentLog, systemClock } from "../../src/kernel/index.ts";
import type { Operation, Store } from "../../src/router/index.ts";
import { createArtifactCatalog } from "../../src/sync/index.ts";
import { type Family, readExposition } from "../support/exposition.ts";
import { PATIENT } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { mountedRoutes, pathOf } from "../support/routes.ts";
import { ask, connectionsOf, type RunningSurface, runSurface } from "../support/surface.ts";
import { entryOf } from "../unit/sync/sync-world.ts";

const mounted = await mountedRoutes();
let surface: RunningSurface;
beforeAll(async () => {
  surface = await runSurface({ RINGRIFT_RATE_FACTOR: "1000" });
});
afterAll(() => surface.end());

/** Where an answer has a number that is an instant in milliseconds: on the wire instants are seconds. */
const millisecondsIn = (value: unknown, at = ""): string[] => {
  if (typeof value === "number") return value > 1e11 && Math.abs(value - Date.now()) < 1e11 ? [`${at} ${value}`] : [];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, each]) => millisecondsIn(each, `${at}.${name}`));
};

describe("every answer", () => {
  test("is what the table says that it is", async () => {
    const { eventId } = await surface.coordination.router.publish("HOST_OFFLINE", { node_id: "n1", reason: "silent" });
    const values = { name: "event_router", id: eventId, subject: "event_router" };
    const { router } = surface.coordination;
    const added = await surface.ask("socket", "/v1/work/jobs", {
      method: "POST",
      body: { jobs: [{ work_type: "selfplay" }] },
    });
    const [{ work_id }] = added.json.added as [{ work_id: string }];
    const sha256 = createHash("sha256").update("bytes").digest("hex");
    await surface.ask("socket", `/v1/artifacts/${sha256}`, { method: "PUT", raw: "bytes" });
    const recorded: Operation[] = [];
    createArtifactCatalog({ store: router.store, clock: systemClock() })
      .join({ rows: { apply: (operation) => void recorded.push(operation) } })
      .record([entryOf("bytes")]);
    await router.store.commit(recorded);
    const sync = await surface.ask("socket", "/v1/sync", { method: "POST", body: { data_type: "games" } });
    await router.publish("ERROR", { component: "walker", error: "walking", severity: "warning" });
    await expect.poll(async () => (await surface.ask("socket", "/v1/alerts")).json.alerts).not.toEqual([]);
    const [alert] = (await surface.ask("socket", "/v1/alerts")).json.alerts as [{ id: string }];
    const ids: Readonly<Record<string, object>> = {
      getWork: { id: work_id },
      getCurve: { id: work_id },
      getNode: { id: router.nodeId },
      getNodeHealth: { id: router.nodeId },
      getArtifact: { sha256 },
      showArtifact: { id: sha256 },
      showSync: { id: sync.json.sync_id },
      getAlert: { id: alert.id },
      getEventUse: { name: "HOST_OFFLINE" },
    };
    const queries: Readonly<Record<string, string>> = {
      listCopies: `?node_id=${router.nodeId}`,
      findAnything: "?text=event_router",
    };
    // Held to the table elsewhere, where there is one to ask: answers of the loop beside its routes, a backup's by its commands, a
    // snapshot's by whoever joins.
    const elsewhere = ["showBackupTask", "getClusterSnapshot"];
    const readable = mounted.filter(
      ({ method, endless, tag, id }) => method === "GET" && !endless && tag !== "loop" && !elsewhere.includes(id),
    );
    expect(readable.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(ids)));
    for (const route of readable) {
      const query = queries[route.id] ?? "";
      const { status, json, text, type } = await surface.ask(
        "socket",
        `${pathOf(route, { ...values, ...ids[route.id] })}${query}`,
      );
      const answer = route.answers[status];
      expect(answer, `${route.id} ${status} ${text.slice(0, 200)}`).toBeDefined();
      expect(type).toContain(answer!.type);
      const read = answer!.schema.safeParse(answer!.type === "application/json" ? json : text);
      expect(read.error?.issues, route.id).toBeUndefined();
      expect(millisecondsIn(json, route.id)).toEqual([]);
    }
  });

  test("has the caller's id of the request, or one of ours, and is kept by no cache", async () => {
    const given = await surface.ask("port", "/livez", { headers: { "x-request-id": "my-id.1" } });
    expect(given.headers["x-request-id"]).toBe("my-id.1");
    expect(given.headers["cache-control"]).toBe("no-store");
    for (const bad of ["a b", "x".repeat(200), "<script>"]) {
      const { headers } = await surface.ask("port", "/livez", { headers: { "x-request-id": bad } });
      expect(headers["x-request-id"]).toMatch(/^[\da-f-]{36}$/);
    }
  });

  test("to HEAD is the head of a GET, to OPTIONS the methods, to another method 405", async () => {
    for (const route of mounted.filter(({ method }) => method === "GET")) {
      const path = pathOf(route);
      const head = await surface.ask("socket", path, { method: "HEAD" });
      expect([route.id, head.text]).toEqual([route.id, ""]);
      if (route.answers[head.status] === undefined) expect(head.status).toBeLessThan(500);
      const options = await surface.ask("port", path, { method: "OPTIONS" });
      expect([options.status, options.text]).toEqual([204, ""]);
      expect(options.headers.allow).toContain("GET, HEAD");
      expect(options.headers["access-control-allow-origin"]).toBeUndefined();
      const patch = await surface.ask("port", path, { method: "PATCH" });
      expect([patch.status, patch.json.code, patch.type]).toEqual([
        405,
        "METHOD_NOT_ALLOWED",
        expect.stringContaining("application/problem+json"),
      ]);
      expect(patch.headers.allow).toBe(options.headers.allow);
    }
    expect(await surface.ask("port", "/nowhere")).toMatchObject({ status: 404, json: { code: "ROUTE_NOT_FOUND" } });
  });

  test("to a caller that asks too often is 429, with when to come back", async () => {
    const strict = await runSurface({ RINGRIFT_RATE_FACTOR: "0.05" });
    const bunch = () => Promise.all(Array.from({ length: 10 }, () => strict.ask("port", "/v1/daemons")));
    expect((await bunch()).map(({ status }) => status)).toEqual(Array(10).fill(200));
    // What was spent comes back with time: on a slow machine one bunch may not be too many.
    const refused = await vi.waitFor(async () => {
      const found = (await bunch()).find(({ status }) => status === 429);
      expect(found).toBeDefined();
      return found!;
    }, PATIENT);
    expect(refused.json).toMatchObject({ code: "TOO_MANY_REQUESTS", retryable: true, status: 429 });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await strict.ask("socket", "/v1/daemons")).status).toBe(200);
    await strict.end();
  });

  test("never comes for a request that comes by drops: its connection is cut", async () => {
    const { port } = surface.coordination.api;
    const socket = connect(port, "127.0.0.1", () => void socket.write("GET /livez HTTP/1.1\r\nhost: local"));
    const heard = await new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (part) => {
        text += part.toString();
      });
      socket.once("close", () => resolve(text));
    });
    expect(heard).toMatch(/^HTTP\/1.1 408 /);
    // One that came to a loop without a turn looks the same: it may be sent again.
    expect(JSON.parse(heard.split("\r\n\r\n")[1]!)).toMatchObject({ code: "REQUEST_TIMEOUT", retryable: true });
  });
});

describe("an answer that nobody takes", () => {
  test("is given up, and its connection with it", async () => {
    const system = systemClock();
    // Two minutes are half a second here.
    const clock: Clock = {
      ...system,
      after: (ms, run, hold) => system.after(ms === 120_000 ? 500 : ms, run, hold),
    };
    const patient = await runSurface({ RINGRIFT_RATE_FACTOR: "1000" }, { clock });
    const { router, api } = patient.coordination;
    const games = { config_key: "hex8_2p", node_id: "n1", new_games: 1, total_games: 1, notes: "x".repeat(100_000) };
    for (let i = 0; i < 80; i += 1) await router.publish("NEW_GAMES_AVAILABLE", games as never, { source: "test" });
    const theirs = connectionsOf(api.port, onTestFinished);
    const reader = connect(api.port, "127.0.0.1");
    await once(reader, "connect");
    reader.pause();
    reader.write("GET /v1/events?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    // Our own end of it stays, since it does not look.
    await expect.poll(() => theirs.find(({ from }) => from === reader.localPort)?.socket.destroyed).toBe(true);
    reader.destroy();
    await patient.end();
  });
});

describe("the record of writes", () => {
  test("has a row for each write, with who made it, whatever became of it", async () => {
    const token = surface.token;
    const post = (path: string, body: unknown, id: string, asToken: string | undefined = token) =>
      surface.ask("port", path, { method: "POST", body, token: asToken, headers: { "x-request-id": id } });
    const made = await post("/v1/tokens", { label: "robot", scope: "operator" }, "w1");
    await post("/v1/daemons/dlq_retry/pause", { reason: "a test" }, "w2", String(made.json.token));
    await post("/v1/daemons/no_such/start", {}, "w3", String(made.json.token));
    await surface.ask("socket", "/v1/daemons/dlq_retry/resume", {
      method: "POST",
      body: {},
      headers: { "x-request-id": "w4" },
    });
    await post("/v1/daemons/dlq_retry/pause", { reason: "refused" }, "w5", "wrong");
    const { writes } = (await surface.ask("socket", "/v1/writes?limit=100")).json as {
      writes: Record<string, unknown>[];
    };
    const rowOf = (id: string) => writes.find(({ request_id }) => request_id === id);
    const owner = `local:${process.getuid?.()}`;
    expect(rowOf("w1")).toMatchObject({
      actor: owner,
      status: 201,
      method: "POST",
      path: "/v1/tokens",
      from: "127.0.0.1",
    });
    expect(rowOf("w2")).toMatchObject({ actor: "robot", status: 200, scope: "operator" });
    expect(rowOf("w3")).toMatchObject({ actor: "robot", status: 404, path: "/v1/daemons/no_such/start" });
    expect(rowOf("w4")).toMatchObject({ actor: "local:socket", from: "socket", status: 200 });
    expect(rowOf("w5")).toBeUndefined();
    const actions = (await surface.ask("socket", "/v1/daemon-actions")).json.actions as Record<string, unknown>[];
    expect(actions).toContainEqual(expect.objectContaining({ daemon: "dlq_retry", action: "held", actor: "robot" }));
  });

  test("is on disk when the answer comes, and outlives a restart", async () => {
    const first = await runSurface();
    await first.ask("socket", "/v1/dead-letters/cleanup", {
      method: "POST",
      body: { older_than_hours: 1 },
      headers: { "x-request-id": "kept" },
    });
    await first.coordination.shutdown();
    const settings = readSettings({}, first.dataDir, { dataDir: first.dataDir, port: 0 });
    const second = await bootstrapCoordination({ settings, log: silentLog() });
    const { json } = await ask({ socketPath: second.api.socketPath }, "/v1/writes");
    expect(json.writes).toContainEqual(expect.objectContaining({ request_id: "kept", status: 200 }));
    await second.shutdown();
    await first.own.end();
  });
});

describe("from the first moment to the last", () => {
  test("probes answer while it starts and while it stops, and the rest is told to come back", async () => {
    await using own = owned();
    const dataDir = own.folder();
    const port = await freePort();
    const where = { host: "127.0.0.1", port };
    const gates = { start: Promise.withResolvers<void>(), stop: Promise.withResolvers<void>() };
    let stopping = false;
    // Units subscribe with a commit: a store that waits holds up the start, and the end.
    const wrapStore = (store: Store): Store => ({
      commit: async (operations) => {
        await (stopping ? gates.stop : gates.start).promise;
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
    const settings = readSettings({}, dataDir, { dataDir, port });
    const starting = bootstrapCoordination({ settings, log: silentLog(), wrapStore });
    await expect
      .poll(() =>
        ask(where, "/livez").then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    expect(await ask(where, "/startupz")).toMatchObject({ status: 503, json: { status: "failing" } });
    expect((await ask(where, "/readyz")).status).toBe(503);
    const early = await ask(where, "/status");
    expect(early).toMatchObject({ status: 503, json: { code: "STARTING", retryable: true } });
    expect(early.headers["retry-after"]).toBe("1");
    gates.start.resolve();
    const coordination = await starting;
    for (const path of ["/livez", "/readyz", "/startupz", "/status"]) expect((await ask(where, path)).status).toBe(200);

    const stream = ask(where, "/events");
    await expect.poll(() => coordination.router.listSubscribers()["*"] ?? []).toContain("stream");
    stopping = true;
    const ended = coordination.shutdown();
    expect((await stream).text).toContain("retry:");
    expect((await ask(where, "/livez")).status).toBe(200);
    expect(await ask(where, "/readyz")).toMatchObject({ status: 503 });
    expect(await ask(where, "/status")).toMatchObject({ status: 503, json: { code: "STOPPING", retryable: true } });
    gates.stop.resolve();
    await ended;
    await expect(ask(where, "/livez")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("a store that refuses makes it unready, not dead", async () => {
    let fault: Store["fault"] = null;
    const wrapStore = (store: Store): Store => ({
      commit: (operations) => store.commit(operations),
      read: (sql, ...params) => store.read(sql, ...params),
      scan: store.scan,
      get fault() {
        return fault;
      },
      onFault: (listen) => store.onFault(listen),
      close: () => store.close(),
    });
    const faulty = await runSurface({}, { wrapStore });
    expect((await faulty.ask("port", "/readyz")).status).toBe(200);
    fault = { code: "STORE_FULL", message: "the disk is full", since: Date.now() };
    expect(await faulty.ask("port", "/readyz")).toMatchObject({
      status: 503,
      json: { checks: expect.arrayContaining([{ name: "store", ok: false, message: "STORE_FULL: the disk is full" }]) },
    });
    expect((await faulty.ask("port", "/livez")).status).toBe(200);
    expect(millisecondsIn((await faulty.ask("socket", "/status")).json)).toEqual([]);
    fault = null;
    await faulty.end();
  });

  test("POST /v1/shutdown ends the process in good order and says who asked", async () => {
    await using own = owned();
    const dataDir = own.folder();
    const up = own.startCli(["up", "--port", "0"], { env: { RINGRIFT_DATA_DIR: dataDir } });
    const [, path] = (await up.waitForLine(/ready .* socket (\S+)/)).match;
    const answer = await ask({ socketPath: path! }, "/v1/shutdown", { method: "POST", body: { reason: "upgrade" } });
    expect([answer.status, answer.json]).toEqual([202, { status: "stopping" }]);
    expect(await up.exited).toEqual({ code: 0, signal: null });
    expect(up.stderr()).toContain('"reason":"upgrade"');
    expect(up.stdout()).toContain("stopped");
  });
});

describe("GET /metrics", () => {
  const collect = async (): Promise<Map<string, Family>> => {
    const { text, type } = await surface.ask("port", "/metrics");
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    return new Map(readExposition(text).map((family) => [family.name, family]));
  };

  test("keeps the rules of the format and the customs of its names", async () => {
    const families = await collect();
    expect([...families.keys()]).toContain("ringrift_events_published_total");
    for (const { name, type, help, samples } of families.values()) {
      expect(name).toMatch(/^ringrift_[a-z][a-z0-9_]*$/);
      expect(help).toMatch(/^\S.*\.$/);
      expect(name.endsWith("_total"), name).toBe(type === "counter");
      // Base units only, and the unit last.
      expect(name).not.toMatch(/_(ms|milliseconds|us|minutes|hours|kb|mb|percent)(_|$)/);
      if (/second|byte/.test(name)) expect(name).toMatch(/_(seconds|bytes)(_total)?$/);
      for (const { labels } of samples)
        for (const label of Object.keys(labels)) expect(label).toMatch(/^(le|[a-z][a-z_]*)$/);
      if (type !== "histogram") continue;
      const groups = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
      for (const [, series] of groups) {
        const buckets = series.filter((sample) => sample.name.endsWith("_bucket")).map(({ value }) => value);
        expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
        expect(series.find((sample) => sample.labels.le === "+Inf")!.value).toBe(
          series.find((sample) => sample.name.endsWith("_count"))!.value,
        );
      }
    }
  });

  test("counts what happens: events, requests by route, commits, samples of nodes", async () => {
    const value = (families: Map<string, Family>, family: string, labels: Record<string, string>, name = family) =>
      families
        .get(family)!
        .samples.find(
          (sample) => sample.name === name && Object.entries(labels).every(([key, is]) => sample.labels[key] === is),
        )?.value ?? 0;
    const before = await collect();
    for (let i = 0; i < 3; i += 1)
      await surface.coordination.router.publish("HOST_OFFLINE", { node_id: `m${i}`, reason: "silent" });
    await surface.coordination.router.publish("METRICS_UPDATED", { node_id: "n7", metrics: { gpu_load: 0.75 } });
    await surface.ask("port", "/v1/daemons/event_router");
    await expect
      .poll(async () => value(await collect(), "ringrift_node_sample", { node_id: "n7", name: "gpu_load" }))
      .toBe(0.75);
    const now = await collect();
    const grown = (family: string, labels: Record<string, string>, name = family) =>
      value(now, family, labels, name) - value(before, family, labels, name);
    expect(grown("ringrift_events_published_total", { event_type: "HOST_OFFLINE" })).toBe(3);
    const duration = "ringrift_http_request_duration_seconds";
    const route = { method: "GET", route: "/v1/daemons/{name}", status: "200" };
    expect(grown(duration, route, `${duration}_count`)).toBe(1);
    const commits = "ringrift_store_commit_duration_seconds";
    expect(grown(commits, { outcome: "done" }, `${commits}_count`)).toBeGreaterThanOrEqual(3);
    expect(value(now, "ringrift_journal_head", {})).toBe(surface.coordination.router.getStats().journal_head);
  });

  test("two coordinations in one process count apart", async () => {
    const other = await runSurface();
    await other.coordination.router.publish("HOST_OFFLINE", { node_id: "alone", reason: "silent" });
    const families = readExposition((await other.ask("port", "/metrics")).text);
    const counted = families.find(({ name }) => name === "ringrift_events_published_total")!.samples;
    expect(counted.find(({ labels }) => labels.event_type === "HOST_OFFLINE")!.value).toBe(1);
    await other.end();
  });
});

describe("http_server keeps the doors open", () => {
  const statusOfUnit = async (of: RunningSurface, via: "socket" | "port") => {
    const { units } = (await of.ask(via, "/v1/units")).json as { units: { name: string }[] };
    return units.find(({ name }) => name === "http_server")!;
  };

  test("a socket file that somebody removes is there again", async () => {
    const kept = await runSurface();
    rmSync(kept.coordination.api.socketPath);
    await expect(kept.ask("socket", "/livez")).rejects.toMatchObject({ code: "ENOENT" });
    await expect
      .poll(
        () =>
          kept.ask("socket", "/livez").then(
            ({ status }) => status,
            () => 0,
          ),
        { interval: 500 },
      )
      .toBe(200);
    expect((await kept.ask("port", "/livez")).status).toBe(200);
    await kept.end();
  });

  test("a socket that another program took over is taken back", async () => {
    const kept = await runSurface();
    const { socketPath } = kept.coordination.api;
    rmSync(socketPath);
    const thief = createServer((_, answer) => void answer.end("mine now"));
    await new Promise<void>((resolve) => thief.listen(socketPath, resolve));
    expect((await kept.ask("socket", "/livez")).text).toBe("mine now");
    await expect.poll(async () => (await kept.ask("socket", "/livez")).json.status, { interval: 500 }).toBe("ok");
    expect(await statusOfUnit(kept, "port")).toMatchObject({ status: "running", details: { reopened: 1 } });
    thief.closeAllConnections();
    await new Promise((resolve) => thief.close(resolve));
    await kept.end();
  });
});
