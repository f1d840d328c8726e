import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../../../src/adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../../src/app/store-modules.ts";
import { seededRandom, silentLog, systemClock, virtualClock } from "../../../src/kernel/index.ts";
import { createLimits, createSurface, createTokens, createWrites } from "../../../src/surfaces/index.ts";
import { readExposition } from "../../support/exposition.ts";

const world = () => {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  onTestFinished(() => store.close());
  const pass = (ms: number) => {
    clock.after(ms, () => {});
    clock.step();
  };
  return { clock, store, pass };
};

describe("limits", () => {
  test("a burst, then the rate, for each caller and class by itself", () => {
    const { clock, pass } = world();
    const limits = createLimits(clock);
    for (let i = 0; i < 100; i += 1) expect(limits.take("a", "write")).toBe(0);
    expect(limits.take("a", "write")).toBeCloseTo(1 / 50);
    expect(limits.take("b", "write")).toBe(0);
    expect(limits.take("a", "read")).toBe(0);
    pass(20);
    expect(limits.take("a", "write")).toBe(0);
    expect(limits.take("a", "write")).toBeGreaterThan(0);
    pass(3_600_000);
    for (let i = 0; i < 100; i += 1) expect(limits.take("a", "write")).toBe(0);
    expect(limits.take("a", "write")).toBeGreaterThan(0);
  });

  test("count what a request carries: who took more than was left waits for all of it, and the others do not", () => {
    const { clock, pass } = world();
    const limits = createLimits(clock);
    for (let i = 0; i < 4; i += 1) expect(limits.take("flood", "beat", 1_000)).toBe(0);
    expect(limits.take("flood", "beat", 1_000)).toBeGreaterThan(0);
    pass(1);
    expect(limits.take("flood", "beat")).toBe(0);
    limits.take("flood", "beat", 1_000, true);
    expect(limits.take("flood", "beat")).toBeCloseTo(0.5, 1);
    expect(limits.take("honest", "beat", 1_000)).toBe(0);
    pass(10_000);
    expect(limits.take("flood", "beat", 1_000_000)).toBe(0);
    expect(limits.take("flood", "beat")).toBeLessThan(2.1);
  });

  test("are multiplied by a factor, and leave one even where it is tiny", () => {
    const { clock } = world();
    const limits = createLimits(clock, 0.01);
    expect(limits.take("a", "stream")).toBe(0);
    expect(limits.take("a", "stream")).toBeCloseTo(20);
  });

  test("remember a bounded number of callers, the latest", () => {
    const { clock } = world();
    const limits = createLimits(clock, 0.01);
    limits.take("old", "write");
    for (let i = 0; i < 9_999; i += 1) limits.take(`caller ${i}`, "write");
    expect(limits.take("old", "write")).toBeGreaterThan(0);
    for (let i = 0; i < 10_000; i += 1) limits.take(`other ${i}`, "write");
    expect(limits.take("old", "write")).toBe(0);
  });
});

describe("tokens", () => {
  test("open what they are for until they expire or are revoked; the store never knows the secret", async () => {
    const { clock, store, pass } = world();
    const tokens = createTokens(store, clock, silentLog());
    const brief = await tokens.issue({ label: "brief", scope: "worker", expiresInSeconds: 10 }, "me");
    const lasting = await tokens.issue({ label: "lasting", scope: "read" }, "me");
    expect(brief.token).toMatch(/^rrt_[0-9a-f]{16}_[\w-]{43}$/);
    expect(tokens.verify(brief.token)).toMatchObject({ id: brief.id, label: "brief", scope: "worker" });
    expect(tokens.verify(`${brief.token.slice(0, 21)}${lasting.token.slice(21)}`)).toBeUndefined();
    for (const wrong of ["", "rrt_", "x".repeat(5_000), brief.token.slice(0, -1), `${brief.token}x`, "rrt___proto___"])
      expect(tokens.verify(wrong)).toBeUndefined();
    pass(9_999);
    expect(tokens.verify(brief.token)).toBeDefined();
    pass(1);
    expect(tokens.verify(brief.token)).toBeUndefined();
    const ended: string[] = [];
    tokens.onRevoked((id) => ended.push(id));
    await tokens.revoke(lasting.id, "me");
    await tokens.revoke(lasting.id, "me again");
    expect(ended).toEqual([lasting.id]);
    expect(tokens.verify(lasting.token)).toBeUndefined();
    expect(tokens.list().map(({ status }) => status)).toEqual(["expired", "revoked"]);
    await expect(tokens.revoke("nobody", "me")).rejects.toMatchObject({ code: "TOKEN_NOT_FOUND" });
    const twins = [
      await tokens.issue({ label: "twin", scope: "read" }, "me"),
      await tokens.issue({ label: "twin", scope: "read" }, "me"),
    ];
    await expect(tokens.revoke("twin", "me")).rejects.toMatchObject({
      code: "TOKEN_AMBIGUOUS",
      hint: expect.stringContaining(twins[0]!.id),
    });
    expect(await tokens.revoke(twins[0]!.id.slice(0, 8), "me")).toMatchObject({ id: twins[0]!.id, status: "revoked" });
    expect(await tokens.revoke("twin", "me")).toMatchObject({ id: twins[1]!.id });
    const kept = JSON.stringify(store.read("SELECT * FROM api_tokens"));
    for (const { token } of [brief, lasting]) expect(kept).not.toContain(token.slice(-43));
  });

  test("when one was used is written down seldom, and what was written down is there after a restart", async () => {
    const { clock, store, pass } = world();
    const first = createTokens(store, clock, silentLog());
    const { token, id } = await first.issue({ label: "a", scope: "operator" }, "me");
    const usedAt = () =>
      store.read<{ at: number }>("SELECT last_used_at AS at FROM api_tokens WHERE id = ?", id)[0]!.at;
    first.verify(token);
    await expect.poll(usedAt).toBe(clock.now());
    const written = clock.now();
    for (let i = 0; i < 59; i += 1) {
      pass(1_000);
      first.verify(token);
    }
    expect(usedAt()).toBe(written);
    pass(1_000);
    first.verify(token);
    await expect.poll(usedAt).toBe(clock.now());
    expect(createTokens(store, clock, silentLog()).verify(token)).toMatchObject({ label: "a", scope: "operator" });
  });

  test("are bounded: live ones by refusal, spent ones by forgetting the oldest", async () => {
    const { clock, store } = world();
    const tokens = createTokens(store, clock, silentLog());
    const made = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => tokens.issue({ label: `t${i}`, scope: "read" }, "me")),
    );
    await expect(tokens.issue({ label: "more", scope: "read" }, "me")).rejects.toMatchObject({
      code: "TOO_MANY_TOKENS",
    });
    for (const { id } of made) await tokens.revoke(id, "me");
    for (let i = 0; i < 3; i += 1)
      await tokens.revoke((await tokens.issue({ label: "x", scope: "read" }, "me")).id, "me");
    expect(store.read("SELECT 1 FROM api_tokens").length).toBeLessThanOrEqual(1_003);
    expect(tokens.list().length).toBeLessThanOrEqual(1_003);
  });
});

