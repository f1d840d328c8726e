import { describe, expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { type Log, silentLog, virtualClock } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { addToken, type TokenRow, takeJoinPlace, touchToken } from "../tables.ts";
import { createTokens } from "./tokens.ts";

function world(log: Log = silentLog()) {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  onTestFinished(() => store.close());
  const open = (over: Store = store) => createTokens(over, clock, log);
  return {
    clock,
    store,
    open,
    tokens: open(),
    rows: () => store.read<TokenRow>("SELECT * FROM api_tokens ORDER BY created_at"),
    pass: (ms: number) => {
      clock.after(ms, () => {});
      clock.step();
    },
  };
}
const wanted = { label: "box", scope: "worker" } as const;

test("a token is a secret that is told once; the store has its hash, and who made it when", async () => {
  const w = world();
  const made = await w.tokens.issue({ ...wanted, expiresInSeconds: 90 }, "ann");
  expect(made.token).toMatch(/^rrt_[0-9a-f]{16}_[\w-]{43}$/);
  const at = w.clock.now();
  const told = {
    id: made.id,
    label: "box",
    scope: "worker",
    created_at: at,
    created_by: "ann",
    expires_at: at + 90_000,
    revoked_at: null,
    last_used_at: null,
    join_uses: null,
    status: "active",
    kind: "token",
    path: null,
  };
  expect(made).toEqual({ ...told, token: made.token });
  expect(w.tokens.list()).toEqual([told]);
  expect(w.open().list()).toEqual([told]);
  expect(JSON.stringify(w.rows())).not.toContain(made.token.slice(21));
  expect(w.rows()[0]!.hash).toMatch(/^[0-9a-f]{64}$/);
});

test("opens up to the moment at which it expires, and not in it", async () => {
  const w = world();
  const { id, token } = await w.tokens.issue({ ...wanted, expiresInSeconds: 60 }, "ann");
  const lasts = await w.tokens.issue(wanted, "ann");
  const bearer = {
    kind: "token",
    path: null,
    id,
    label: "box",
    scope: "worker",
    expiresAt: w.clock.now() + 60_000,
    onlyJoins: false,
  };
  expect(w.tokens.verify(token)).toEqual(bearer);
  w.pass(59_999);
  expect(w.tokens.verify(token)).toEqual(bearer);
  w.pass(1);
  expect(w.tokens.verify(token)).toBeUndefined();
  expect(w.tokens.verify(lasts.token)).toMatchObject({ id: lasts.id, expiresAt: null });
  expect(w.tokens.list().map(({ id: each, status }) => [each, status])).toEqual(
    expect.arrayContaining([
      [id, "expired"],
      [lasts.id, "active"],
    ]),
  );
});

test("with one character more, less or another it opens nothing, and nor does the secret of another", async () => {
  const w = world();
  const [{ token }, other] = [await w.tokens.issue(wanted, "ann"), await w.tokens.issue(wanted, "ann")];
  const swapped = `${token.slice(0, 21)}${other.token.slice(21)}`;
  const turned = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  for (const text of [swapped, turned, `${token}A`, token.slice(0, -1), ` ${token}`, `x${token}`, token.slice(4), ""])
    expect(w.tokens.verify(text), text).toBeUndefined();
  expect(w.tokens.verify(token)).toBeDefined();
});

test("they are listed with the newest first", async () => {
  const w = world();
  const ids = [];
  for (let n = 0; n < 3; n += 1) {
    ids.unshift((await w.tokens.issue(wanted, "ann")).id);
    w.pass(1);
  }
  expect(w.tokens.list().map(({ id }) => id)).toEqual(ids);
});

describe("its last use", () => {
  test("is known at once, and written down at most once a minute, also after a restart", async () => {
    const w = world();
    const { token } = await w.tokens.issue(wanted, "ann");
    const start = w.clock.now();
    const used = async (tokens = w.tokens) => {
      expect(tokens.verify(token)).toBeDefined();
      // Commits come about one after the other: what was asked for before this one is written down.
      await w.store.commit([touchToken({ id: "nobody's", at: 0 })]);
      return [tokens.list()[0]!.last_used_at! - start, w.rows()[0]!.last_used_at! - start];
    };
    expect(await used()).toEqual([0, 0]);
    w.pass(59_999);
    expect(await used()).toEqual([59_999, 0]);
    expect(await used(w.open())).toEqual([59_999, 0]);
    w.pass(1);
    expect(await used()).toEqual([60_000, 60_000]);
  });

  test("that cannot be written down is said in the log, and refuses nobody", async () => {
    const said: string[] = [];
    const log = { ...silentLog(), warn: (text: string) => void said.push(text) } as Log;
    const w = world(log);
    const { token } = await w.tokens.issue(wanted, "ann");
    const broken = w.open({ ...w.store, commit: () => Promise.reject(new Error("the disk is full")) });
    expect(broken.verify(token)).toBeDefined();
    await Promise.resolve();
    await Promise.resolve();
    expect(said).toHaveLength(1);
  });
});

describe("one that is revoked", () => {
  test("opens nothing from then on, is told to those who listen, and says when and by whom", async () => {
    const w = world();
    const { id, token } = await w.tokens.issue(wanted, "ann");
    const [heard, gone]: string[][] = [[], []];
    w.tokens.onRevoked((each) => void heard!.push(each));
    w.tokens.onRevoked((each) => void gone!.push(each))();
    w.pass(5);
    expect(await w.tokens.revoke(id, "bob")).toMatchObject({ id, status: "revoked", revoked_at: w.clock.now() });
    expect(w.tokens.verify(token)).toBeUndefined();
    expect(w.open().verify(token)).toBeUndefined();
    expect([heard, gone]).toEqual([[id], []]);
    expect(w.rows()).toMatchObject([{ id, revoked_at: w.clock.now(), revoked_by: "bob" }]);
  });

  test("stays so, as it was the first time; one that nobody made is not found", async () => {
    const w = world();
    const { id } = await w.tokens.issue(wanted, "ann");
    const first = await w.tokens.revoke(id, "bob");
    const heard: string[] = [];
    w.tokens.onRevoked((each) => void heard.push(each));
    w.pass(5);
    expect(await w.tokens.revoke(id, "cid")).toEqual(first);
    expect(w.rows()).toMatchObject([{ revoked_at: first.revoked_at, revoked_by: "bob" }]);
    expect(heard).toEqual([]);
    await expect(w.tokens.revoke("nobody's", "bob")).rejects.toMatchObject({
      code: "TOKEN_NOT_FOUND",
      message: "there is no token 'nobody's'",
    });
  });
});

test("a token that is not for joining lets every node join, and takes no place", async () => {
  const w = world();
  const { id } = await w.tokens.issue(wanted, "ann");
  for (const node of ["a", "b", "c"]) await w.tokens.useToJoin(id, node);
  await w.tokens.useToJoin("nobody's", "a");
  expect(w.store.read("SELECT * FROM api_token_nodes")).toEqual([]);
});

test("a token for one node says so to the second one", async () => {
  const w = world();
  const { id } = await w.tokens.issue({ ...wanted, joinUses: 1 }, "ann");
  await w.tokens.useToJoin(id, "a");
  await expect(w.tokens.useToJoin(id, "b")).rejects.toMatchObject({
    code: "TOKEN_USED_UP",
    message: "this token let 1 join, which is its limit",
  });
});

describe("a thousand tokens", () => {
  /** As they lie in the store, all in one commit: the first ended first. */
  const thousand = async (w: ReturnType<typeof world>, expiresAt: (n: number) => number | null) => {
    const made = {
      ...wanted,
      hash: "0".repeat(64),
      created_at: 1,
      created_by: "ann",
      join_uses: null,
      kind: "token" as const,
      path: null,
    };
    const unused = { revoked_at: null, revoked_by: null, last_used_at: null };
    const ids = Array.from({ length: 1_000 }, (_, n) => `t${n}`);
    await w.store.commit(ids.map((id, n) => addToken({ id, ...made, ...unused, expires_at: expiresAt(n) })));
    return { ids, tokens: w.open() };
  };

  test("may be good at once; one that is revoked or expires leaves room for one", async () => {
    const w = world();
    const { tokens } = await thousand(w, (n) => (n === 0 ? w.clock.now() + 60_000 : null));
    const full = { code: "TOO_MANY_TOKENS", message: "there are 1000 tokens" };
    await expect(tokens.issue(wanted, "ann")).rejects.toMatchObject(full);
    await tokens.revoke("t1", "ann");
    await tokens.issue(wanted, "ann");
    await expect(tokens.issue(wanted, "ann")).rejects.toMatchObject(full);
    w.pass(60_000);
    await tokens.issue(wanted, "ann");
    await expect(tokens.issue(wanted, "ann")).rejects.toMatchObject(full);
  });

  test("that open nothing are remembered, those that ended last, here as in the store", async () => {
    const w = world();
    const { ids, tokens } = await thousand(w, (n) => 2 + n);
    const known = (of = tokens) =>
      of
        .list()
        .map(({ id }) => id)
        .toSorted();
    for (const id of ids.slice(0, 2)) await w.store.commit([takeJoinPlace({ id, nodeId: "a", at: 1, max: 1 })]);
    const good = await tokens.issue(wanted, "ann");
    expect(known()).toEqual([...ids, good.id].toSorted());
    await tokens.revoke(good.id, "ann");
    w.pass(1);
    const { id } = await tokens.issue(wanted, "ann");
    const left = [...ids.slice(1), good.id, id].toSorted();
    expect([known(), known(w.open())]).toEqual([left, left]);
    // Who joined with one is remembered with it, and no longer.
    expect(w.store.read("SELECT token_id FROM api_token_nodes")).toEqual([{ token_id: ids[1] }]);
  });
});

test("a token is meant by its id, the start of it, or a label that only one that is good has", async () => {
  const w = world();
  const [lab, box] = [await w.tokens.issue({ ...wanted, label: "lab" }, "ann"), await w.tokens.issue(wanted, "ann")];
  const other = await w.tokens.issue(wanted, "ann");
  await expect(w.tokens.revoke("box", "bob")).rejects.toMatchObject({
    code: "TOKEN_AMBIGUOUS",
    message: "2 tokens are called 'box'",
    hint: expect.stringContaining(box.id),
  });
  expect(await w.tokens.revoke(box.id.slice(0, 8), "bob")).toMatchObject({ id: box.id, status: "revoked" });
  // One of the two is good: the label is its own now.
  expect(await w.tokens.revoke("box", "bob")).toMatchObject({ id: other.id });
  await expect(w.tokens.revoke("box", "bob")).rejects.toMatchObject({
    code: "TOKEN_NOT_FOUND",
    hint: "'ringrift token list' lists them.",
  });
  await expect(w.tokens.revoke(lab.id.slice(0, 5), "bob")).rejects.toMatchObject({ code: "TOKEN_NOT_FOUND" });
  expect([lab.id, box.id, "nobody's"].map((id) => w.tokens.isActive(id))).toEqual([true, false, false]);
  expect(await w.tokens.revoke("lab", "bob")).toMatchObject({ id: lab.id });
});

test("one that expires is active until then", async () => {
  const w = world();
  const { id } = await w.tokens.issue({ ...wanted, expiresInSeconds: 60 }, "ann");
  expect(w.tokens.isActive(id)).toBe(true);
  w.pass(60_000);
  expect(w.tokens.isActive(id)).toBe(false);
});

test("a code is used up once, by one of those who come at the same time; what nobody made cannot be", async () => {
  const w = world();
  const code = await w.tokens.issue(wanted, "ann");
  expect(await Promise.all([w.tokens.spend(code.id, "bob"), w.tokens.spend(code.id, "eve")])).toEqual([true, false]);
  expect(w.tokens.verify(code.token)).toBeUndefined();
  expect(w.rows()).toMatchObject([{ revoked_by: "bob" }]);
  expect(await w.tokens.spend(code.id, "eve")).toBe(false);
  expect(await w.tokens.spend("nobody's", "eve")).toBe(false);
});

test("one whose use could not be written down is used up by the next try", async () => {
  const w = world();
  const { id } = await w.tokens.issue(wanted, "ann");
  let isFull = true;
  const commit: Store["commit"] = (...given) =>
    isFull ? Promise.reject(new Error("the disk is full")) : w.store.commit(...given);
  const tokens = w.open({ ...w.store, read: w.store.read.bind(w.store), commit } as Store);
  await expect(tokens.spend(id, "bob")).rejects.toThrow("the disk is full");
  isFull = false;
  expect(await tokens.spend(id, "bob")).toBe(true);
});

test("one for joining says so to whoever shows it", async () => {
  const w = world();
  const { token } = await w.tokens.issue({ ...wanted, joinUses: 1 }, "ann");
  expect(w.tokens.verify(token)).toMatchObject({ onlyJoins: true });
});
