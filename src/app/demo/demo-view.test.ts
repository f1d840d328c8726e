import { describe, expect, it } from "vitest";
import type { DeadLetter } from "../../router/index.ts";
import { createPaint } from "../../surfaces/cli/index.ts";
import { frame, statusLine, summaryLines } from "./demo-view.ts";
import { addsUp, type Proof } from "./proof.ts";
import type { Snapshot } from "./stage.ts";

const paint = createPaint(false);
const snapshot: Snapshot = {
  elapsedMs: 12_340,
  published: 1_234,
  publisherPid: 101,
  standings: [
    { role: "data_pipeline", pid: undefined, kills: 2, done: 1_100, behind: 134 },
    { role: "scoreboard", pid: 103, kills: 0, done: 2_400, behind: 3 },
  ],
  deadLetters: { pending: 1, retrying: 0, recovered: 2, discarded: 0 },
  newestLetter: { id: 3, consumer: "scoreboard", attempts: 5 } as DeadLetter,
  last: [
    {
      seq: 2_345,
      eventType: "SELFPLAY_COMPLETE",
      eventId: "01a1e1ad-7e4b-726b-9958-c8627e42757b",
      source: "selfplay",
      key: "hex8_2p",
      deliveries: [
        { consumer: "data_pipeline", state: "owed" },
        { consumer: "scoreboard", state: "done" },
      ],
    },
  ],
};
const rates = { published: 99.6, data_pipeline: 0, scoreboard: 120 };
const about = { pid: 100, port: 8770, dataDir: `/tmp/${"deep/".repeat(30)}` };

describe("the picture of the demo", () => {
  const lines = frame(snapshot, rates, about, { paint, width: 100 });

  it("shows each process, how far it is, and the path of the last events", () => {
    expect(lines).toContainEqual(expect.stringMatching(/^selfplay +101 +1,234 +100\/s +publishes$/));
    expect(lines).toContainEqual(expect.stringMatching(/^data_pipeline +- +1,100 +0\/s +134 {2}killed with -9$/));
    expect(lines).toContainEqual(expect.stringMatching(/^scoreboard +103 +2,400 +120\/s +3 {2}running$/));
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^ #2345 {2}7e42757b {2}SELFPLAY_COMPLETE +hex8_2p +selfplay ─▶ … data_pipeline {2}✓ scoreboard$/,
      ),
    );
    expect(lines).toContain("DEAD LETTERS  1 pending, 0 retrying, 2 recovered");
  });

  it("never grows wider than the terminal, or it could not be drawn over", () => {
    for (const width of [100, 72])
      for (const line of frame(snapshot, rates, about, { paint, width }).filter((each) => !each.startsWith("LAST")))
        expect(line.length, line).toBeLessThanOrEqual(width);
    expect(frame(snapshot, rates, about, { paint, width: 100 }).length).toBeLessThan(24);
  });

  it("says the same in one line for a pipe", () => {
    const line = statusLine(snapshot, rates);
    expect(line).toBe(
      " 12.3 s  1,234 sent, 100/s  data_pipeline 1,100, 134 behind, 2 kills  scoreboard 2,400, 3 behind  1 dead",
    );
  });
});

describe("the sums at the end", () => {
  const good: Omit<Proof, "ok"> = {
    seconds: 10,
    events_per_second: 20,
    published: { acknowledged: 100, in_journal: 100 },
    data_pipeline: { owed: 100, done: 100, killed: 3, effects: 100, effects_twice: 0 },
    scoreboard: { owed: 200, done: 200, received: 200 },
    dead_letters: { appeared: 2, recovered: 2, left: 0 },
  };

  it("add up only when nothing is missing and nothing counted twice", () => {
    expect(addsUp(good)).toBe(true);
    const changes: Partial<Omit<Proof, "ok">>[] = [
      { published: { acknowledged: 0, in_journal: 0 } },
      { published: { acknowledged: 101, in_journal: 100 } },
      { data_pipeline: { ...good.data_pipeline, done: 99 } },
      { data_pipeline: { ...good.data_pipeline, owed: 99 } },
      { data_pipeline: { ...good.data_pipeline, effects: 101, effects_twice: 1 } },
      { data_pipeline: { ...good.data_pipeline, effects: 99 } },
      { scoreboard: { ...good.scoreboard, received: 199 } },
      { scoreboard: { ...good.scoreboard, done: 199 } },
      { scoreboard: { ...good.scoreboard, owed: 201 } },
      { dead_letters: { ...good.dead_letters, left: 1 } },
    ];
    for (const change of changes) expect(addsUp({ ...good, ...change }), JSON.stringify(change)).toBe(false);
  });

  it("say which it is, within the width of the terminal", () => {
    const yes = summaryLines({ ok: true, ...good }, { paint, width: 100 });
    expect(yes.at(-1)).toMatch(/^It adds up/);
    expect(yes).toContain("data_pipeline  100 of 100 done, though killed with -9 (3 times); said 100, twice 0");
    for (const line of yes) expect(line.length).toBeLessThanOrEqual(100);
    expect(summaryLines({ ok: false, ...good }, { paint, width: 100 }).at(-1)).toMatch(/^It does not add up/);
  });
});
