import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { CAPABILITIES, nodeKeys } from "../../../test/support/node-client.ts";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { signRequest } from "../../cluster/index.ts";
import { createNodeGate } from "../../cluster/nodes/node-gate.ts";
import { NodeRegistry } from "../../cluster/nodes/node-registry.ts";
import { nodeTimingDefaults as timing } from "../../cluster/nodes/timing.ts";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import { createAccess, type Door } from "./access.ts";
import { createLimits, limitClasses } from "./limits.ts";
import { mayNameNode } from "./node-callers.ts";
import type { Caller } from "./route.ts";
import { includes, type Scope } from "./scope.ts";
import { createTokens } from "./tokens.ts";

const LOCAL = "text-of-the-file";
const SCOPES: readonly Scope[] = ["probe", "read", "worker", "operator"];

function world({ localReads = true, withNodes = true } = {}) {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  onTestFinished(() => store.close());
  const nodes = new NodeRegistry({ store, clock, log: silentLog(), timing, localNodeId: "home", version: "0.1.0" });
  const tokens = createTokens(store, clock, silentLog());
  const seen = { failedLogins: 0 };
  const access = createAccess({
    localToken: LOCAL,
    localReads,
    isOurName: (name) => name === "box.example",
    tokens: () => tokens,
    limits: createLimits(clock),
    log: silentLog(),
    metrics: { failedLogin: () => (seen.failedLogins += 1) },
    ...(withNodes ? { nodes: createNodeGate({ nodes, clock, boot: "b1" }) } : {}),
  });
  const check = (
    headers: Readonly<Record<string, string>> = {},
    {
      door = "loopback",
      scope = "read",
      method = "GET",
      from = "192.0.2.7",
      id = "aRoute",
    }: { door?: Door; scope?: Scope; method?: string; from?: string; id?: string } = {},
  ): Caller => {
    const request = {
      headers: { host: "localhost", ...headers },
      socket: { remoteAddress: from, localPort: 8_770 },
      method,
      url: "/v1/x",
    };
    return access.check(request as unknown as IncomingMessage, door, { scope, method, id } as never);
  };
  const refusal = (...given: Parameters<typeof check>): unknown => {
    try {
      return check(...given);
    } catch (thrown) {
      return thrown;
    }
  };
  const pass = (ms: number) => {
    clock.after(ms, () => {});
    clock.step();
  };
  return { clock, store, nodes, tokens, access, seen, check, refusal, pass };
}

const bearing = (token: string) => ({ authorization: `Bearer ${token}` });
const unauthorized = { code: "UNAUTHORIZED", status: 401 };

test("each scope includes itself and those before it", () => {
  for (const [i, held] of SCOPES.entries())
    expect(SCOPES.filter((needed) => includes(held, needed))).toEqual(SCOPES.slice(0, i + 1));
});

