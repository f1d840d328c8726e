import { chmodSync, copyFileSync, statSync } from "node:fs";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { defined, silentLog } from "../../src/kernel/index.ts";
import type { Route } from "../../src/surfaces/index.ts";
import { selfSigned } from "../support/certificate.ts";
import { owned } from "../support/process.ts";
import { bodyOf, mountedRoutes, pathOf } from "../support/routes.ts";
import { type Answer, type Asking, type RunningSurface, runSurface } from "../support/surface.ts";

const own = owned();
const identity = selfSigned(own.folder());
const tls: Record<string, string> =
  identity === undefined ? {} : { RINGRIFT_TLS_CERT_FILE: identity.cert, RINGRIFT_TLS_KEY_FILE: identity.key };
afterAll(() => own.end());

const mounted = await mountedRoutes();

describe.skipIf(identity === undefined)("beyond loopback", () => {
  let surface: RunningSurface;
  let now = 0;
  const tokens = new Map<string, string>();
  const bad: [name: string, token: string | undefined][] = [];
  const shares: { readonly id: string; readonly path: string; readonly url: string }[] = [];

  beforeAll(async () => {
    surface = await runSurface({ RINGRIFT_HOST: "0.0.0.0", RINGRIFT_RATE_FACTOR: "10000", ...tls });
    const issue = async (label: string, scope: string, more = {}): Promise<{ id: string; token: string }> => {
      const { status, json } = await surface.ask("socket", "/v1/tokens", {
        method: "POST",
        body: { label, scope, ...more },
      });
      expect(status).toBe(201);
      return json as { id: string; token: string };
    };
    for (const scope of ["read", "worker", "operator"]) tokens.set(scope, (await issue(scope, scope)).token);
    for (const path of ["/", "/models"]) {
      const { json } = await surface.ask("socket", "/v1/shares", { method: "POST", body: { path, label: path } });
      shares.push(json as { id: string; path: string; url: string });
    }
    const revoked = await issue("revoked", "operator");
    await surface.ask("socket", `/v1/tokens/${revoked.id}`, { method: "DELETE" });
    const expired = await issue("expired", "operator", { expires_in_seconds: 1 });
    now = Date.now();
    bad.push(
      ["no token", undefined],
      ["a wrong token", "x".repeat(43)],
      ["a token with another secret", `${tokens.get("operator")!.slice(0, -3)}abc`],
      ["a revoked token", revoked.token],
      ["an expired token", expired.token],
    );
  });
  afterAll(() => surface.end());

  /** Events in the journal, but for what the process says of itself and of those whom it turns away. */
  /** Events that nobody tells of its own accord: units look and speak while the routes are walked. */
  const told = (): unknown => {
    const units = JSON.stringify(surface.coordination.units.status().map(({ name }) => name));
    return surface.coordination.router.store.read(
      "SELECT count(*) AS n FROM events WHERE source NOT IN (SELECT value FROM json_each(?))",
      units,
    )[0]?.n;
  };

  const cookie = (token: string) => ({ cookie: `__Host-ringrift-${surface.coordination.api.port}=${token}` });
  const ourPage = () => ({ origin: `https://127.0.0.1:${surface.coordination.api.port}`, "x-ringrift-page": "1" });

  const call = (route: Route, asking: Asking): Promise<Answer> => {
    const body = bodyOf(route);
    return surface.ask("port", pathOf(route), {
      method: route.method,
      ...defined({ body }),
      ...(route.endless ? { cutAfterBytes: 1 } : {}),
      ...asking,
    });
  };

  /** Beginning and ending is nobody's harm; of models a share of them shows all. */
  const OF_A_SESSION = new Set(["beginSession", "endSession", "getSession"]);
  const IN_MODELS = new Set(["listModels", "getModel", "getLineage", "getArtifact"]);

  test("the walk below meets every kind of route", () => {
    for (const scope of ["probe", "read", "worker", "operator"])
      expect(mounted.some((route) => route.scope === scope)).toBe(true);
  });

  test.each(mounted.map((route) => ({ name: `${route.method} ${route.path}`, route })))(
    "$name is refused without a token that is good for it",
    async ({ route }) => {
      // The expired one was good for one second.
      await expect.poll(() => Date.now() - now > 1_100).toBe(true);
      const before = told();
      for (const [name, token] of bad) {
        const { status, json, type } = await call(route, { token });
        if (route.scope === "probe") expect(status, name).toBe(200);
        else {
          expect([status, json.code], name).toEqual([401, "UNAUTHORIZED"]);
          expect(type).toContain("application/problem+json");
        }
      }
      const held = { read: ["read"], worker: ["read", "worker"], operator: ["read", "worker", "operator"] };
      for (const [scope, token] of tokens) {
        const enough = route.scope === "probe" || held[scope as keyof typeof held].includes(route.scope);
        if (enough) continue;
        const { status, json } = await call(route, { token });
        expect([status, json.code], scope).toEqual([403, "SCOPE_TOO_SMALL"]);
        const byCookie = await call(route, { headers: { ...cookie(token), ...ourPage() } });
        expect([byCookie.status, byCookie.json.code], `${scope} as a cookie`).toEqual([403, "SCOPE_TOO_SMALL"]);
      }
      for (const [name, token] of bad.slice(1)) {
        const { status } = await call(route, { headers: { ...cookie(token!), ...ourPage() } });
        expect(status, `${name} as a cookie`).toBe(route.scope === "probe" ? 200 : 401);
      }
      for (const { path, url } of shares) {
        const token = url.split("#share=")[1]!;
        const isLook = route.scope === "read" && route.method === "GET" && (path === "/" || IN_MODELS.has(route.id));
        if (route.scope === "probe" || isLook || OF_A_SESSION.has(route.id)) continue;
        for (const asking of [{ token }, { headers: { ...cookie(token), ...ourPage() } }]) {
          const { status, json } = await call(route, asking);
          expect([status, String(json.code)], path).toEqual([403, expect.stringMatching(/^S(COPE|HARE)_TOO_SMALL$/)]);
        }
      }
      // A foreign page can make a browser send its cookie, but neither our Origin nor our header.
      if (route.method !== "GET") {
        const { status, json } = await call(route, { headers: cookie(tokens.get("operator")!) });
        expect([status, json.code]).toEqual([403, "FORBIDDEN"]);
      }
      expect(told()).toBe(before);
    },
  );

  test("a token of each scope reads, the worker publishes, the operator steers", async () => {
    for (const token of tokens.values()) expect((await surface.ask("port", "/status", { token })).status).toBe(200);
    const publish = mounted.find(({ id }) => id === "publishEvents")!;
    expect((await call(publish, { token: tokens.get("worker") })).status).toBe(200);
    const reset = { method: "POST", body: {}, token: tokens.get("operator") };
    expect((await surface.ask("port", "/v1/daemons/dlq_retry/reset", reset)).status).toBe(200);
  });

  test("the name that it is called by is in its certificate, an address, or nobody's", async () => {
    const token = tokens.get("read");
    for (const host of ["localhost", "127.0.0.1:1234", "192.0.2.7", "[2001:db8::1]:8770"])
      expect((await surface.ask("port", "/status", { token, headers: { host } })).status, host).toBe(200);
    for (const headers of [
      { host: "evil.example" },
      { host: "localhost", origin: "https://evil.example" },
      { host: "localhost", origin: "null" },
    ] as Record<string, string>[]) {
      const refused = await surface.ask("port", "/status", { token, headers });
      expect([refused.status, refused.json.code]).toEqual([403, "FORBIDDEN"]);
    }
  });

  test("a shared link shows its views until it is revoked, and then nothing, to all who have it", async () => {
    const made = await surface.ask("socket", "/v1/shares", {
      method: "POST",
      body: { path: "/journal/", label: "brief" },
    });
    expect(made.status).toBe(201);
    const { id, url, path } = made.json as { id: string; url: string; path: string };
    expect([path, new URL(url).pathname, new URL(url).search]).toEqual(["/journal", "/journal", ""]);
    const token = url.split("#share=")[1]!;
    const headers = { ...cookie(token), ...ourPage() };
    const began = await surface.ask("port", "/v1/session", { method: "POST", body: {}, token, headers: ourPage() });
    expect([began.status, began.json.path, began.json.scope]).toEqual([200, "/journal", "read"]);
    expect((await surface.ask("port", "/v1/events", { headers })).status).toBe(200);
    expect((await surface.ask("port", "/status", { headers })).json.code).toBe("SHARE_TOO_SMALL");
    const listed = (await surface.ask("socket", "/v1/shares")).json as { shares: { id: string; status: string }[] };
    expect(listed.shares.find((share) => share.id === id)).toMatchObject({ status: "active", path: "/journal" });
    expect(JSON.stringify(listed)).not.toContain(token.slice(-20));
    expect((await surface.ask("socket", `/v1/shares/${id}`, { method: "DELETE" })).json.status).toBe("revoked");
    for (const asking of [{ headers }, { token }])
      expect((await surface.ask("port", "/v1/events", asking)).status).toBe(401);
    const nowhere = await surface.ask("socket", "/v1/shares", { method: "POST", body: { path: "/v1/tokens" } });
    expect([nowhere.status, nowhere.json.code]).toEqual([422, "SHARE_PATH_UNKNOWN"]);
    expect((await surface.ask("socket", "/v1/shares/brief-one", { method: "DELETE" })).status).toBe(404);
  });

  test("nobody frames the page, and nobody reaches it by a name that is not ours", async () => {
    for (const path of ["/", "/configs/x", "/v1/session"]) {
      const { status, headers } = await surface.ask("port", path, { token: tokens.get("read") });
      expect(status, path).toBeLessThan(600);
      if (path !== "/v1/session") expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
      const rebound = await surface.ask("port", path, {
        token: tokens.get("read"),
        headers: { host: "evil.example:8770" },
      });
      expect([rebound.status, rebound.json.code], path).toEqual([403, "FORBIDDEN"]);
    }
  });

  test("what is open under a token ends when it is revoked", async () => {
    const made = await surface.ask("socket", "/v1/tokens", { method: "POST", body: { label: "brief", scope: "read" } });
    const token = String(made.json.token);
    const ended = surface.ask("port", "/events", { token });
    await expect.poll(async () => (await surface.ask("socket", "/metrics")).text).toContain("ringrift_http_streams 1");
    await surface.ask("socket", `/v1/tokens/${made.json.id}`, { method: "DELETE" });
    expect((await ended).text).toContain("retry:");
    expect((await surface.ask("port", "/status", { token })).status).toBe(401);
    const { tokens: rows } = (await surface.ask("socket", "/v1/tokens")).json as { tokens: { label: string }[] };
    expect(rows.find(({ label }) => label === "brief")).toMatchObject({ status: "revoked" });
    expect(JSON.stringify(rows)).not.toContain(token.slice(-20));
  });

  test("a new certificate is taken up, and connections that exist live on", async () => {
    const { cert, key } = identity!;
    const { port } = surface.coordination.api;
    const greet = (): Promise<TLSSocket> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => resolve(socket));
        socket.once("error", reject);
      });
    const old = await greet();
    const before = old.getPeerCertificate().fingerprint256;
    const next = selfSigned(own.folder(), "renewed")!;
    copyFileSync(next.key, key);
    copyFileSync(next.cert, cert);
    const seen = async () => {
      const socket = await greet();
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    await expect.poll(seen, { interval: 200 }).not.toBe(before);
    const answer = new Promise<string>((resolve) => old.once("data", (part) => resolve(part.toString())));
    old.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
    expect(await answer).toMatch(/^HTTP\/1.1 200/);
    old.destroy();
    chmodSync(key, 0o644);
    copyFileSync(next.cert, cert);
    await expect
      .poll(async () => JSON.stringify((await surface.ask("socket", "/v1/units")).json))
      .toContain("other users can read the key");
    expect((await surface.ask("port", "/livez")).status).toBe(200);
  });
});

