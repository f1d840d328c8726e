import { describe, expect, it } from "vitest";
import { causeOf } from "../../daemons/index.ts";
import { virtualClock } from "../../kernel/index.ts";
import { createPaint } from "../cli/paint.ts";
import { whyLines } from "./command.ts";
import type { Why } from "./wire.ts";

const clock = virtualClock();
const NOW = clock.now() / 1_000;

const passed = (gate: string, actual: unknown) => ({
  gate,
  passed: true,
  actual,
  required: actual,
  since: null,
  hint: null,
});
const closed = {
  gate: "dependency: event_router",
  passed: false,
  actual: "failed",
  required: "running",
  since: (NOW - 30) * 1_000,
  hint: "'ringrift why event_router'",
};

const report = (gates: Why["gates"], verdict: string): Why => ({
  subject: "auto_sync",
  kind: "daemon",
  verdict,
  since: (NOW - 60) * 1_000,
  cause: null,
  gates,
});
const lines = (given: Why, width = 100) => whyLines(given, { paint: createPaint(false), width, clock });

describe("the chain of gates", () => {
  it("shows each that opens on one line", () => {
    const gates = [passed("wanted", "yes"), passed("lag", 0), passed("registered", "")];
    expect(lines(report(gates, "auto_sync runs and is well"))).toEqual([
      "auto_sync (daemon): auto_sync runs and is well, for 1 min",
      "  ├─ ✓ wanted  yes",
      "  ├─ ✓ lag  0",
      "  └─ ✓ registered",
    ]);
  });

  it("shows of one that does not what is, what must be, since when and what to do", () => {
    expect(lines(report([passed("wanted", "yes"), closed, passed("lag", 0)], "auto_sync does not run"))).toEqual([
      "auto_sync (daemon): auto_sync does not run, for 1 min",
      "  ├─ ✓ wanted  yes",
      "  ├─ ✗ dependency: event_router",
      "  │    is       failed",
      "  │    must be  running",
      "  │    since    30.0 s",
      "  │    do       'ringrift why event_router'",
      "  └─ ✓ lag  0",
    ]);
  });

  it.each([
    ["start", "Start it: 'ringrift daemons start event_router'."],
    ["list", "Its recent errors are in 'ringrift daemons list'."],
    [
      "show",
      "See what was done with it: 'ringrift daemons show event_router'. See its log: 'ringrift logs --unit event_router'.",
    ],
    ["something_newer", "POST /v1/something"],
  ])("says in commands what the process advises: %s", (action, words) => {
    const gate = { ...closed, hint: "POST /v1/something", advice: { action, subject: "event_router" } };
    expect(
      lines(report([gate], "no"), 200)
        .join(" ")
        .replaceAll(/\s+/g, " "),
    ).toContain(`do ${words}`);
  });

  it("names the root first, with what to do and the way there", () => {
    const because = ["othello6_2p", "selfplay", "w17", "box2"].map((subject) => ({ kind: "", subject, what: "" }));
    const cause = causeOf("bad", "node_short_of_disk", "box2", "box2 gets no work: its disk is 97 % in use", {
      advice: { action: "free_disk", subject: "box2" },
      because,
    });
    expect(lines({ ...report([passed("selfplay", "running")], cause.what), cause }, 120).slice(1, 4)).toEqual([
      "  do       Free some space on the disk of box2; it then continues by itself. 'ringrift doctor' there shows more.",
      "  path     othello6_2p > selfplay > w17 > box2",
      "  └─ ✓ selfplay  running",
    ]);
  });

  it("draws no cross on what is on its way", () => {
    const gate = { ...closed, gate: "selfplay_orchestrator: games", actual: 12, required: 32, in_progress: true };
    expect(lines(report([gate], "at work")).at(-1)).toBe("  └─ · selfplay_orchestrator: games  12 of 32");
    const told = { ...gate, actual: "12", required: "32" };
    expect(lines(report([told], "at work")).at(-1)).toBe("  └─ · selfplay_orchestrator: games  12 of 32");
  });

  it("says what is needed where it cannot be counted", () => {
    const gate = { ...closed, gate: "training", actual: "1 job waits", required: "a worker", in_progress: true };
    expect(lines(report([gate], "at work")).at(-1)).toBe("  └─ · training  1 job waits; needed: a worker");
  });

  it.each([60, 80, 120])("keeps within %i columns, whatever it is told", (width) => {
    const long = { ...closed, actual: "word ".repeat(60), hint: "\u001b[2J ".repeat(60), required: { least: 1 } };
    const drawn = lines(report([passed("x", "y".repeat(300)), long], "no"), width);
    for (const line of drawn) expect(line.length, line).toBeLessThanOrEqual(width);
    expect(drawn.join("")).not.toContain("\u001b");
  });
});
