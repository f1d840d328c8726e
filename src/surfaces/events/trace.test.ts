import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import type { AnyEvent } from "../../router/index.ts";
import type { DeliveryNote, EventNote } from "../cli/journal-view.port.ts";
import { createPaint } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { traceTree } from "./trace-tree.ts";
import { traceLines } from "./trace-view.ts";

const START = 1_700_000_000;

const note = (seq: number, parent: number | null, deliveries: readonly DeliveryNote[] = []): EventNote => ({
  event: {
    eventId: `event-${seq}`,
    eventType: `EVENT_${seq}`,
    parentEventId: parent === null ? null : `event-${parent}`,
    seq,
    source: "part",
    nodeId: "node-1",
    timestamp: START + seq / 100,
    traceId: "0".repeat(32),
  } as AnyEvent,
  deliveries,
});

const shape = (notes: readonly EventNote[]) =>
  traceTree(notes).map(({ note: { event }, depth, cut }) => `${"  ".repeat(depth)}${event.seq}${cut ? ` ${cut}` : ""}`);

const shell = (width: number): Shell =>
  ({ paint: createPaint(false), width, clock: virtualClock(START * 1_000) }) as Partial<Shell> as Shell;

describe("the tree of a trace", () => {
  it("hangs effects under their causes, in the order of the journal", () => {
    expect(shape([note(4, 1), note(1, null), note(3, 2), note(2, 1), note(5, 2)])).toEqual([
      "1",
      "  2",
      "    3",
      "    5",
      "  4",
    ]);
  });

  it("makes a root of an event whose cause is gone, and says so", () => {
    expect(shape([note(7, 3), note(8, 7), note(9, 4)])).toEqual(["7 parent_missing", "  8", "9 parent_missing"]);
  });

  it("cuts a circle at its oldest event", () => {
    expect(shape([note(1, 3), note(2, 1), note(3, 2), note(4, 4)])).toEqual(["1 cycle", "  2", "    3", "4 cycle"]);
  });

  it("holds every event exactly once, whatever the causes say", () => {
    const parents = fc.array(fc.option(fc.integer({ min: 0, max: 40 })), { maxLength: 40 });
    fc.assert(
      fc.property(parents, (list) => {
        const notes = list.map((parent, i) => note(i, parent));
        const lines = traceTree(notes);
        expect(lines.map(({ note: { event } }) => event.seq!).sort((a, b) => a - b)).toEqual(list.map((_, i) => i));
        const depthOf = new Map(lines.map(({ note: { event }, depth }) => [event.eventId, depth]));
        for (const {
          note: { event },
          depth,
          cut,
        } of lines)
          if (depth > 0) expect(depth).toBe(depthOf.get(event.parentEventId!)! + 1);
          else expect(cut === null).toBe(event.parentEventId === null);
      }),
    );
  });

  it("holds a chain of ten thousand, and prints it within the width", () => {
    const events = Array.from({ length: 10_000 }, (_, i) => note(i, i === 0 ? null : i - 1));
    expect(traceTree(events).at(-1)?.depth).toBe(9_999);
    const lines = traceLines({ trace_id: "0".repeat(32), events }, "event-9999", shell(100));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    expect(lines.at(-2)).toMatch(/\(9999 deep\) EVENT_9999 .*asked for$/);
  });
});

describe("a printed trace", () => {
  const trace = {
    trace_id: "0".repeat(32),
    events: [
      note(1, null, [
        { consumer: "trainer", state: "done" },
        { consumer: "exporter", state: "dead" },
      ]),
      note(2, 1, [{ consumer: "evaluator", state: "retrying" }]),
      note(3, 2),
      note(4, 1, [{ consumer: "evaluator", state: "owed" }]),
    ],
  };

  it("draws branches, offsets and the state of each delivery, and marks what was asked for", () => {
    expect(traceLines(trace, "event-2", shell(100)).slice(3)).toEqual([
      "EVENT_1  part  +0 ms  event-1",
      "│  ✓ trainer done  ✗ exporter dead",
      "├─ EVENT_2  part  +10 ms  event-2  ◀ asked for",
      "│  │  ↻ evaluator retrying",
      "│  └─ EVENT_3  part  +20 ms  event-3",
      "│        nobody is owed it",
      "└─ EVENT_4  part  +30 ms  event-4",
      "      … evaluator owed",
    ]);
  });

  it("keeps within the width of the terminal", () => {
    const many = Array.from({ length: 30 }, (_, i) => ({ consumer: `consumer-${i}`, state: "done" as const }));
    const wide = { ...trace, events: [note(1, null, many), note(2, 1, many)] };
    for (const line of traceLines(wide, "event-2", shell(60))) expect(line.length).toBeLessThanOrEqual(60);
  });
});
