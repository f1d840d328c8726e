import { describe, expect, it } from "vitest";
import { causeOf, isWell } from "../../daemons/index.ts";
import { createPaint } from "../cli/paint.ts";
import type { Daemon } from "../daemons/wire.ts";
import { diagnose } from "./diagnosis.ts";
import { markOf, verdictOf } from "./verdict.ts";
import { bytes, statusLine, troubleLines } from "./view.ts";
import type { Status } from "./wire.ts";

const NOW = 1_700_000_000_000;

const daemon = (name: string, rest: Partial<Daemon> = {}): Daemon => ({
  name,
  state: "running",
  critical: false,
  wanted: true,
  depends_on: [],
  paused: null,
  waits_for: null,
  holds: [],
  started_at: NOW - 60_000,
  uptime_seconds: 60,
  restarts: 0,
  max_restarts: 5,
  restart_at: null,
  last_error: null,
  permanently_failed: null,
  health: { status: "running", message: "" },
  conditions: [],
  ...rest,
});

const status = (rest: Partial<Status> = {}): Status => ({
  version: "0.1.0",
  pid: 7,
  node_id: "n1",
  started_at: NOW - 60_000,
  uptime_seconds: 60,
  degraded: false,
  fault: null,
  router: { total_events: 12, handler_failures: 0, fault: null, open_breakers: [] },
  journal: { head: 12, bytes: 4_096, consumers: [] },
  dead_letters: { pending: 0, retrying: 0, recovered: 0, discarded: 0 },
  readiness: { ready: true, unsubscribed: [], subscriptions: [] },
  units: [],
  daemons: [daemon("event_router")],
  causes: [],
  ...rest,
});

const stopped = (atMs: number) => ({
  type: "Ready",
  status: "false",
  reason: "Stopped",
  message: "stopped by operator",
  last_transition_at: atMs,
});

const unheard = (...missing: string[]) => ({
  ready: false,
  unsubscribed: [],
  subscriptions: [{ event: "TRAINING_COMPLETED", missing }],
});

const said = (rest: Partial<Status>) => diagnose(status(rest), NOW).map(({ level, what }) => `${level}: ${what}`);

