import { readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { owned } from "../support/process.ts";

const own = owned();
const dataDir = own.folder();
let coordination: Awaited<ReturnType<typeof bootstrapCoordination>>;
let token = "";

beforeAll(async () => {
  coordination = await bootstrapCoordination({
    settings: readSettings({}, dataDir, { dataDir, port: 0 }),
    log: silentLog(),
  });
  token = readFileSync(join(dataDir, "token"), "utf8").trim();
});
afterAll(async () => {
  await coordination.shutdown();
  await own.end();
});

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: { code?: string; detail?: string } & Record<string, unknown>;
}

const send = (
  via: "socket" | "port",
  method: string,
  path: string,
  options: { body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const where =
      via === "socket"
        ? { socketPath: coordination.api.socketPath }
        : { host: "127.0.0.1", port: coordination.api.port };
    const outgoing = request({ ...where, method, path, headers: options.headers ?? {}, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.on("end", () => {
        const type = String(answer.headers["content-type"] ?? "");
        resolve({ status: answer.statusCode ?? 0, type, body: type.includes("json") ? JSON.parse(text) : { text } });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(options.body);
  });

const event = (data: unknown = { config_key: "hex8_2p", node_id: "n1", new_games: 1, total_games: 1 }) => ({
  specversion: "1.0",
  id: crypto.randomUUID(),
  type: "NEW_GAMES_AVAILABLE",
  source: "/ringrift/local/test",
  data,
});

describe("who may write", () => {
  test("the socket, which only its owner can open", async () => {
    expect(statSync(coordination.api.socketPath).mode & 0o777).toBe(0o600);
    const answer = await send("socket", "POST", "/v1/events", { body: JSON.stringify(event()) });
    expect(answer.status).toBe(200);
  });

  test("the port with the token, and not without it or with a wrong one", async () => {
    expect(statSync(join(dataDir, "token")).mode & 0o777).toBe(0o600);
    const body = JSON.stringify(event());
    const heard = () => coordination.router.history({ eventType: "NEW_GAMES_AVAILABLE" }).length;
    const before = heard();
    for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${token}` }] as Record<
      string,
      string
    >[]) {
      const refused = await send("port", "POST", "/v1/events", { body, headers });
      expect([refused.status, refused.body.code]).toEqual([401, "UNAUTHORIZED"]);
    }
    expect(heard()).toBe(before);
    const answer = await send("port", "POST", "/v1/events", {
      body,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
    expect(answer.status).toBe(200);
  });

  test("nobody under a foreign Host or Origin, token or not", async () => {
    const auth = { authorization: `Bearer ${token}` };
    for (const headers of [{ host: "evil.example" }, { origin: "https://evil.example" }, { origin: "null" }]) {
      const refused = await send("port", "GET", "/status", {
        headers: { ...auth, ...headers } as Record<string, string>,
      });
      expect([refused.status, refused.body.code]).toEqual([403, "FORBIDDEN"]);
    }
  });
});

describe("bad requests", () => {
  test.each([
    ["POST", "/v1/events", "{", 422, "INVALID_REQUEST"],
    ["POST", "/v1/events", "[]", 422, "INVALID_EVENT"],
    ["POST", "/v1/events", '{"specversion":"0.3"}', 422, "INVALID_EVENT"],
    ["POST", "/v1/events", JSON.stringify(event({ config_key: 7 })), 422, "INVALID_PAYLOAD"],
    ["POST", "/v1/events", JSON.stringify(Array.from({ length: 1_001 }, () => event())), 422, "INVALID_EVENT"],
    ["POST", "/v1/consumers/a%20b/sessions", "{}", 422, "INVALID_CONSUMER"],
    ["POST", "/v1/consumers/x/sessions", '{"start":"yesterday"}', 422, "INVALID_REQUEST"],
    ["POST", "/v1/consumers/x/sessions/none/poll", "{}", 404, "SESSION_NOT_FOUND"],
    ["GET", "/v1/events/none", undefined, 404, "EVENT_NOT_FOUND"],
    ["GET", "/v1/events?limit=-1", undefined, 422, "INVALID_REQUEST"],
    ["GET", "/nowhere", undefined, 404, "ROUTE_NOT_FOUND"],
    ["POST", "/v1/dead-letters/retry", '{"max_events":0}', 422, "INVALID_REQUEST"],
  ])("%s %s %j is answered with a problem document", async (method, path, body, status, code) => {
    const answer = await send("socket", method, path, body === undefined ? {} : { body });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.type).toContain("application/problem+json");
  });

  test("a body over the limit is refused", async () => {
    const answer = await send("socket", "POST", "/v1/events", { body: "x".repeat(17 * 1024 * 1024) }).catch(
      (e: Error) => e,
    );
    if (!(answer instanceof Error)) expect(answer.body.code).toBe("PAYLOAD_TOO_LARGE");
    expect((await send("socket", "GET", "/livez")).status).toBe(200);
  });

  test("whatever is sent, the answer is typed and the server lives", async () => {
    const path = fc.oneof(
      fc.constantFrom("/v1/events", "/v1/dead-letters/retry", "/v1/consumers/x/sessions", "/v1/stream/x", "/status"),
      fc.webPath().map((p) => `/v1${p}`),
    );
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.jsonValue().map((data) => JSON.stringify({ ...event(), data })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("GET", "POST", "DELETE", "PUT", "PATCH"),
        path,
        body,
        async (method, where, text) => {
          const answer = await send("socket", method, where, method === "GET" ? {} : { body: text });
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: 300, seed: 5 },
    );
    expect((await send("socket", "GET", "/livez")).status).toBe(200);
  });
});
