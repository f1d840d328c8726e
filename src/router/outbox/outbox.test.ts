import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { NODE, outboxFile } from "../../../test/support/outbox.ts";
import { canonicalJson, defined, type Json } from "../../kernel/index.ts";
import { defineTable } from "../index.ts";
import type { Outbox } from "./index.ts";

const file = () => outboxFile(onTestFinished);
const say = (outbox: Outbox, n: number, eventId?: string) =>
  outbox.publish(
    "DISK_CLEANUP_TRIGGERED",
    { node_id: NODE, bytes_freed: n, artifacts: 0, reason: "test" },
    { source: "test", ...defined({ eventId }) },
  );
const numbers = (outbox: Outbox) => outbox.next(1_000, 1e9).map(({ event }) => event.payload.bytes_freed);
/** The one query that proves that nothing vanished. */
const balance = (outbox: Outbox) => {
  const { kept, forwarded, discarded, waiting, refused } = outbox.status();
  return kept - forwarded - discarded - waiting - refused;
};
const counts = (outbox: Outbox) => {
  const { waiting, refused, kept, forwarded, discarded } = outbox.status();
  return { waiting, refused, kept, forwarded, discarded };
};
const levels = defineTable<string>("levels");

describe("keeping", () => {
  test("publish resolves when the event is in the file, whole and in order, and says that only the node has it", async () => {
    const { open, path } = file();
    const outbox = open();
    const kept = await say(outbox, 1);
    expect(kept).toMatchObject({ durability: "node", suppressed: null, nodeId: NODE, source: "test", seq: null });
    await say(outbox, 2);
    const other = new DatabaseSync(path, { readOnly: true });
    onTestFinished(() => other.close());
    expect(other.prepare("SELECT event_id, trace_id, payload FROM outbox ORDER BY seq").get()).toEqual({
      event_id: kept.eventId,
      trace_id: kept.traceId,
      payload: canonicalJson(kept.payload as Json),
    });
    expect(other.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const { durability: _, suppressed: __, forwarded: ___, ...event } = kept;
    expect(outbox.next(1, 1e9)).toMatchObject([{ seq: 1, event }]);
  });

  test("is the same after a restart, and goes on behind what was there", async () => {
    const { open } = file();
    const first = open();
    for (const n of [1, 2, 3]) await say(first, n);
    first.end();
    const second = open();
    await say(second, 4);
    expect(numbers(second)).toEqual([1, 2, 3, 4]);
    expect(balance(second)).toBe(0);
  });

  test("two processes on one file keep one order", async () => {
    const { open } = file();
    const [worker, command] = [open(), open()];
    for (let n = 0; n < 20; n += 1) await say(n % 2 === 0 ? worker : command, n);
    expect(numbers(worker)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(worker.status()).toMatchObject({ kept: 20, waiting: 20 });
  });

  test("an event of the same id is kept once", async () => {
    const outbox = file().open();
    await say(outbox, 1, "one");
    expect(await say(outbox, 1, "one")).toMatchObject({ suppressed: "event_id" });
    expect(counts(outbox)).toMatchObject({ waiting: 1, kept: 1 });
  });

  test.each([
    [
      "a payload that the catalog refuses",
      "DISK_CLEANUP_TRIGGERED",
      { node_id: NODE, bytes_freed: "much" },
      "INVALID_PAYLOAD",
    ],
    ["a name that nobody could have", "no such\nname", {}, "UNKNOWN_EVENT"],
    [
      "another node",
      "DISK_SPACE_LOW",
      { node_id: "n-other", level: "high", usage: 1, free_gb: 0, threshold: 1 },
      "NOT_YOUR_NODE",
    ],
    [
      "what only the coordinator knows",
      "COORDINATOR_HEARTBEAT",
      {
        coordinator_name: "health_manager",
        node_id: NODE,
        health: "running",
        handled_events: 1,
        failed_events: 0,
        uptime_seconds: 1,
      },
      "NOT_YOURS_TO_SAY",
    ],
    [
      "what never leaves its process",
      "SCHEDULER_REGISTERED",
      { config_key: "hex8_2p", scheduler: "s", temperature: 1 },
      "EVENT_NOT_FORWARDED",
    ],
  ])("does not keep %s", async (_, name, payload, code) => {
    const outbox = file().open();
    await expect(outbox.publish(name, payload)).rejects.toMatchObject({ code });
    expect(outbox.status().kept).toBe(0);
  });

  test("a passing event is handed to whoever sends, and refused where nobody does", async () => {
    const { open } = file();
    const metrics = { node_id: NODE, metrics: { cpu_usage: 0.5 } };
    const sending = open();
    expect(await sending.publish("METRICS_UPDATED", metrics)).toMatchObject({ durability: "none" });
    expect(sending.takePassing()).toHaveLength(1);
    expect(sending.takePassing()).toEqual([]);
    await expect(open({ passing: "refused" }).publish("METRICS_UPDATED", metrics)).rejects.toMatchObject({
      code: "EVENT_NOT_KEPT",
    });
    expect(sending.status().kept).toBe(0);
  });

  test("of too many passing events the oldest are dropped, told and counted", async () => {
    const outbox = file().open();
    const first = await outbox.publish("METRICS_UPDATED", { node_id: NODE, metrics: {} });
    for (let n = 0; n < 256; n += 1) await outbox.publish("METRICS_UPDATED", { node_id: NODE, metrics: { n } });
    expect(await first.forwarded).toEqual({ durability: "none", sent: false });
    expect(outbox.lost.passing).toBe(1);
  });
});

describe("the bound", () => {
  test("refuses the newest in events, keeps all that was promised, and takes more when there is room", async () => {
    const outbox = file().open({ bounds: { maxEvents: 2, maxBytes: 1e9 } });
    await say(outbox, 1);
    await say(outbox, 2, "two");
    await expect(say(outbox, 3)).rejects.toMatchObject({ code: "OUTBOX_FULL", retryable: true });
    expect(await say(outbox, 2, "two")).toMatchObject({ suppressed: "event_id" });
    expect(numbers(outbox)).toEqual([1, 2]);
    expect(outbox.lost.turnedAway).toBe(1);
    const { seq, event } = outbox.next(1, 1e9)[0]!;
    const outcome = { durability: "cluster", seq: 9, suppressed: null } as const;
    await outbox.settle([{ seq, eventId: event.eventId, outcome }]);
    await say(outbox, 4);
    expect(numbers(outbox)).toEqual([2, 4]);
    expect(balance(outbox)).toBe(0);
  });

  test("counts bytes as well, and gives them back", async () => {
    const outbox = file().open({ bounds: { maxEvents: 1_000, maxBytes: 5_000 } });
    const big = (n: number) =>
      outbox.publish("ERROR", { component: `c${n}`, error: "x".repeat(1_000), severity: "error" });
    await big(1);
    await expect(big(2).then(() => big(3))).rejects.toMatchObject({ code: "OUTBOX_FULL" });
    expect(outbox.status().bytes).toBeGreaterThan(3_000);
    for (const { seq, event } of outbox.next(10, 1e9))
      await outbox.settle([
        { seq, eventId: event.eventId, outcome: { durability: "cluster", seq: 1, suppressed: null } },
      ]);
    expect(outbox.status().bytes).toBe(0);
  });

  test("a batch has at least one event and otherwise no more bytes than it may", async () => {
    const outbox = file().open();
    for (const n of [1, 2, 3]) await say(outbox, n);
    expect(outbox.next(10, 1)).toHaveLength(1);
    const [{ bytes }] = outbox.store.read<{ bytes: number }>("SELECT bytes FROM outbox") as [{ bytes: number }];
    expect(outbox.next(10, bytes * 2)).toHaveLength(2);
    expect(outbox.next(2, 1e9)).toHaveLength(2);
  });
});

describe("work of a unit", () => {
  test("changes its rows and says its words in one commit", async () => {
    const { open } = file();
    const outbox = open();
    let after = 0;
    await outbox.transact({ source: "unit@n" }, ({ rows, emit, afterCommit }) => {
      rows.put(levels, "disk", "high");
      emit("DISK_SPACE_LOW", { node_id: NODE, level: "high", usage: 0.9, free_gb: 1, threshold: 0.8 });
      emit("METRICS_UPDATED", { node_id: NODE, metrics: {} });
      afterCommit(() => {
        after += 1;
      });
    });
    expect(after).toBe(1);
    expect(outbox.next(9, 1e9).map(({ event }) => [event.eventType, event.source])).toEqual([
      ["DISK_SPACE_LOW", "unit@n"],
    ]);
    expect(outbox.takePassing().map(({ eventType }) => eventType)).toEqual(["METRICS_UPDATED"]);
    expect(outbox.store.read("SELECT value FROM state_rows")).toEqual([{ value: '"high"' }]);
  });

  test("that finds no room for its words changes nothing", async () => {
    const outbox = file().open({ bounds: { maxEvents: 1, maxBytes: 1e9 } });
    await say(outbox, 1);
    const work = outbox.transact({ source: "unit@n" }, ({ rows, emit }) => {
      rows.put(levels, "disk", "high");
      emit("DISK_SPACE_LOW", { node_id: NODE, level: "high", usage: 0.9, free_gb: 1, threshold: 0.8 });
    });
    await expect(work).rejects.toMatchObject({ code: "OUTBOX_FULL" });
    expect(outbox.store.read("SELECT value FROM state_rows")).toEqual([]);
    expect(numbers(outbox)).toEqual([1]);
  });
});

describe("a crash at the commit", () => {
  test("before it leaves nothing, and publish has not resolved", async () => {
    const { open } = file();
    const dying = open({ carry: () => {} });
    let resolved = false;
    void say(dying, 1).then(() => {
      resolved = true;
    });
    await new Promise<void>((resolve) => setImmediate(resolve));
    dying.end();
    expect(resolved).toBe(false);
    expect(counts(open())).toEqual({ waiting: 0, refused: 0, kept: 0, forwarded: 0, discarded: 0 });
  });

  test("after it leaves the event, also if nobody was told", async () => {
    const { open } = file();
    // The batch is applied; the answer never comes.
    const dying = open({ carry: (apply) => void apply() });
    void say(dying, 1);
    await new Promise<void>((resolve) => setImmediate(resolve));
    dying.end();
    const next = open();
    expect(numbers(next)).toEqual([1]);
    expect(balance(next)).toBe(0);
  });
});

describe("what was refused", () => {
  const refuse = async (outbox: Outbox) => {
    const { seq, event } = outbox.next(1, 1e9)[0]!;
    await outbox.settle([
      { seq, eventId: event.eventId, outcome: { durability: "refused", code: "INVALID_PAYLOAD", reason: "no" } },
    ]);
    return event.eventId;
  };

  test("is set aside with the reason, over a restart, and those behind it go on", async () => {
    const { open } = file();
    const first = open();
    const promised = await say(first, 1);
    await say(first, 2);
    const id = await refuse(first);
    expect(await promised.forwarded).toEqual({ durability: "refused", code: "INVALID_PAYLOAD", reason: "no" });
    first.end();
    const outbox = open();
    expect(numbers(outbox)).toEqual([2]);
    expect(outbox.refused(10)).toMatchObject([{ event_id: id, code: "INVALID_PAYLOAD", reason: "no" }]);
    expect(counts(outbox)).toEqual({ waiting: 1, refused: 1, kept: 2, forwarded: 0, discarded: 0 });
  });

  test("goes to the end of the line when a person says so, and away only then", async () => {
    const outbox = file().open();
    for (const n of [1, 2, 3]) await say(outbox, n);
    const id = await refuse(outbox);
    await refuse(outbox);
    expect(await outbox.retry(id)).toBe(1);
    expect(numbers(outbox)).toEqual([3, 1]);
    await say(outbox, 4);
    expect(numbers(outbox)).toEqual([3, 1, 4]);
    expect(await outbox.discard()).toBe(1);
    expect(await outbox.discard()).toBe(0);
    expect(counts(outbox)).toEqual({ waiting: 3, refused: 0, kept: 4, forwarded: 0, discarded: 1 });
    expect(balance(outbox)).toBe(0);
    expect(outbox.store.read("SELECT sum(bytes) - (SELECT bytes FROM outbox_books) AS d FROM outbox")).toEqual([
      { d: 0 },
    ]);
  });
});
