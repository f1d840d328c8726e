import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { summaryOf } from "./alert-outbox.ts";
import { nextMove, deliveryDefaults as settings } from "./delivery.ts";

const line = (over: Partial<Parameters<typeof nextMove>[0]>) => ({
  waiting: 1,
  begun: false,
  sent: 0,
  nextAt: 0,
  mutedUntil: 0,
  held: 0,
  ...over,
});

describe("what to do for a sink", () => {
  test.each([
    ["nothing waits", line({ waiting: 0 }), "rest"],
    ["one waits", line({}), "send"],
    ["it failed a moment ago", line({ nextAt: 2_000 }), "rest"],
    ["its budget is spent", line({ sent: 10 }), "rest"],
    ["as many wait as may be sent", line({ waiting: 10 }), "send"],
    ["more wait than may be sent", line({ waiting: 11 }), "summarize"],
    ["one slot is left and two wait", line({ waiting: 2, sent: 9 }), "summarize"],
    ["one was begun before, and many wait behind it", line({ waiting: 50, begun: true }), "send"],
    ["nothing is to be sent for now", line({ mutedUntil: 1_001 }), "rest"],
    ["one was begun before nothing was to be sent", line({ begun: true, mutedUntil: 1_001 }), "rest"],
    ["it may be sent again, and one was held back", line({ mutedUntil: 1_000, held: 1 }), "send"],
    ["it may be sent again, and several were held back", line({ waiting: 2, mutedUntil: 1_000, held: 2 }), "summarize"],
    ["so many wait that rows must not become more", line({ waiting: 501, nextAt: 9_999 }), "summarize"],
  ] as const)("when %s", (_when, given, move) => {
    expect(nextMove(given, 1_000, settings)).toBe(move);
  });

  test("sends never more in a minute than allowed, however many come, and everything is told in the end", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 200 }), (arrivals) => {
        let waiting = 0;
        let owed = 0;
        const sent: number[] = [];
        for (let now = 0; now < (arrivals.length + 130) * 1_000; now += 1_000) {
          const come = arrivals[now / 1_000] ?? 0;
          waiting += come;
          owed += come;
          for (;;) {
            const recent = sent.filter((at) => at > now - 60_000).length;
            const move = nextMove(line({ waiting, sent: recent }), now, settings);
            if (move === "rest") break;
            if (move === "summarize") waiting = 1;
            else {
              waiting -= 1;
              sent.push(now);
            }
          }
          expect(sent.filter((at) => at > now - 60_000).length).toBeLessThanOrEqual(settings.messagesPerMinute);
        }
        expect(waiting).toBe(0);
        if (owed > 0) expect(sent.length).toBeGreaterThan(0);
      }),
      { numRuns: 50 },
    );
  });
});

test("a summary counts everything and names the worst first, earlier summaries included", () => {
  const row = (severity: "warning" | "critical", id: string) => ({
    alert_id: id,
    transition: "opened-1",
    severity,
    body: JSON.stringify({ id, status: "open", title: id }),
  });
  const first = summaryOf([row("warning", "a"), row("critical", "b")]);
  const all = summaryOf([
    row("warning", "c"),
    { alert_id: null, transition: "summary-2", severity: "critical", body: JSON.stringify(first) },
    ...Array.from({ length: 30 }, (_, i) => row("warning", `w${i}`)),
  ]);
  expect(all.changes).toBe(33);
  expect(all.by_severity).toEqual({ info: 0, warning: 32, error: 0, critical: 1 });
  expect(all.alerts[0]).toMatchObject({ id: "b", severity: "critical" });
  expect(all.alerts).toHaveLength(20);
});
