import { generateKeyPairSync, hash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { nodeIdOf, nodeKeyOf } from "./identity.ts";
import { findNode, healthyNodesOf, nodeHealthOf } from "./node-health.ts";
import { createRefusals } from "./refusals.ts";
import { createReplayWindow, WINDOW } from "./replay-window.ts";
import { isSignedBy, type NodeClaim, readNodeHeader, signRequest } from "./signature.ts";
import { NODE_STATES, nextGuestState, nextState } from "./states.ts";
import { nodeTimingDefaults as timing } from "./timing.ts";
import { assertProtocol, isDeprecated } from "./versions.ts";

const keys = () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { privateKey, raw: publicKey.export({ format: "der", type: "spki" }).subarray(-32) };
};

describe("the identity of a node", () => {
  test("is its key, whatever it calls itself", () => {
    const { raw } = keys();
    expect(nodeIdOf(raw)).toBe(`n${hash("sha256", raw, "hex").slice(0, 16)}`);
    expect(nodeKeyOf(raw.toString("base64")).raw).toEqual(raw);
    for (const bad of ["", "x", raw.subarray(1).toString("base64"), `${raw.toString("base64")}!`])
      expect(() => nodeKeyOf(bad)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST" }));
  });
});

describe("a signature", () => {
  const { privateKey, raw } = keys();
  const { key } = nodeKeyOf(raw.toString("base64"));
  const claim: NodeClaim = {
    nodeId: nodeIdOf(raw),
    incarnation: 3,
    counter: 17,
    issuedAt: 1_700_000_000.25,
    boot: "b1",
  };
  const request = { method: "POST", path: "/v1/work/claim?x=1", bodySha256: hash("sha256", "{}", "hex") };

  test("says all that it covers, and stands for exactly that", () => {
    const read = readNodeHeader(signRequest(claim, request, privateKey));
    expect(read).toMatchObject(claim);
    expect(isSignedBy(key, read, request)).toBe(true);
    for (const other of [
      { ...request, method: "GET" },
      { ...request, path: "/v1/work/claim?x=2" },
      { ...request, bodySha256: hash("sha256", "[]", "hex") },
    ])
      expect(isSignedBy(key, read, other)).toBe(false);
    const header = signRequest(claim, request, privateKey);
    for (const [from, to] of [
      ["incarnation=3", "incarnation=4"],
      ["counter=17", "counter=18"],
      ["issued_at=1700000000.25", "issued_at=1700000001"],
      ["boot=b1", "boot=b2"],
      [claim.nodeId, nodeIdOf(keys().raw)],
    ] as const)
      expect(isSignedBy(key, readNodeHeader(header.replace(from, to)), request), to).toBe(false);
    expect(isSignedBy(nodeKeyOf(keys().raw.toString("base64")).key, read, request)).toBe(false);
  });

  test("in a header of any other shape is refused and breaks nothing", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(() => readNodeHeader(text)).toThrow(expect.objectContaining({ code: "BAD_SIGNATURE" }));
      }),
    );
  });
});

describe("the window of numbers that were seen", () => {
  test("takes each number once, in any order within its size, like a set would", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 300 }), (counters) => {
        const size = 64;
        const window = createReplayWindow(size);
        const seen = new Set<number>();
        let newest = -1;
        for (const counter of counters) {
          const expected = counter > newest - size && !seen.has(counter);
          expect(window.take(counter), `${counter} after ${newest}`).toBe(expected);
          if (expected) seen.add(counter);
          newest = Math.max(newest, counter);
        }
      }),
    );
  });

  test("lets requests overtake each other by a thousand, and forgets what is older", () => {
    const window = createReplayWindow();
    expect(window.take(5_000)).toBe(true);
    expect(window.take(5_000 - WINDOW + 1)).toBe(true);
    expect(window.take(5_000 - WINDOW)).toBe(false);
    expect(window.take(5_000 - WINDOW + 1)).toBe(false);
    expect(window.take(1_000_000)).toBe(true);
    expect(window.take(999_999)).toBe(true);
  });
});