describe("the start beyond loopback", () => {
  const start = (env: Record<string, string>) => {
    const dataDir = own.folder();
    return bootstrapCoordination({ settings: readSettings(env, dataDir, { dataDir, port: 0 }), log: silentLog() });
  };

  test("is refused without TLS, unless plain HTTP is allowed", async () => {
    expect(() => start({ RINGRIFT_HOST: "0.0.0.0" })).toThrow(expect.objectContaining({ code: "INVALID_SETTING" }));
    const plain = await runSurface({ RINGRIFT_HOST: "0.0.0.0", RINGRIFT_ALLOW_PLAIN_HTTP: "yes" });
    expect((await plain.ask("port", "/livez")).status).toBe(200);
    expect((await plain.ask("port", "/status")).status).toBe(401);
    expect((await plain.ask("port", "/status", { token: plain.token })).status).toBe(200);
    await plain.end();
  });

  test.skipIf(identity === undefined)("is refused with a key that others may read, or that is another's", async () => {
    const [one, two] = [selfSigned(own.folder())!, selfSigned(own.folder())!];
    const env = (cert: string, key: string) => ({
      RINGRIFT_HOST: "0.0.0.0",
      RINGRIFT_TLS_CERT_FILE: cert,
      RINGRIFT_TLS_KEY_FILE: key,
    });
    await expect(start(env(one.cert, two.key))).rejects.toMatchObject({ code: "TLS_UNUSABLE" });
    chmodSync(one.key, 0o640);
    expect(statSync(one.key).mode & 0o777).toBe(0o640);
    await expect(start(env(one.cert, one.key))).rejects.toMatchObject({ code: "TLS_KEY_EXPOSED" });
  });
});

