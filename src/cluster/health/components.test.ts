import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NodeView } from "../nodes/node-view.ts";
import { breakerState, closedBreaker, failed, breakerDefaults as policy, worked } from "./component-breaker.ts";
import { type ComponentFacts, type ComponentWork, judgeComponents, judgeNodes } from "./components.ts";

const MINUTE = 60_000;
const unit = (over: Partial<ComponentWork> = {}): ComponentWork => ({
  component: "u",
  everyMs: 10_000,
  lastWorkAt: 0,
  health: "running",
  message: "",
  heldBack: false,
  ...over,
});
const facts = (over: Partial<ComponentFacts> = {}): ComponentFacts => ({
  now: 10 * MINUTE,
  startedAt: 0,
  work: [],
  beats: new Map(),
  records: [],
  critical: new Set(["u"]),
  ...over,
});
const bad = (over: Partial<ComponentFacts>) => judgeComponents(facts(over)).map((each) => each.bad);

describe("a component", () => {
  test("whose loop did a round before its deadline does its work", () => {
    expect(bad({ work: [unit({ lastWorkAt: 9.5 * MINUTE })] })).toEqual([null]);
  });

  test("whose loop stands still is bad, though its process is up and says that it runs", () => {
    expect(bad({ work: [unit({ lastWorkAt: 2 * MINUTE })] })).toEqual(["its loop has done no round for 480 s"]);
  });

  test("that never did a round is bad once its deadline is over, and not before", () => {
    expect(bad({ work: [unit({ lastWorkAt: null })] })).toEqual(["its loop has never done a round"]);
    expect(bad({ work: [unit({ lastWorkAt: null })], startedAt: 9.5 * MINUTE })).toEqual([null]);
  });

  test("that another unit keeps from running is not ill; one that a person stopped is", () => {
    const stopped = { health: "stopped", message: "paused: cpu is short", lastWorkAt: 2 * MINUTE } as const;
    expect(bad({ work: [unit({ ...stopped, heldBack: true })] })).toEqual([null]);
    expect(bad({ work: [unit(stopped)] })).toEqual(["paused: cpu is short"]);
  });

  const stopped = { health: "stopped", message: "not subscribed" } as const;
  const told = (work: readonly ComponentWork[]) =>
    judgeComponents(facts({ work })).map(({ component, bad, because }) => ({ component, bad, because }));

  test("that only waits for another one is bad because of it, and that one names those who wait", () => {
    const root = unit({ component: "root", health: "stopped", message: "paused: stopped" });
    const waiting = ["a", "b"].map((component) => unit({ component, ...stopped, waitsFor: "root" }));
    expect(told([root, ...waiting])).toEqual([
      { component: "a", bad: "not subscribed", because: "root" },
      { component: "b", bad: "not subscribed", because: "root" },
      { component: "root", bad: "paused: stopped; 2 daemons wait for it: a, b", because: null },
    ]);
  });

  test("that waits is folded into a root that says nothing itself, and speaks where its root is unknown here", () => {
    const waits = unit({ component: "a", ...stopped, waitsFor: "root" });
    expect(told([waits, unit({ component: "root", lastWorkAt: 10 * MINUTE })])).toMatchObject([
      { component: "a", because: "root" },
      { component: "root", bad: "it is not running; 1 daemon waits for it: a" },
    ]);
    expect(told([waits])).toEqual([{ component: "a", bad: "not subscribed", because: null }]);
  });

  test("that waits for one that is kept from running is not ill either", () => {
    const waits = unit({ component: "a", ...stopped, waitsFor: "root" });
    expect(told([waits, unit({ component: "root", ...stopped, heldBack: true })])).toMatchObject([
      { component: "a", bad: null },
      { component: "root", bad: null },
    ]);
  });

  test("with a slow loop has a later deadline", () => {
    expect(bad({ work: [unit({ everyMs: 5 * MINUTE, lastWorkAt: 1 })] })).toEqual([null]);
  });

  test("that only answers events has no deadline, but may say that it stopped", () => {
    expect(bad({ work: [unit({ everyMs: null, lastWorkAt: null })] })).toEqual([null]);
    expect(bad({ work: [unit({ everyMs: null, health: "stopped", message: "not subscribed" })] })).toEqual([
      "not subscribed",
    ]);
  });

  test("of another node is bad when it has not reported in time", () => {
    const beat = (at: number) => new Map([["u@n2", { at, health: "running" as const, message: "" }]]);
    expect(bad({ beats: beat(6 * MINUTE) })).toEqual([null]);
    expect(bad({ beats: beat(MINUTE) })).toEqual(["it has not reported for 540 s"]);
    expect(judgeComponents(facts({ beats: beat(MINUTE) }))[0]!.critical).toBe(true);
  });

  test("whose breaker is open is bad, and says what it failed with", () => {
    const state = { failures: [1], openedAt: 1, held: true };
    const record = { component: "x", state, critical: 1, errors: 7, last_error: "no disk", last_error_at: 1 };
    expect(judgeComponents(facts({ records: [record] }))).toMatchObject([
      { component: "x", breaker: "open", critical: true, errors: 7, bad: "it is out of work: no disk" },
    ]);
  });
});