describe("the state of a node", () => {
  const listened = timing.startupGraceMs + 1_000_000;
  const at = (silentMs: number | null, more = {}) =>
    nextState({ state: "online", silentMs, listenedMs: listened, left: false, ...more }, timing);

  test("follows its silence: online, suspect, dead", () => {
    expect([0, timing.suspectMs, timing.suspectMs + 1, timing.deadMs, timing.deadMs + 1].map((ms) => at(ms))).toEqual([
      "online",
      "online",
      "suspect",
      "suspect",
      "dead",
    ]);
  });

  test("of a worker with a token is online while it speaks, and left when it does not: no alarm", () => {
    const guest = (silentMs: number | null, listenedMs = listened) =>
      nextGuestState({ state: "online", silentMs, listenedMs }, timing);
    expect([0, timing.deadMs, timing.deadMs + 1].map((ms) => guest(ms))).toEqual(["online", "online", "left"]);
    // After a start it has as long to speak.
    expect([guest(null, timing.deadMs), guest(null, timing.deadMs + 1)]).toEqual(["online", "left"]);
  });

  test("is not judged in the time of grace after a start", () => {
    for (const state of NODE_STATES)
      for (const silentMs of [null, timing.deadMs + 1])
        if (state === "online" || state === "suspect")
          expect(at(silentMs, { state, listenedMs: timing.startupGraceMs - 1 })).toBe(state);
    expect(at(null, { listenedMs: timing.startupGraceMs })).toBe("suspect" as const);
    expect(at(null, { listenedMs: timing.startupGraceMs + 1 })).toBe("dead");
  });

  test("of one that never came stays joined, and of one that was gone changes only when it is heard", () => {
    for (const state of ["joined", "dead", "left"] as const) {
      expect(at(null, { state })).toBe(state);
      expect(at(1, { state })).toBe("online");
    }
    expect(at(1, { left: true })).toBe("left");
  });
});

describe("versions", () => {
  test("of an older protocol are refused, older minor ones are deprecated", () => {
    assertProtocol(1);
    for (const protocol of [0, 2])
      expect(() => assertProtocol(protocol)).toThrow(expect.objectContaining({ code: "PROTOCOL_REFUSED" }));
    expect(["0.1.0", "0.2.9", "1.0.0", "0.0.9", "git"].map((version) => isDeprecated(version, "0.2.0"))).toEqual([
      true,
      false,
      false,
      true,
      false,
    ]);
  });
});

describe("refusals", () => {
  test("are news when they repeat, once for each episode; a few are not", () => {
    const clock = virtualClock();
    const pass = (ms: number) => {
      clock.after(ms, () => {});
      clock.step();
    };
    const refusals = createRefusals(clock, { max: 3, withinMs: 1_000, quietMs: 5_000 });
    const note = (code = "BAD_SIGNATURE") => refusals.note({ code, from: "192.0.2.1" });
    note();
    note();
    expect(refusals.news()).toEqual([]);
    note();
    expect(refusals.news()).toEqual([{ code: "BAD_SIGNATURE", count: 3, sources: ["192.0.2.1"] }]);
    note();
    expect(refusals.news()).toEqual([]);
    for (let i = 0; i < 10; i += 1) note("JOB_NOT_FOUND");
    expect(refusals.news()).toEqual([]);
    pass(6_000);
    for (let i = 0; i < 3; i += 1) note();
    expect(refusals.news()).toMatchObject([{ count: 7 }]);
    pass(6_000);
    for (let i = 0; i < 3; i += 1) {
      note();
      pass(600);
    }
    expect(refusals.news()).toEqual([]);
  });
});