describe("the name and the origin of a request", () => {
  test("over loopback are those of loopback, with any port", () => {
    const w = world();
    for (const host of ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:9"])
      expect(w.check({ host }), host).toMatchObject({ actor: "local:reader", scope: "read" });
    for (const host of ["", "evil.example", "192.0.2.1", "box.example", "localhost.evil.example", "127.0.0.1:1:x"])
      expect(w.refusal({ host }), host).toMatchObject({
        code: "FORBIDDEN",
        message: `this server does not have the name '${host}'`,
      });
    for (const host of ["127:5.0.0.1", "[[::1]"])
      expect(w.refusal({ host }), host).toMatchObject({ code: "FORBIDDEN" });
    expect(w.refusal({ host: undefined as never })).toMatchObject({ code: "FORBIDDEN" });
    expect(w.refusal({ host: "x".repeat(101) })).toMatchObject({
      message: `this server does not have the name '${"x".repeat(100)}'`,
    });
  });

  test("from elsewhere are an address, or a name of ours", () => {
    const w = world();
    const scope = "probe";
    for (const host of ["localhost", "192.0.2.1:80", "[2001:db8::1]:80", "[2001:db8::1]", "Box.example:443"])
      expect(w.check({ host }, { door: "network", scope }), host).toMatchObject({ actor: "nobody", scope: "probe" });
    for (const host of ["", "evil.example", "192.0.2", "box.example.evil", "20[01:db8::1", "20]01:db8::1"])
      expect(w.refusal({ host }, { door: "network", scope }), host).toMatchObject({ code: "FORBIDDEN" });
  });

  test("a page may ask where it came from, and nowhere else", () => {
    const w = world();
    const host = "localhost:80";
    expect(w.check({ host: "localhost:8080", origin: "http://localhost:8080" }).actor).toBe("local:reader");
    for (const origin of ["http://evil.example", "http://localhost:81", "null", "", "http://localhost.evil.example"])
      expect(w.refusal({ host, origin }), origin).toMatchObject({
        code: "FORBIDDEN",
        message: "requests from other origins are refused",
      });
  });
});

describe("who shows nothing", () => {
  test("may do everything over the Unix socket, whatever it calls the server", () => {
    expect(world().check({ host: "evil.example" }, { door: "socket", scope: "operator", method: "POST" })).toEqual({
      actor: "local:socket",
      scope: "operator",
      tokenId: null,
      expiresAt: null,
      from: "socket",
    });
  });

  test("may read over loopback unless that was turned off, and may not write", () => {
    expect(world().check()).toMatchObject({ actor: "local:reader", scope: "read", from: "192.0.2.7" });
    for (const refused of [
      world({ localReads: false }).refusal(),
      world().refusal({}, { door: "network" }),
      world().refusal({}, { method: "POST" }),
    ])
      expect(refused).toMatchObject({ ...unauthorized, message: "reading needs a token here" });
    for (const scope of ["worker", "operator"] as const)
      expect(world().refusal({}, { scope })).toMatchObject({
        ...unauthorized,
        message: `this needs a token with the scope ${scope}`,
      });
  });

  test("that asks for what is not there is told so only where it may read", () => {
    const ask = (door: Door) => () =>
      world().access.check({ headers: { host: "localhost" }, socket: {}, method: "POST" } as never, door, undefined);
    expect(ask("loopback")()).toMatchObject({ actor: "local:reader", scope: "read", from: "gone" });
    expect(ask("network")).toThrow(expect.objectContaining(unauthorized));
  });

  test("is nobody for a probe, also with a token that opens nothing", () => {
    const w = world({ localReads: false });
    expect(w.check(bearing("wrong"), { door: "network", scope: "probe" })).toMatchObject({ actor: "nobody" });
    expect(w.seen.failedLogins).toBe(0);
  });
});

describe("who shows a token", () => {
  test.each(["read", "worker", "operator"] as const)(
    "of the scope %s may do what it is for, and no more",
    async (held) => {
      const w = world();
      const { id, token } = await w.tokens.issue({ label: "l", scope: held, expiresInSeconds: 60 }, "me");
      for (const scope of SCOPES.slice(1)) {
        const found = w.refusal(bearing(token), { scope, door: "network", method: "POST" });
        expect(found).toMatchObject(
          includes(held, scope)
            ? { actor: "l", scope: held, tokenId: id, expiresAt: w.clock.now() + 60_000, from: "192.0.2.7" }
            : { code: "SCOPE_TOO_SMALL", message: `this needs a token with the scope ${scope}, not ${held}` },
        );
      }
    },
  );

  test("to join with may join and nothing else, and lets in as many nodes as it may, also over a restart", async () => {
    const w = world();
    const { id, token } = await w.tokens.issue({ label: "l", scope: "worker", joinUses: 2 }, "me");
    const join = { scope: "worker", door: "network", method: "POST", id: "joinNode" } as const;
    expect(w.check(bearing(token), join)).toMatchObject({ actor: "l", tokenId: id });
    expect(w.refusal(bearing(token), { ...join, id: "claimWork" })).toMatchObject({
      code: "TOKEN_ONLY_JOINS",
      message: "this token can only be used to join a node",
    });
    expect(w.refusal(bearing(token), { door: "network" })).toMatchObject({ code: "TOKEN_ONLY_JOINS" });
    const came = await Promise.allSettled(["a", "b", "c"].map((node) => w.tokens.useToJoin(id, node)));
    expect(came.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    const again = createTokens(w.store, w.clock, silentLog());
    await again.useToJoin(id, "a");
    await expect(again.useToJoin(id, "c")).rejects.toMatchObject({ code: "TOKEN_USED_UP" });
    expect(again.list()).toMatchObject([{ id, join_uses: 2 }]);
  });

  test("that is the owner's is the owner, however the scheme is spelled", () => {
    const w = world();
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect(w.check({ authorization: `${scheme} ${LOCAL}` }, { scope: "operator", method: "POST" })).toMatchObject({
        actor: `local:${process.getuid?.() ?? "owner"}`,
        scope: "operator",
        tokenId: null,
        from: "192.0.2.7",
      });
    expect(w.seen.failedLogins).toBe(0);
  });

  test("that opens nothing is refused, also where reading is free, and is counted", () => {
    const w = world();
    const wrong = [`Basic ${LOCAL}`, `Bearer ${LOCAL}x`, "Bearer", "Bearer ", LOCAL, ""];
    for (const authorization of wrong)
      expect(w.refusal({ authorization }), authorization).toMatchObject({
        ...unauthorized,
        message: "this token is not valid: it is wrong, revoked or expired",
      });
    expect(w.seen.failedLogins).toBe(wrong.length);
  });

  test("that opens nothing, again and again, has to wait; others do not", () => {
    const w = world();
    for (let n = 0; n < limitClasses.login.burst; n += 1)
      expect(w.refusal(bearing("wrong"))).toMatchObject(unauthorized);
    expect(w.refusal(bearing("wrong"))).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      message: "too many tokens that open nothing came from here",
      status: 429,
      details: { retryAfterSeconds: 5 },
    });
    expect(w.refusal(bearing("wrong"), { from: "192.0.2.8" })).toMatchObject(unauthorized);
    expect(w.check(bearing(LOCAL))).toMatchObject({ scope: "operator" });
    expect(w.seen.failedLogins).toBe(limitClasses.login.burst + 2);
    w.pass(5_000);
    expect(w.refusal(bearing("wrong"))).toMatchObject(unauthorized);
  });
});

