import { describe, expect, it } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { createPaint } from "./paint.ts";
import type { DaemonRow } from "./status-report.ts";
import { whyLines } from "./why.command.ts";
import { whyDaemon } from "./why-daemon.ts";

const clock = virtualClock();
const NOW = clock.now() / 1_000;

const daemon = (rest: Partial<DaemonRow> = {}): DaemonRow => ({
  name: "auto_sync",
  state: "running",
  critical: false,
  wanted: true,
  depends_on: ["event_router"],
  paused: null,
  started_at: NOW - 60,
  uptime_seconds: 60,
  restarts: 0,
  max_restarts: 5,
  restart_at: null,
  last_error: null,
  permanently_failed: null,
  health: { status: "running", message: "" },
  conditions: [{ type: "Ready", status: "false", reason: "x", message: "", last_transition_at: NOW - 30 }],
  ...rest,
});

const lines = (row: DaemonRow, width = 100) =>
  whyLines(whyDaemon(row, NOW), { paint: createPaint(false), width, clock });

describe("why a daemon runs or does not", () => {
  it("shows every gate of one that runs", () => {
    expect(lines(daemon())).toEqual([
      "auto_sync (daemon): it runs, since 1 min",
      "  ├─ ✓ somebody wants it  wanted",
      "  ├─ ✓ nobody holds it  no hold",
      "  ├─ ✓ what it depends on is ready  event_router ready",
      "  ├─ ✓ it is not given up  0 restarts in the last hour",
      "  ├─ ✓ its wait before a restart is over  no wait",
      "  ├─ ✓ it is ready  running",
      "  └─ ✓ it is healthy  running",
    ]);
  });

  it.each<[string, Partial<DaemonRow>, string, RegExp]>([
    ["unwanted", { wanted: false, state: "stopped" }, "it does not run", /✗ somebody wants it\n.*is +not wanted\n/],
    [
      "held",
      { state: "stopped", paused: "the disk is moved" },
      "it does not run",
      /✗ nobody holds it\n.*is +the disk is moved\n.*must be +no hold/,
    ],
    [
      "waiting",
      { state: "stopped", paused: "waits for 'event_router': auto_sync -> event_router" },
      "it does not run",
      /✗ what it depends on is ready\n(.*\n)*.*do +'ringrift why event_router'$/,
    ],
    [
      "given up",
      { state: "failed", permanently_failed: "5 restarts did not help" },
      "it does not run",
      /must be +at most 5 restarts in the last hour\n/,
    ],
    [
      "restarting",
      { state: "restarting", restart_at: NOW + 12, last_error: "boom" },
      "it does not run",
      /is +12\.0 s left, after: boom/,
    ],
    [
      "starting",
      { state: "starting" },
      "it does not run",
      /✗ it is ready\n.*is +starting\n.*must be +running\n.*since +30\.0 s/,
    ],
    [
      "unwell",
      { state: "degraded", health: { status: "degraded", message: "3 of 5 failed" } },
      "it runs, but is not well",
      /✗ it is healthy\n.*is +3 of 5 failed/,
    ],
  ])("stops at the gate of one that is %s", (_, row, verdict, drawn) => {
    const report = whyDaemon(daemon(row), NOW);
    expect(report.verdict).toBe(verdict);
    expect(report.gates.filter(({ passed }) => !passed)).toHaveLength(1);
    expect(report.gates.at(-1)?.passed).toBe(false);
    expect(lines(daemon(row)).join("\n")).toMatch(drawn);
  });

  it.each([60, 80, 120])("keeps within %i columns", (width) => {
    const row = daemon({ state: "failed", permanently_failed: "word ".repeat(60) });
    for (const line of lines(row, width)) expect(line.length, line).toBeLessThanOrEqual(width);
  });
});