describe("the diagnosis", () => {
  it("names the daemon that was stopped, and not what nobody hears because of it", () => {
    const daemons = [
      daemon("selfplay", { wanted: false, state: "stopped", conditions: [stopped(NOW - 1_000)] }),
      daemon("orchestrator", { waits_for: "selfplay" }),
    ];
    const [first, ...others] = said({ daemons, readiness: unheard("orchestrator") });
    expect(first).toBe("warn: selfplay was stopped");
    expect(others.join()).not.toMatch(/nobody hears/);
    // One that should hear and has no excuse is told all the same.
    expect(said({ daemons, readiness: unheard("orchestrator", "watchdog") })[0]).toMatch(/^bad: nobody hears/);
  });

  it("finds nothing where nothing is wrong", () => {
    expect(diagnose(status(), NOW)).toEqual([]);
    expect(verdictOf([])).toBe("well: nothing needs you");
    // Right after a start without a worker it is not called well, though nobody has to act yet.
    const begins = causeOf("note", "no_worker", "worker", "no worker has asked for jobs yet", {});
    expect(verdictOf([begins])).toBe("just started: no worker has asked for jobs yet");
    expect(verdictOf([{ ...begins, code: "node_slowed" }])).toBe("well: nothing needs you");
    expect([[], [begins], [{ ...begins, code: "node_slowed" }]].map(markOf)).toEqual(["✓", "·", "✓"]);
  });

  it("has the sign of the worst cause before everything, and a tick only where all is well", () => {
    const [bad, warn] = [causeOf("bad", "x", "a", "x"), causeOf("warn", "y", "a", "y")];
    expect([[bad], [warn, bad], [warn]].map(markOf)).toEqual(["✗", "✗", "!"]);
  });

  it.each<[string, Partial<Status>, string]>([
    [
      "a disk that refuses",
      { fault: { code: "STORE_FULL", message: "the disk is full", since: NOW - 90_000 } },
      "bad: the disk has refused commits for 1.5 min: the disk is full",
    ],
    [
      "a daemon that was given up",
      { daemons: [daemon("auto_sync", { state: "failed", permanently_failed: "5 restarts did not help: x" })] },
      "bad: auto_sync is given up: 5 restarts did not help: x",
    ],
    [
      "a daemon that comes back",
      {
        daemons: [daemon("a", { state: "restarting", restarts: 1, restart_at: NOW + 20_000, last_error: "no route" })],
      },
      "warn: a failed: no route; restart 2 of 5 in 20.0 s",
    ],
    [
      "a daemon that somebody holds",
      { daemons: [daemon("a", { state: "stopped", paused: "maintenance" })] },
      "warn: a is paused: maintenance",
    ],
    [
      "a daemon that is held until a reason is over",
      {
        daemons: [
          daemon("a", {
            state: "stopped",
            paused: "the queue is full",
            holds: [{ hold: "backpressure:queue", reason: "the queue is full", actor: "daemon_control", since: NOW }],
          }),
        ],
      },
      "note: a is paused until this ends: the queue is full",
    ],
    [
      "a daemon that was stopped",
      { daemons: [daemon("a", { state: "stopped", wanted: false, conditions: [stopped(NOW - 10_000)] })] },
      "warn: a was stopped",
    ],
    [
      "a subscription that is missing",
      {
        readiness: {
          ready: false,
          unsubscribed: [],
          subscriptions: [{ event: "TRAINING_COMPLETED", missing: ["evaluation"] }],
        },
      },
      "bad: nobody hears TRAINING_COMPLETED: evaluation should",
    ],
    [
      "a few dead letters",
      { dead_letters: { pending: 1, retrying: 0, recovered: 0, discarded: 0 } },
      "note: 1 dead letter waits",
    ],
    ["many", { dead_letters: { pending: 49, retrying: 1, recovered: 0, discarded: 0 } }, "warn: 50 dead letters wait"],
    [
      "too many",
      { dead_letters: { pending: 1_000, retrying: 0, recovered: 0, discarded: 0 } },
      "bad: 1,000 dead letters wait",
    ],
    [
      "an open breaker",
      {
        router: {
          total_events: 0,
          handler_failures: 9,
          fault: null,
          open_breakers: [{ consumer: "x", event_type: "ERROR" }],
        },
      },
      "warn: the breaker of x for ERROR is open: it fails again and again",
    ],
    [
      "a consumer far behind",
      {
        journal: {
          head: 0,
          bytes: 0,
          consumers: [
            {
              consumer: "x",
              kind: "durable",
              low_water: 0,
              handler_version: "1",
              last_seen_at: NOW,
              expired_at: null,
              lag: 10_000,
              parked: 0,
              dead: 0,
              event_types: "",
            },
          ],
        },
      },
      "warn: x is 10,000 events behind",
    ],
  ])("names %s", (_, rest, expected) => {
    expect(said(rest)).toEqual([expected]);
  });

  it("finds nothing wrong with a daemon that the profile leaves out, also if it ran in an earlier life", () => {
    const left = (conditions: Daemon["conditions"]) => daemon("a", { state: "stopped", wanted: false, conditions });
    expect(said({ daemons: [left([]), left([stopped(NOW - 3_600_000)])] })).toEqual([]);
  });

  it("counts those that wait for a daemon with that one, and tells the worst first", () => {
    const found = diagnose(
      status({
        daemons: [
          daemon("b", { state: "stopped", waits_for: "a", paused: "waits for 'a': b -> a" }),
          daemon("c", { state: "stopped", waits_for: "a", paused: "waits for 'a': c -> b -> a" }),
          daemon("a", { state: "failed", permanently_failed: "gone" }),
        ],
      }),
      NOW,
    );
    expect(found.map(({ what }) => what)).toEqual(["a is given up: gone", "2 daemons wait for a: b, c"]);
    expect(isWell(found)).toBe(false);
    expect(verdictOf(found)).toBe("in trouble: 1 thing needs you now, 1 thing needs a look");
  });

  it("counts open alerts by how bad they are", () => {
    const alerts = { critical: 1, error: 2, warning: 3 };
    expect(diagnose(status(), NOW, alerts).map(({ level, what }) => [level, what])).toEqual([
      ["bad", "1 critical alert is open"],
      ["warn", "2 error alerts are open"],
      ["note", "3 warning alerts are open"],
    ]);
  });

  it("never lets a name speak to the terminal, and keeps within the columns", () => {
    const evil = daemon("a\u001b[2J", { state: "failed", permanently_failed: `${"long words ".repeat(30)}\u0007` });
    const lines = troubleLines(diagnose(status({ daemons: [evil] }), NOW), { paint: createPaint(false), width: 80 });
    for (const line of lines) {
      expect(line.length, line).toBeLessThanOrEqual(80);
      expect(line).not.toContain("\u001b");
    }
    expect(lines.length).toBeGreaterThan(3);
  });

  it("fits into one line of a log", () => {
    const failed = daemon("b", { state: "failed", permanently_failed: "x" });
    const overview = {
      ...{ version: "0.1.0", pid: 7, node_id: "n1", uptime_seconds: 60, copies: "" },
      daemons: { running: 1, wanted: 2, all: 2 },
      events: { since_start: 12, head: 12, bytes: 4_096 },
      consumers: { present: 0, last: null },
      dead_letters: { pending: 0, retrying: 0 },
      alerts: { critical: 0, error: 0, warning: 0 },
      causes: diagnose(status({ daemons: [daemon("a"), failed] }), NOW),
    };
    expect(statusLine(overview)).toBe("in trouble: 1 thing needs you now  daemons 1/2  events 12  dead letters 0");
  });
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [4_096, "4.1 kB"],
  [3e9, "3.0 GB"],
])("%i bytes are %s", (value, text) => expect(bytes(value)).toBe(text));