test("a component that was given up and belongs to nobody is forgotten after a week, and one that belongs here is not", () => {
  const state = { failures: [1], openedAt: 1, held: true };
  const record = { component: "x", state, critical: 1, errors: 7, last_error: "no", last_error_at: 1 };
  const now = 8 * 24 * 60 * MINUTE;
  expect(judgeComponents(facts({ now, records: [record] }))).toEqual([]);
  const work = [unit({ component: "x", everyMs: null })];
  expect(judgeComponents(facts({ now, records: [record], work }))).toMatchObject([{ breaker: "open" }]);
});

const WELL: NodeView["health"] = { condition: "healthy", reason: null, since: null };
const ILL: NodeView["health"] = { condition: "unhealthy", reason: "its disk is full", since: 1 };

test("a node is missing when it is dead or told to be ill, and not when it left or never came", () => {
  const states = ["online", "suspect", "dead", "left", "joined", "online"] as const;
  const nodes = states.map((state, i) => ({ node_id: `n${i}`, label: `box${i}`, state, health: i === 5 ? ILL : WELL }));
  expect(judgeNodes(nodes, "n0")).toEqual({
    known: 4,
    online: 2,
    missing: ["box2", "box5"],
    late: ["box1"],
  });
});

test("the node that judges counts before its own first beat, and is missing when it is ill", () => {
  const judged = (health: typeof WELL, state?: "joined") =>
    judgeNodes(state === undefined ? [] : [{ node_id: "n0", label: "box", state, health }], "n0");
  expect(judged(WELL)).toEqual({ known: 1, online: 1, missing: [], late: [] });
  expect(judged(WELL, "joined")).toEqual({ known: 1, online: 1, missing: [], late: [] });
  expect(judged(ILL, "joined")).toEqual({ known: 1, online: 0, missing: ["box"], late: [] });
});

describe("the breaker of a component", () => {
  const failedAt = (times: readonly number[]) => times.reduce((b, at) => failed(b, at, false, policy), closedBreaker);

  test.each([
    ["four failures", [0, 1, 2, 3], 4, "closed"],
    ["five failures", [0, 1, 2, 3, 4], 5, "open"],
    ["five failures over an hour", [0, 15, 30, 45, 60].map((m) => m * MINUTE), 60 * MINUTE, "closed"],
    ["a minute after it opened", [0, 1, 2, 3, 4], MINUTE + 5, "half_open"],
    ["ten quiet minutes later", [0, 1, 2, 3, 4], 10 * MINUTE + 5, "closed"],
  ] as const)("with %s", (_what, times, now, state) => {
    expect(breakerState(failedAt(times), now, policy)).toBe(state);
  });

  test("opens again at once when the probe fails, and closes when it works", () => {
    const opened = failedAt([0, 1, 2, 3, 4]);
    expect(breakerState(failed(opened, MINUTE + 10, false, policy), MINUTE + 11, policy)).toBe("open");
    expect(worked(opened, MINUTE + 10, policy)).toEqual(closedBreaker);
    expect(worked(opened, 10, policy)).toEqual(opened);
  });

  test("that was given up stays open until somebody sets it right", () => {
    const held = failed(closedBreaker, 0, true, policy);
    expect(breakerState(held, 1_000 * MINUTE, policy)).toBe("open");
    expect(breakerState(failed(held, 5, false, policy), 1_000 * MINUTE, policy)).toBe("open");
    expect(worked(held, 5, policy)).toEqual(closedBreaker);
  });

  test("remembers a bounded number of failures, whatever comes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(400_000), fc.boolean()), { maxLength: 80 }), (steps) => {
        let breaker = closedBreaker;
        let now = 0;
        for (const [passed, ok] of steps) {
          now += passed;
          breaker = ok ? worked(breaker, now, policy) : failed(breaker, now, false, policy);
          expect(breaker.failures.length).toBeLessThanOrEqual(policy.threshold);
          if (breaker.openedAt !== null) expect(breaker.openedAt).toBeLessThanOrEqual(now);
        }
      }),
    );
  });
});
