import { expect, test } from "vitest";
import { assertSpeaksFor, enlist, mayNameNode, ownUnits } from "./node-callers.ts";
import type { Caller } from "./route.ts";

const ports = { nodes: { book: { row: (nodeId: string) => (nodeId.startsWith("known") ? {} : undefined) } } } as never;
const refusalOf = (caller: Partial<Caller>, nodeIds: readonly string[]): unknown => {
  try {
    assertSpeaksFor(caller as Caller, nodeIds, ports);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};

test("one name that is not the caller's to use refuses all of them, and says whose it is and what to do", () => {
  const node = { scope: "worker", nodeId: "known-1" } as const;
  expect(refusalOf(node, ["known-1", "known-1"])).toBeUndefined();
  expect(refusalOf(node, [])).toBeUndefined();
  expect(refusalOf(node, ["known-1", "known-2"])).toMatchObject({
    code: "NOT_YOUR_NODE",
    message: "you cannot speak for node 'known-2'",
    hint: "Name your own node_id, known-1.",
  });
  expect(refusalOf({ scope: "worker" }, ["stranger", "known-2"])).toMatchObject({
    code: "NOT_YOUR_NODE",
    hint: "That name belongs to another node or token. Choose another name.",
  });
  expect(refusalOf(node, ["x".repeat(101)])).toMatchObject({
    message: `you cannot speak for node '${"x".repeat(100)}'`,
  });
});

test("a unit of this process is one by its name, alone or with our node, and a unit elsewhere is none", () => {
  const isOurs = ownUnits({ router: { nodeId: "n1" }, daemons: { holds: () => new Set(["sweeper"]) } } as never);
  for (const name of ["sweeper", "sweeper@", "sweeper@n1", "sweeper@n1/main"]) expect(isOurs(name), name).toBe(true);
  for (const name of ["sweeper@n2", "sweeper@n11", "sweeper@n2/main", "other", "other@n1", "", "@n1"])
    expect(isOurs(name), name).toBe(false);
});

test("a worker with a token speaks for names of its own token, for free ones, and for none of another's", () => {
  const guest = (token_id: string, state = "online") => ({ public_key: null, token_id, state });
  const rows: Record<string, object> = {
    mine: guest("t1"),
    theirs: guest("t2"),
    left: guest("t2", "left"),
    revoked: guest("t3"),
    keyed: { public_key: "key", token_id: "t1", state: "online" },
    home: { public_key: null, token_id: null, state: "online" },
  };
  const book = { row: (nodeId: string) => rows[nodeId] };
  const own = { nodes: { book }, tokens: { isActive: (id: string) => id !== "t3" } } as never;
  const may = (caller: Partial<Caller>, name: string) => mayNameNode(caller as Caller, name, own);
  const worker = { scope: "worker", tokenId: "t1" } as const;
  expect(["mine", "left", "revoked", "stranger"].filter((name) => may(worker, name))).toEqual([
    "mine",
    "left",
    "revoked",
    "stranger",
  ]);
  expect(["theirs", "keyed", "home"].filter((name) => may(worker, name))).toEqual([]);
  // Who runs the cluster speaks for all; a node with a key for itself alone, even for a name that is free.
  for (const name of Object.keys(rows)) expect(may({ scope: "operator", nodeId: "mine" }, name), name).toBe(true);
  expect(may({ scope: "worker", nodeId: "keyed", tokenId: null }, "keyed")).toBe(true);
  expect(may({ scope: "worker", nodeId: "keyed", tokenId: null }, "stranger")).toBe(false);
});

test("who asks for work with a token is written down with what it has; who came otherwise is not", async () => {
  const enlisted: unknown[] = [];
  const own = { nodes: { book: { enlist: async (worker: unknown) => void enlisted.push(worker) } } } as never;
  const offer = { cpu: 4, gpu: 0, memory_gb: 8, gpu_memory_gb: 0, tags: [] };
  const caller = { tokenId: "t1", actor: "lab", from: "192.0.2.7" } as Caller;
  await enlist(caller, { node_id: "box", offer, kinds: ["selfplay"] }, own);
  await enlist(caller, { node_id: "box2", offer }, own);
  await enlist({ ...caller, tokenId: null }, { node_id: "box3", offer }, own);
  expect(enlisted).toEqual([
    {
      node_id: "box",
      tokenId: "t1",
      actor: "lab",
      address: "192.0.2.7",
      capabilities: { ...offer, kinds: ["selfplay"] },
    },
    { node_id: "box2", tokenId: "t1", actor: "lab", address: "192.0.2.7", capabilities: offer },
  ]);
});