describe("who says to be a node", () => {
  const EMPTY = hash("sha256", "", "hex");
  const joined = async (w: ReturnType<typeof world>, label = "box") => {
    const { privateKey, public_key } = nodeKeys();
    const request = { public_key, label, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES };
    const { node_id: nodeId } = await w.nodes.join(request, { actor: "ann", address: "192.0.2.7" });
    let counter = 0;
    const signed = (boot = "b1", method = "POST", path = "/v1/x") => {
      counter += 1;
      const claim = { nodeId, incarnation: 1, counter, issuedAt: w.clock.now() / 1_000, boot };
      return { "x-ringrift-node": signRequest(claim, { method, path, bodySha256: EMPTY }, privateKey) };
    };
    return { nodeId, signed };
  };
  const asWorker = { door: "network", scope: "worker", method: "POST" } as const;

  test("is a worker that has to prove its request, path, method and body", async () => {
    const w = world();
    const { nodeId, signed } = await joined(w);
    const caller = w.check(signed(), asWorker);
    expect(caller).toMatchObject({
      actor: `node:${nodeId}`,
      scope: "worker",
      nodeId,
      tokenId: null,
      from: "192.0.2.7",
    });
    caller.prove!(EMPTY);
    const bad = expect.objectContaining({ code: "BAD_SIGNATURE" });
    expect(() => w.check(signed(), asWorker).prove!(hash("sha256", "x", "hex"))).toThrow(bad);
    expect(() => w.check(signed("b1", "GET"), asWorker).prove!(EMPTY)).toThrow(bad);
    expect(() => w.check(signed("b1", "POST", "/v1/y"), asWorker).prove!(EMPTY)).toThrow(bad);
    expect(w.refusal(signed(), { ...asWorker, scope: "operator" })).toMatchObject({ code: "SCOPE_TOO_SMALL" });
  });

  test("and is none is slowed down, without slowing down who only has to sign anew", async () => {
    const w = world();
    const { signed } = await joined(w);
    const burst = limitClasses.login.burst;
    for (let n = 0; n < 2 * burst; n += 1)
      expect(w.refusal(signed("before"), asWorker)).toMatchObject({ code: "NODE_SESSION_STALE" });
    for (let n = 0; n < burst; n += 1)
      expect(w.refusal({ "x-ringrift-node": "noise" }, asWorker)).toMatchObject({ code: "BAD_SIGNATURE" });
    expect(w.refusal({ "x-ringrift-node": "noise" }, asWorker)).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      message: "too many requests that no node has signed came from here",
    });
    expect(w.refusal({ "x-ringrift-node": "noise" }, { ...asWorker, from: "192.0.2.8" })).toMatchObject({
      code: "BAD_SIGNATURE",
    });
    expect(w.refusal(bearing("wrong")), "tokens are counted by themselves").toMatchObject(unauthorized);
    expect(w.check(signed(), asWorker), "and who signs right is no guesser").toMatchObject({ scope: "worker" });
  });

  test("is nobody where no nodes can join", async () => {
    const w = world({ withNodes: false });
    const { signed } = await joined(w);
    expect(w.refusal(signed(), asWorker)).toMatchObject(unauthorized);
  });

  test("speaks for itself alone; a token for those that nobody knows, an operator for all", async () => {
    const w = world();
    const [one, other] = [await joined(w), await joined(w, "other")];
    const ports = { nodes: { book: w.nodes } } as never;
    const named = (caller: Pick<Caller, "scope" | "nodeId">) =>
      [one.nodeId, other.nodeId, "stranger"].map((nodeId) => mayNameNode(caller as Caller, nodeId, ports));
    expect(named({ scope: "worker", nodeId: one.nodeId })).toEqual([true, false, false]);
    expect(named({ scope: "worker" })).toEqual([false, false, true]);
    expect(named({ scope: "operator" })).toEqual([true, true, true]);
  });
});

