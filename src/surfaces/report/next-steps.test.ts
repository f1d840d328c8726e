import { expect, test } from "vitest";
import { AT, behindBreaker, healthy, justStarted } from "../../../test/fixtures/pipeline-snapshots.ts";
import { aboutRun } from "../../../test/fixtures/report-about.ts";
import { nextSteps } from "./next-steps.ts";
import { reportOf } from "./report.ts";

const commands = (...given: Parameters<typeof nextSteps>) => nextSteps(...given).map(({ command }) => command);

test("after a run that made champions one plays, looks and goes on", () => {
  expect(commands(healthy, aboutRun)).toEqual([
    "ringrift play othello6_2p",
    "ringrift elo othello6_2p",
    "ringrift train othello6_2p",
    "ringrift token create box-1 --join",
  ]);
});

test("a run too short for a champion goes on, and what stands still comes first", () => {
  expect(commands(justStarted, aboutRun)[0]).toBe("ringrift train othello6_2p");
  expect(commands(behindBreaker, aboutRun)[0]).toBe("ringrift why hex7_2p");
});

test("a folder that is not the usual one is named in every command", () => {
  for (const command of commands(healthy, { ...aboutRun, data_dir: "/data/run" }))
    expect(command).toMatch(/ --data-dir \/data\/run$/);
});

test("both forms of a report end with it", () => {
  const { text, html } = reportOf(healthy, aboutRun);
  expect(text.trimEnd().split("\n").slice(-9)[0]).toBe("What to do next");
  expect(html).toMatch(/<h2>What to do next<\/h2>(?![\s\S]*<h2>)/);
  expect(html).toContain("ringrift play othello6_2p");
});

test("the games are drawn over the whole run, and stretches without one are shaded", () => {
  const samples = [
    { at: aboutRun.started_at, games: 0 },
    { at: aboutRun.started_at + 30_000, games: 100 },
  ];
  const { html } = reportOf(healthy, { ...aboutRun, games: { othello6_2p: samples } });
  const [, figure = ""] = html.split("<figcaption>Games</figcaption>");
  // The run took five minutes; the last game came after half of one.
  expect(figure).toMatch(/>5<\/text>[\s\S]*minutes since the start/);
  expect(figure).toMatch(/class="stall"[^>]*><title>no game for 4 min 30 s<\/title>/);
  expect(AT - aboutRun.started_at).toBe(300_000);
});
