import { describe, expect, it } from "vitest";
import { causeOf } from "../../../daemons/index.ts";
import { createPaint, logLine } from "../../../surfaces/commands/index.ts";
import { liveRegion } from "./live-region.ts";
import { measureLoopDelay } from "./loop-delay.ts";
import { watchdogMs } from "./sd-notify.ts";
import { liveLines, plainLine, type Sample, summaryLine, waitingLine } from "./up-view.ts";

const plain = createPaint(false);
const sample: Sample = {
  uptimeMs: 190_000,
  ready: 63,
  wanted: 64,
  events: 1_234_567,
  perSecond: 12_345.6,
  lag: 120,
  deadLetters: 3,
  alerts: 1,
  loopDelayMs: 1.4,
  troubles: [
    causeOf("bad", "daemon_given_up", "auto_sync", "auto_sync is given up: it fails", {
      advice: { action: "reset", subject: "auto_sync" },
    }),
  ],
};
const place = { pid: 4_711, port: 8_770, dataDir: `/a/${"deep/".repeat(30)}folder` };

describe("the live line", () => {
  it.each([40, 80, 120])("keeps within %i columns", (width) => {
    for (const troubles of [[], sample.troubles])
      for (const line of liveLines({ ...sample, troubles }, place, { paint: plain, width }))
        expect(line.length, line).toBeLessThan(width);
  });

  it("says how it stands, and below it what is wrong", () => {
    const lines = liveLines(sample, place, { paint: plain, width: 120 });
    expect(lines).toEqual([
      "● in trouble  units 63/64  12,346 events/s  lag 120  dead 3  alerts 1  loop 1 ms  up 3.2 min",
      "  auto_sync is given up: it fails. Fix the cause, then reset it: 'ringrift daemons reset auto_sync'.",
    ]);
    expect(plainLine({ ...sample, troubles: [], alerts: undefined })).toBe(
      "running, units 63/64, 12,346 events/s, lag 120, dead 3, loop 1 ms",
    );
  });

  it("says what an end in order waits for", () => {
    const names = Array.from({ length: 8 }, (_, i) => `d${i}`);
    expect(waitingLine(names, 1_500)).toBe("stopping: waits for d0, d1, d2, d3, d4, d5 and 2 more (1.5 s)");
    expect(waitingLine([], 10)).toBe("stopping: the daemons have ended; the journal is being closed (10 ms)");
  });

  it("leaves the last line of a terminal free, so that no frame scrolls away", () => {
    let out = "";
    const region = liveRegion({
      rows: 5,
      out: (text) => {
        out += text;
      },
    });
    const frame = ["1", "2", "3", "4", "5", "6"];
    region.draw(frame);
    expect(out).toBe("\r1\u001b[K\n2\u001b[K\n3\u001b[K\n4\u001b[K\n\u001b[J");
    out = "";
    region.draw(frame);
    expect(out).toBe("\r\u001b[4A1\u001b[K\n2\u001b[K\n3\u001b[K\n4\u001b[K\n\u001b[J");
  });

  it("sums up at the end", () => {
    const summary = {
      status: "stopped" as const,
      uptime_seconds: 3_700,
      events: 1_000,
      handler_failures: 1,
      dead_letters: 0,
      restarts: 2,
      hung: [],
      forced: false,
    };
    expect(summaryLine(summary)).toBe("stopped after 1 h: 1,000 events, 1 failed try, 2 restarts, 0 dead letters left");
    expect(summaryLine({ ...summary, hung: ["x"], forced: true })).toMatch(/^stopped by force .*did not end: x$/);
  });

  it("is drawn over itself, and log lines stay above it", () => {
    let out = "";
    const region = liveRegion({
      out: (text) => {
        out += text;
      },
    });
    region.draw(["one", "two"]);
    expect(out).toBe("\rone\u001b[K\ntwo\u001b[K\n\u001b[J");
    out = "";
    region.above("log");
    expect(out).toBe("\r\u001b[2Alog\u001b[K\none\u001b[K\ntwo\u001b[K\n\u001b[J");
    out = "";
    region.clear();
    region.clear();
    expect(out).toBe("\r\u001b[2A\u001b[K\n\u001b[K\n\u001b[J\r\u001b[2A");
  });
});

describe("log lines on a terminal", () => {
  it("are readable, and cannot speak to it", () => {
    const json = JSON.stringify({
      level: 40,
      time: "2026-01-01T00:00:00.000Z",
      msg: "a \u001b[2Jword",
      unit: "x",
      n: 3,
    });
    expect(logLine(json, plain, 100)).toMatch(/^\d\d:\d\d:\d\d WARN {2}x: a \\u001b\[2Jword {2}n=3$/);
    expect(logLine(json, plain, 40).length).toBeLessThanOrEqual(40);
    expect(logLine("not JSON\n", plain, 40)).toBe("not JSON");
  });
});

describe("the watchdog of systemd", () => {
  const ids = { pid: 10, ppid: 9 };
  it.each([
    [{}, undefined],
    [{ WATCHDOG_USEC: "30000000" }, 10_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "10" }, 10_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "9" }, 10_000],
    [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }, undefined],
    [{ WATCHDOG_USEC: "soon" }, undefined],
    [{ WATCHDOG_USEC: "-1" }, undefined],
  ])("set as %j is fed every %s ms", (env, expected) => {
    expect(watchdogMs({ env, ...ids })).toBe(expected);
  });
});

it("the delay of the main loop is seen", async () => {
  const loop = measureLoopDelay();
  try {
    await new Promise((resume) => setTimeout(resume, 120));
    const end = performance.now() + 250;
    while (performance.now() < end);
    // The measuring timer has its turn before this one.
    await new Promise((resume) => setTimeout(resume, 120));
    expect(loop.look().maxMs).toBeGreaterThan(100);
  } finally {
    loop.stop();
  }
});