test("refusals are counted to the moment, by who came from where, and are news again after ten quiet minutes", () => {
  const clock = virtualClock();
  const pass = (ms: number) => {
    clock.after(ms, () => {});
    clock.step();
  };
  const refusals = createRefusals(clock);
  const note = (from: string, nodeId?: string) => refusals.note({ code: "UNKNOWN_NODE", from, nodeId });
  for (const n of [1, 2, 3, 4]) note(`192.0.2.${n}`);
  pass(60_000);
  expect(refusals.news()).toEqual([]);
  note("192.0.2.5", "n5");
  note("192.0.2.6");
  pass(1);
  // The five of the last minute are one too few by now: the first of them is too old.
  expect(refusals.news()).toEqual([]);
  for (const n of [7, 8, 9]) note(`192.0.2.${n}`);
  const sources = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "n5 at 192.0.2.5"];
  expect(refusals.news()).toEqual([{ code: "UNKNOWN_NODE", count: 9, sources }]);
  pass(600_000);
  for (let n = 0; n < 5; n += 1) note("192.0.2.1");
  expect(refusals.news()).toEqual([]);
  pass(600_001);
  for (let n = 0; n < 5; n += 1) note("192.0.2.1");
  expect(refusals.news()).toEqual([{ code: "UNKNOWN_NODE", count: 19, sources: ["192.0.2.1"] }]);
});

test("who speaks a protocol that is not spoken here is told which are, and who has to be upgraded", () => {
  const refusalOf = (protocol: number): unknown => {
    try {
      return assertProtocol(protocol);
    } catch (thrown) {
      return thrown;
    }
  };
  const told = { status: 426, showsDetails: true, details: { current: 1, least: 1 } };
  expect(refusalOf(0)).toMatchObject({
    ...told,
    message: "this coordinator speaks protocol 1 to 1, the node 0",
    hint: "Install the coordinator's version of ringrift on the node.",
  });
  expect(refusalOf(2)).toMatchObject({ ...told, hint: "Upgrade the coordinator first." });
});

test("a version is older by its first two numbers alone, with or without a v", () => {
  const older = (node: string, coordinator: string) => isDeprecated(node, coordinator);
  expect(older("1.9.0", "2.0.0")).toBe(true);
  expect(older("2.0.0", "1.9.0")).toBe(false);
  expect(older("v1.2.0", "1.10.0")).toBe(true);
  expect(older("1.10.9", "v1.10.0")).toBe(false);
  expect([older("1.2.0", "git"), older("x1.2.0", "2.0.0"), older("1", "2.0")]).toEqual([false, false, false]);
});

describe("the health of a node", () => {
  const node = (state: (typeof NODE_STATES)[number], more: object = {}) =>
    ({ node_id: `n-${state}`, label: `box-${state}`, state, cordoned: null, draining: false, ...more }) as const;

  test("is that of its signs of life, in the words of the Python system", () => {
    expect(NODE_STATES.map((state) => nodeHealthOf({ state }))).toEqual([
      "unknown",
      "healthy",
      "degraded",
      "offline",
      "retired",
    ]);
  });

  test("and who gets work are two things: neither a cordoned nor a draining one does", () => {
    const nodes = NODE_STATES.map((state) => node(state));
    expect(healthyNodesOf(nodes)).toEqual(["n-online"]);
    expect(healthyNodesOf([node("online", { cordoned: { by: "ann" } })])).toEqual([]);
    expect(healthyNodesOf([node("online", { draining: true })])).toEqual([]);
  });

  test("is asked for by id or label; one that is not there is named, cut short", () => {
    const nodes = [node("online"), node("dead")];
    expect(findNode(nodes, "n-dead")).toBe(nodes[1]);
    expect(findNode(nodes, "box-online")).toBe(nodes[0]);
    expect(() => findNode(nodes, "x".repeat(101))).toThrow(
      expect.objectContaining({ code: "NODE_NOT_FOUND", message: `there is no node '${"x".repeat(100)}'` }),
    );
  });
});