test("the busy writes of workers do not push out those of operators, and both are bounded", async () => {
  const { clock, store } = world();
  const writes = createWrites(store, clock, () => expect.unreachable("a row was lost"));
  const row = (scope: string, n: number) => ({
    at: clock.now(),
    actor: "a",
    scope,
    method: "POST",
    path: "/v1/x",
    status: 200,
    request_id: `${scope}-${n}`,
    came_from: "socket",
    dry_run: 0 as const,
    reason: null,
  });
  await writes.add(row("operator", 1));
  for (let n = 0; n < 11_000; n += 1) writes.addSoon(row("worker", n));
  await writes.flush();
  const count = (scope: string) =>
    store.read<{ n: number }>("SELECT count(*) AS n FROM api_writes WHERE scope = ?", scope)[0]!.n;
  expect(count("operator")).toBe(1);
  expect(count("worker")).toBeGreaterThanOrEqual(10_000);
  expect(count("worker")).toBeLessThanOrEqual(10_256);
  expect(writes.list(1)).toMatchObject([{ request_id: "worker-10999", from: "socket" }]);
  expect(writes.list(1, writes.list(1)[0]!.id)).toMatchObject([{ request_id: "worker-10998" }]);
});

describe("the reader of figures that the tests rely on", () => {
  test.each([
    ["no end", "# HELP a A.\n# TYPE a gauge\na 1"],
    ["no help", "# TYPE a gauge\na 1\n"],
    ["an unknown type", "# HELP a A.\n# TYPE a thing\na 1\n"],
    ["a name that is none", "# HELP 1a A.\n# TYPE 1a gauge\n"],
    ["a family twice", "# HELP a A.\n# TYPE a gauge\n# HELP a A.\n# TYPE a gauge\n"],
    ["a series twice", '# HELP a A.\n# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n'],
    ["a label twice", '# HELP a A.\n# TYPE a gauge\na{b="1",b="2"} 1\n'],
    ["a sample of another family", "# HELP a A.\n# TYPE a gauge\nb 1\n"],
    ["a value that is none", "# HELP a A.\n# TYPE a gauge\na one\n"],
    ["a label that is not closed", '# HELP a A.\n# TYPE a gauge\na{b="1} 1\n'],
  ])("refuses %s", (_, text) => {
    expect(() => readExposition(text)).toThrow();
  });
});

const doors = (fetch: () => Response | Promise<Response>) => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-door-"));
  const surface = createSurface({
    socketPath: join(folder, "s.sock"),
    host: "127.0.0.1",
    port: 0,
    clock: systemClock(),
    random: seededRandom(1),
    log: silentLog(),
    fetch,
  });
  onTestFinished(async () => {
    await surface.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, surface };
};

test("a door that a busy loop is slow to answer is no door that does not answer", async () => {
  const { surface } = doors(() => new Response("here"));
  await surface.open();
  const checked = surface.check();
  // Whatever was due meanwhile is looked at before what was sent.
  setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500));
  expect((await checked).map(({ door, ok, message }) => ({ door, ok, message }))).toEqual([
    { door: "socket", ok: true, message: "" },
    { door: "port", ok: true, message: "" },
  ]);
});

test("a door that does not answer is told, and not as gone", async () => {
  const { surface } = doors(() => new Promise<Response>(() => {}));
  await surface.open();
  const report = { ok: false, gone: false, message: "no answer within 2 s" };
  expect(await surface.check()).toEqual([expect.objectContaining(report), expect.objectContaining(report)]);
});

test("opening the socket for its owner alone changes nothing for what other threads make meanwhile", async () => {
  const { folder, surface } = doors(() => new Response("here"));
  const before = process.umask();
  const opening = surface.open();
  expect(process.umask()).toBe(before);
  await opening;
  expect(statSync(join(folder, "s.sock")).mode & 0o777).toBe(0o600);
});