describe("the session of a browser", () => {
  const cookie = (token: string, more: Readonly<Record<string, string>> = {}) => ({
    cookie: `other=1; ringrift-8770=${token}`,
    ...more,
  });
  const ourPage = { origin: "http://localhost", "x-ringrift-page": "1" };
  const write = { method: "POST", scope: "operator" } as const;
  const begun = async (scope: "read" | "worker" | "operator" = "operator") => {
    const w = world();
    const { token, id } = await w.tokens.issue({ label: "ann", scope, kind: "session" }, "ann");
    return { ...w, token, id };
  };

  test("reads with its cookie, and writes from our own page alone", async () => {
    const w = await begun();
    expect(w.check(cookie(w.token))).toMatchObject({ actor: "ann", scope: "operator", isBrowser: true });
    expect(w.check(cookie(w.token, ourPage), write)).toMatchObject({ actor: "ann" });
    const half = [{}, { origin: ourPage.origin }, { "x-ringrift-page": "1" }];
    for (const more of half) expect(w.refusal(cookie(w.token, more), write)).toMatchObject({ code: "FORBIDDEN" });
    const foreign = { ...ourPage, origin: "http://localhost:3000" };
    expect(w.refusal(cookie(w.token, foreign), write)).toMatchObject({ code: "FORBIDDEN" });
    expect(w.refusal(cookie(w.token, { ...ourPage, host: "evil.example" }), write)).toMatchObject({
      code: "FORBIDDEN",
    });
  });

  test("may do what its scope says, and nothing once it is revoked", async () => {
    const w = await begun("read");
    expect(w.refusal(cookie(w.token, ourPage), write)).toMatchObject({ code: "SCOPE_TOO_SMALL" });
    await w.tokens.revoke(w.id, "ann");
    expect(w.refusal(cookie(w.token))).toMatchObject(unauthorized);
  });

  test("of another process on this machine is not taken for ours", async () => {
    const w = await begun();
    expect(w.check({ cookie: `ringrift-9999=${w.token}` })).toMatchObject({ actor: "local:reader" });
  });

  test("begins with a code that opens nothing else, and only once", async () => {
    const w = world();
    const { token, id } = await w.tokens.issue({ label: "ann", scope: "operator", kind: "code" }, "ann");
    expect(w.refusal(bearing(token))).toMatchObject({ code: "TOKEN_ONLY_BEGINS" });
    expect(w.check(bearing(token), { ...write, id: "beginSession" })).toMatchObject({ kind: "code" });
    const spent = await Promise.all([w.tokens.spend(id, "ann"), w.tokens.spend(id, "ann")]);
    expect(spent).toEqual([true, false]);
    expect(w.refusal(bearing(token), { ...write, id: "beginSession" })).toMatchObject(unauthorized);
  });
});
