import { describe, expect, it } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { createPaint } from "./paint.ts";
import { asCommands, type WhyReport, whyLines } from "./why.command.ts";

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
  since: NOW - 30,
  hint: "'ringrift why event_router'",
};

const report = (gates: WhyReport["gates"], verdict: string): WhyReport => ({
  subject: "auto_sync",
  kind: "daemon",
  verdict,
  since: NOW - 60,
  gates,
});
const lines = (given: WhyReport, width = 100) => whyLines(given, { paint: createPaint(false), width, clock });

describe("the chain of gates", () => {
  it("shows each that opens on one line", () => {
    const gates = [passed("wanted", "yes"), passed("lag", 0), passed("registered", "")];
    expect(lines(report(gates, "auto_sync runs and is well"))).toEqual([
      "auto_sync (daemon): auto_sync runs and is well, since 1 min",
      "  ├─ ✓ wanted  yes",
      "  ├─ ✓ lag  0",
      "  └─ ✓ registered",
    ]);
  });

  it("shows of one that does not what is, what must be, since when and what to do", () => {
    expect(lines(report([passed("wanted", "yes"), closed, passed("lag", 0)], "auto_sync does not run"))).toEqual([
      "auto_sync (daemon): auto_sync does not run, since 1 min",
      "  ├─ ✓ wanted  yes",
      "  ├─ ✗ dependency: event_router",
      "  │    is       failed",
      "  │    must be  running",
      "  │    since    30.0 s",
      "  │    do       'ringrift why event_router'",
      "  └─ ✓ lag  0",
    ]);
  });

  it("says in commands what the process says in requests", () => {
    expect(asCommands("Start it: POST /v1/daemons/event_router/start.")).toBe(
      "Start it: 'ringrift daemons start event_router'.",
    );
    expect(asCommands("'/v1/units' lists them; see GET /v1/daemon-actions")).toBe(
      "'ringrift daemons list' lists them; see 'ringrift daemons show'",
    );
  });

  it.each([60, 80, 120])("keeps within %i columns, whatever it is told", (width) => {
    const long = { ...closed, actual: "word ".repeat(60), hint: "\u001b[2J ".repeat(60), required: { least: 1 } };
    const drawn = lines(report([passed("x", "y".repeat(300)), long], "no"), width);
    for (const line of drawn) expect(line.length, line).toBeLessThanOrEqual(width);
    expect(drawn.join("")).not.toContain("\u001b");
  });
});
