import { expect, onTestFinished, test } from "vitest";
import { routerOver } from "../../../test/support/router.ts";
import { builtinRows } from "../../events/index.ts";
import { countEvents, useOf } from "./event-use.ts";

test("who says an event, how often and when last, by the newest of them", () => {
  const now = 1_000_000;
  const seen = [
    { source: "trainer", timestamp: now - 10 },
    { source: "trainer", timestamp: now - 7_200 },
    { source: "cli", timestamp: now - 20 },
    { source: "cli", timestamp: now - 100_000 },
  ];
  expect(useOf(seen, now)).toEqual({
    last_seen_at: now - 10,
    last_hour: 2,
    per_hour: 0.13,
    sources: [
      { source: "trainer", events: 2, last_seen_at: now - 10 },
      { source: "cli", events: 2, last_seen_at: now - 20 },
    ],
  });
});

test("an event that comes too often to look at all of them has the pace of those that were looked at", () => {
  const seen = Array.from({ length: 5_000 }, (_, i) => ({ source: "s", timestamp: 10_000 - i }));
  expect(useOf(seen, 10_000).per_hour).toBeCloseTo(3_600, -1);
});

test("one that never came says so", () => {
  expect(useOf([], 10)).toEqual({ last_seen_at: null, last_hour: 0, per_hour: 0, sources: [] });
});

test("events of the journal are counted by name, from a time on and the newest only", async () => {
  const { router, store } = routerOver(builtinRows);
  onTestFinished(() => router.stop());
  const games = { config_key: "hex8_2p", new_games: 1, total_games: 1 } as const;
  for (const source of ["cli", "cli", "trainer"]) await router.publish("NEW_GAMES_AVAILABLE", games, { source });
  await router.publish("ERROR", { component: "disk", error: "full", severity: "warning" }, { source: "disk" });
  const now = Date.parse("2100-01-01") / 1_000;
  const { counts, looked_at, since } = await countEvents(store, now);
  expect(counts.map(({ event_type, events, last_hour }) => [event_type, events, last_hour])).toEqual([
    ["NEW_GAMES_AVAILABLE", 3, 0],
    ["ERROR", 1, 0],
  ]);
  expect(counts[0]!.sources.toSorted()).toEqual(["cli", "trainer"]);
  expect([looked_at, since! < now]).toEqual([4, true]);
  expect((await countEvents(store, now, 0, 1)).counts.map(({ event_type }) => event_type)).toEqual(["ERROR"]);
  expect(await countEvents(store, now, now)).toEqual({ looked_at: 0, since: null, counts: [] });
});