describe("on loopback", () => {
  test("reading needs no token, writing does, and a wrong one is refused even for reading", async () => {
    const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "100" });
    for (const route of mounted.filter(({ scope, endless }) => scope === "read" && !endless))
      expect((await surface.ask("port", pathOf(route))).status, route.id).not.toBe(401);
    for (const route of mounted.filter(({ scope }) => scope === "worker" || scope === "operator")) {
      const body = bodyOf(route);
      const asking = { method: route.method, ...defined({ body }) };
      expect((await surface.ask("port", pathOf(route), asking)).status, route.id).toBe(401);
    }
    expect((await surface.ask("port", "/status", { token: "wrong" })).status).toBe(401);
    expect((await surface.ask("port", "/status", { headers: { authorization: "Basic eDp5" } })).status).toBe(401);
    expect((await surface.ask("port", "/status", { token: surface.token })).status).toBe(200);
    await surface.end();
  });

  test("reading needs a token, too, where local reads are switched off", async () => {
    const surface = await runSurface({ RINGRIFT_LOCAL_READS: "no" });
    expect((await surface.ask("port", "/status")).status).toBe(401);
    expect((await surface.ask("port", "/livez")).status).toBe(200);
    expect((await surface.ask("socket", "/status")).status).toBe(200);
    await surface.end();
  });

  test("many wrong tokens are slowed down and counted, and a good one passes all the while", async () => {
    const lines: string[] = [];
    const log = {
      ...silentLog(),
      warn: (message: string, fields = {}) => void lines.push(message + JSON.stringify(fields)),
    };
    const surface = await runSurface({}, { log });
    const secret = "s".repeat(43);
    const statuses: number[] = [];
    for (let i = 0; i < 15; i += 1) statuses.push((await surface.ask("port", "/status", { token: secret })).status);
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401));
    expect(statuses.slice(10)).toEqual(Array(5).fill(429));
    const slowed = await surface.ask("port", "/status", { token: secret });
    expect(Number(slowed.headers["retry-after"])).toBeGreaterThan(0);
    expect((await surface.ask("port", "/status", { token: surface.token })).status).toBe(200);
    expect((await surface.ask("port", "/metrics")).text).toContain("ringrift_http_failed_logins_total 16");
    expect(lines.filter((line) => line.includes("invalid token"))).toHaveLength(10);
    expect(lines.join("\n")).not.toContain(secret);
    await surface.end();
  });

  test("who has no token, or asks for what there is not, is heard only so often; a good token passes all the while", async () => {
    const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "0.05" });
    const asked: [string, Asking, number][] = [
      ["/v1/shutdown", { method: "POST", body: {} }, 401],
      ["/no/such/route", {}, 404],
      ["/status", { headers: { host: "evil.example" } }, 403],
    ];
    const began = performance.now();
    const seen: number[] = [];
    for (const [path, asking] of asked) seen.push((await surface.ask("port", path, asking)).status);
    expect(seen).toEqual([401, 404, 403]);
    const flood = Array.from({ length: 20 }, () => asked).flat();
    for (const { status } of await Promise.all(flood.map(([path, asking]) => surface.ask("port", path, asking))))
      seen.push(status);
    // Ten at once and five in two seconds, each a twentieth of what it is by default.
    const allowed = 10 + Math.ceil(((performance.now() - began) / 1_000) * 2.5);
    expect(seen.filter((status) => status !== 429).length).toBeLessThanOrEqual(allowed);
    expect(seen).toContain(429);
    const { status } = await surface.ask("port", "/v1/daemons/dlq_retry/resume", {
      method: "POST",
      body: {},
      token: surface.token,
    });
    expect(status).toBe(200);
    await surface.end();
  });

  test("tokens outlive a restart, and so does their end", async () => {
    const first = await runSurface();
    const issue = async (label: string) =>
      (await first.ask("socket", "/v1/tokens", { method: "POST", body: { label, scope: "worker" } })).json;
    const [kept, gone] = [await issue("kept"), await issue("gone")];
    await first.ask("socket", `/v1/tokens/${gone.id}`, { method: "DELETE" });
    await first.coordination.shutdown();
    const second = await bootstrapCoordination({
      settings: readSettings({}, first.dataDir, { dataDir: first.dataDir, port: 0 }),
      log: silentLog(),
    });
    const read = (token: unknown) =>
      fetch(`http://127.0.0.1:${second.api.port}/status`, { headers: { authorization: `Bearer ${token}` } });
    expect((await read(kept.token)).status).toBe(200);
    expect((await read(gone.token)).status).toBe(401);
    expect(second.router.store.read("SELECT 1 FROM api_tokens WHERE hash LIKE '%_%'")).toHaveLength(2);
    await second.shutdown();
    await first.own.end();
  });
});
