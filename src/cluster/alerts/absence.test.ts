import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AbsenceRule, builtinAbsenceRules, createWatches, type WatchRow } from "./absence.ts";

const rule = (over: Partial<AbsenceRule> = {}): AbsenceRule => ({
  name: "beat",
  event: "COORDINATOR_HEARTBEAT",
  by: ["coordinator_name", "node_id"],
  withinMs: 300_000,
  severity: "error",
  title: "silent",
  from: "first_seen",
  endedBy: [{ event: "DAEMON_STOPPED", by: ["daemon_name", "node_id"] }],
  ...over,
});
const beat = { coordinator_name: "u", node_id: "n1" };
/** Listens for so long, in steps of a second. */
const listen = (watches: ReturnType<typeof createWatches>, seconds: number) => {
  const told: string[] = [];
  for (let i = 1; i <= seconds; i += 1) {
    const { silent, back } = watches.pass(1_000);
    for (const { row } of silent) told.push(`${i} silent ${row.subject}`);
    for (const { row } of back) told.push(`${i} back ${row.subject}`);
  }
  return told;
};

describe("a watch", () => {
  test("misses nobody who was never there", () => {
    expect(listen(createWatches([rule()], [], 0), 1_000)).toEqual([]);
  });

  test("misses who was there once, once, and tells when it is back", () => {
    const watches = createWatches([rule()], [], 0);
    watches.see("COORDINATOR_HEARTBEAT", beat, 1);
    expect(listen(watches, 1_000)).toEqual(["300 silent u@n1"]);
    watches.see("COORDINATOR_HEARTBEAT", beat, 2);
    expect(listen(watches, 350)).toEqual(["1 back u@n1", "300 silent u@n1"]);
  });

  test("keeps subjects apart", () => {
    const watches = createWatches([rule()], [], 0);
    watches.see("COORDINATOR_HEARTBEAT", beat, 1);
    listen(watches, 200);
    watches.see("COORDINATOR_HEARTBEAT", { ...beat, node_id: "n2" }, 1);
    expect(listen(watches, 150)).toEqual(["100 silent u@n1"]);
  });

  test("does not take a goodbye for a loss, and closes what was open", () => {
    const watches = createWatches([rule()], [], 0);
    watches.see("COORDINATOR_HEARTBEAT", beat, 1);
    watches.see("DAEMON_STOPPED", { daemon_name: "u", node_id: "n1" }, 2);
    expect(listen(watches, 1_000)).toEqual([]);
    watches.see("COORDINATOR_HEARTBEAT", beat, 1);
    listen(watches, 400);
    watches.see("DAEMON_STOPPED", { daemon_name: "u", node_id: "n1" }, 2);
    expect(listen(watches, 10)).toEqual(["1 back u@n1"]);
  });

  test("that counts from the start misses what never came", () => {
    const watches = createWatches([rule({ by: [], from: "start", endedBy: [], withinMs: 60_000 })], [], 0);
    expect(listen(watches, 100)).toEqual(["60 silent "]);
  });

  test("does not count time in which nobody listened", () => {
    const watches = createWatches([rule()], [], 0);
    watches.see("COORDINATOR_HEARTBEAT", beat, 1);
    expect(watches.pass(3_600_000).silent).toEqual([]);
    expect(listen(watches, 290)).toEqual([]);
    expect(listen(watches, 10)).toEqual(["5 silent u@n1"]);
  });

  test("goes on after a restart where it was, with a moment for those who come back", () => {
    const before = createWatches([rule()], [], 0);
    before.see("COORDINATOR_HEARTBEAT", beat, 1);
    listen(before, 299);
    const { rows } = before.takeChanges();
    expect(listen(createWatches([rule()], rows, 9), 119)).toEqual([]);
    expect(listen(createWatches([rule()], rows, 9), 125)).toEqual(["120 silent u@n1"]);
  });

  test("does not raise again after a restart what it has raised", () => {
    const before = createWatches([rule()], [], 0);
    before.see("COORDINATOR_HEARTBEAT", beat, 1);
    listen(before, 400);
    const after = createWatches([rule()], before.takeChanges().rows, 9);
    expect(listen(after, 400)).toEqual([]);
    after.see("COORDINATOR_HEARTBEAT", beat, 1);
    expect(listen(after, 1)).toEqual(["1 back u@n1"]);
  });

  test("of a rule that is gone closes its alert and leaves no row", () => {
    const row: WatchRow = { rule: "user.old", subject: "x", seen_at: 1, quiet_ms: 5, raised: 1 };
    const watches = createWatches([rule()], [row], 0);
    expect(watches.pass(1).back).toMatchObject([{ row: { rule: "user.old", subject: "x" } }]);
    expect(watches.takeChanges()).toEqual({ rows: [], gone: [{ rule: "user.old", subject: "x" }] });
    expect(watches.size).toBe(0);
  });

  test("is kept for so many subjects and no more", () => {
    const watches = createWatches([rule()], [], 0);
    for (let i = 0; i < 2_000; i += 1) watches.see("COORDINATOR_HEARTBEAT", { ...beat, node_id: `n${i}` }, 1);
    expect(watches.size).toBe(1_000);
  });
});

test("silence and return alternate for each subject, whatever comes, over any restart", () => {
  const what = fc.oneof(
    fc.constantFrom("beat" as const, "stop" as const, "restart" as const),
    fc.integer({ min: 1, max: 200 }),
  );
  fc.assert(
    fc.property(fc.array(what, { maxLength: 60 }), (steps) => {
      let watches = createWatches([rule()], [], 0);
      const stored = new Map<string, WatchRow>();
      const save = () => {
        const { rows, gone } = watches.takeChanges();
        for (const { subject } of gone) stored.delete(subject);
        for (const row of rows) stored.set(row.subject, row);
      };
      let raised = false;
      const look = (seconds: number) => {
        for (const line of listen(watches, seconds)) {
          expect(line.includes("silent")).toBe(!raised);
          raised = !raised;
        }
      };
      for (const step of steps) {
        if (step === "beat") watches.see("COORDINATOR_HEARTBEAT", beat, 1);
        else if (step === "stop") watches.see("DAEMON_STOPPED", { daemon_name: "u", node_id: "n1" }, 1);
        else if (typeof step === "number") look(step);
        else {
          look(1);
          save();
          watches = createWatches([rule()], [...stored.values()], 0);
        }
      }
    }),
  );
});

test("the rules that every system has are sound", () => {
  for (const { by, endedBy } of builtinAbsenceRules) for (const end of endedBy) expect(end.by).toHaveLength(by.length);
});
