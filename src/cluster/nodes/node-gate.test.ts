import { hash } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { CAPABILITIES, nodeKeys } from "../../../test/support/node-client.ts";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { storeModules } from "../../app/store-modules.ts";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import { createNodeGate } from "./node-gate.ts";
import { NodeRegistry } from "./node-registry.ts";
import { WINDOW } from "./replay-window.ts";
import { type NodeClaim, signRequest } from "./signature.ts";
import { nodeTimingDefaults as timing } from "./timing.ts";

const REQUEST = { method: "POST", path: "/v1/work/claim", bodySha256: hash("sha256", "{}", "hex") };
const SKEW_SECONDS = 300;
const LOCAL = `n${"0".repeat(16)}`;

async function world() {
  const clock = virtualClock();
  const store = memoryStore(storeModules, clock);
  onTestFinished(() => store.close());
  const nodes = new NodeRegistry({ store, clock, log: silentLog(), timing, localNodeId: LOCAL, version: "0.1.0" });
  const gate = createNodeGate({ nodes, clock, boot: "b1" });
  const join = async (label: string) => {
    const { privateKey, public_key } = nodeKeys();
    const request = { public_key, label, version: "0.1.0", protocol: 1, capabilities: CAPABILITIES };
    const { node_id: nodeId } = await nodes.join(request, { actor: "ann", address: "192.0.2.1" });
    return { nodeId, privateKey };
  };
  const { nodeId, privateKey } = await join("box");
  const usual: NodeClaim = { nodeId, incarnation: 1, counter: 1, issuedAt: clock.now() / 1_000, boot: "b1" };
  const header = (changes: Partial<NodeClaim> = {}, key = privateKey) =>
    signRequest({ ...usual, ...changes }, REQUEST, key);
  return {
    clock,
    nodes,
    nodeId,
    join,
    open: (changes: Partial<NodeClaim> = {}, key = privateKey) => gate.open(header(changes, key)),
    /** The code of the refusal; undefined for a request that counts. */
    said(changes: Partial<NodeClaim> = {}, request = REQUEST, key = privateKey): unknown {
      try {
        gate.open(header(changes, key)).prove(request);
        return undefined;
      } catch (thrown) {
        return thrown;
      }
    },
    edges: () => nodes.edges().filter(({ row }) => row.node_id === nodeId),
  };
}

describe("a node at the gate", () => {
  test("is taken for who it is, and heard, once it has proven what it asks for", async () => {
    const w = await world();
    const unproven = w.open();
    expect(unproven).toMatchObject({ nodeId: w.nodeId, label: "box" });
    expect(w.edges()).toEqual([]);
    unproven.prove(REQUEST);
    expect(w.edges()).toMatchObject([{ to: "online", silentMs: 0 }]);
    expect(w.nodes.list()[0]).toMatchObject({ last_seen_at: w.clock.now() });
  });

  test("is refused when nobody has joined under its name, or it was forgotten", async () => {
    const w = await world();
    const unknown = { code: "UNKNOWN_NODE", status: 401 };
    expect(w.said({ nodeId: "n0123456789abcdef" })).toMatchObject(unknown);
    await w.nodes.forget(w.nodeId);
    expect(w.said()).toMatchObject(unknown);
  });

  test("is refused when it says to be the coordinator's own, which has no key", async () => {
    const w = await world();
    await w.nodes.ensureLocal(CAPABILITIES);
    expect(w.said({ nodeId: LOCAL })).toMatchObject({
      code: "UNKNOWN_NODE",
      message: `no node '${LOCAL}' has joined here`,
      hint: "Join again: ringrift join <url> <token>.",
    });
  });

  test("is refused when it speaks to an earlier run, and is told the id of this one", async () => {
    const w = await world();
    expect(w.said({ boot: "b0" })).toMatchObject({
      code: "NODE_SESSION_STALE",
      message: "the coordinator has restarted: sign with its new boot id",
      status: 401,
      retryable: true,
      showsDetails: true,
      details: { boot: "b1" },
    });
  });

  test.each([-1, 1])("may have a clock that is five minutes off, and no more (%i)", async (sign) => {
    const w = await world();
    const now = w.clock.now() / 1_000;
    expect(w.said({ issuedAt: now + sign * SKEW_SECONDS })).toBeUndefined();
    const off = sign * (SKEW_SECONDS + 1);
    expect(w.said({ counter: 2, issuedAt: now + off })).toMatchObject({
      code: "CLOCK_SKEW",
      status: 401,
      message: `the clock of node ${w.nodeId} is ${off} s off; 300 s are allowed`,
      showsDetails: true,
      hint: "Set the clock of that machine (NTP).",
      details: { server_time: now },
    });
  });

  test("is refused when it signed something else, or another did", async () => {
    const w = await world();
    const message = `this request was not signed by node ${w.nodeId}`;
    const hint = "The key, the path, the body or a header differs from what was signed.";
    const bad = { code: "BAD_SIGNATURE", status: 401, message, hint };
    const other = await w.join("other");
    expect(w.said({}, { ...REQUEST, method: "GET" })).toMatchObject(bad);
    expect(w.said({}, { ...REQUEST, path: "/v1/work/complete" })).toMatchObject(bad);
    expect(w.said({}, { ...REQUEST, bodySha256: hash("sha256", "[]", "hex") })).toMatchObject(bad);
    expect(w.said({}, REQUEST, other.privateKey)).toMatchObject(bad);
    expect(w.edges(), "what was not proven is no sign of life").toEqual([]);
    expect(w.said(), "and spends no number").toBeUndefined();
  });

  test("says each thing once, in any order within the window", async () => {
    const w = await world();
    const replayed = { code: "REPLAYED_REQUEST", status: 401 };
    expect([5_000, 4_999, 5_000 - WINDOW + 1].map((counter) => w.said({ counter }))).toEqual(Array(3).fill(undefined));
    for (const counter of [5_000, 4_999, 5_000 - WINDOW, 0])
      expect(w.said({ counter })).toMatchObject({
        ...replayed,
        message: `request ${counter} of node ${w.nodeId} was here before`,
        hint: "Increase the counter with every request.",
      });
  });

  test("that was started again counts from the beginning, and its earlier life is not believed any more", async () => {
    const w = await world();
    expect(w.said({ counter: 7 })).toBeUndefined();
    expect(w.said({ counter: 7, incarnation: 2 })).toBeUndefined();
    expect(w.said({ counter: 8, incarnation: 1 })).toMatchObject({ code: "STALE_INCARNATION" });
    expect(w.said({ counter: 7, incarnation: 2 })).toMatchObject({ code: "REPLAYED_REQUEST" });
  });

  test("whose new life was only claimed by somebody else is still believed", async () => {
    const w = await world();
    const { privateKey } = await w.join("other");
    expect(w.said({ incarnation: 9 }, REQUEST, privateKey)).toMatchObject({ code: "BAD_SIGNATURE" });
    expect(w.said()).toBeUndefined();
  });
});
