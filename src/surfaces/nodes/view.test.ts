import { expect, test } from "vitest";
import { clusterLine, costOf, nodeLines } from "./view.ts";
import type { Node } from "./wire.ts";

const NOW = 1_790_000_000_000;
const HOUR = 3_600_000;
const node = (busy_seconds: number, games: number, joinedHoursAgo = 48) =>
  ({
    work: { busy_seconds, games },
    capabilities: { cpu: 2 },
    joined_at: NOW - joinedHoursAgo * HOUR,
  }) as unknown as Node;

test("what a node costs is the time of its jobs, for games and of what it could have given", () => {
  expect(costOf(node(12 * 3_600, 6_000), NOW)).toBe(
    "12.00 processor-hours in the last day, 2.00 for 1,000 games; idle 75 % of 2 processors",
  );
  // One that joined an hour ago could have given two hours.
  expect(costOf(node(3_600, 0, 1), NOW)).toBe("1.00 processor-hours in the last day; idle 50 % of 2 processors");
});

test("a list of nodes says which of them hold fewer jobs than they could, and why", () => {
  const paint = (text: string) => text;
  const shell = {
    paint: { bold: paint, dim: paint, yellow: paint, green: paint, red: paint },
    clock: { now: () => NOW },
    width: 200,
  } as never;
  const box = (slots: number) =>
    ({
      label: "box2",
      node_id: "n1",
      state: "online",
      local: false,
      last_seen_at: NOW,
      cordoned: null,
      load: null,
      version: "1",
      deprecated: false,
      capabilities: { cpu: 4, gpu: 0, memory_gb: 8, tags: [] },
      slots: { slots, of: 4, target: 0.9, measured: 1.12, at: NOW },
    }) as unknown as Node;
  expect(nodeLines([box(3)], shell).join("\n")).toContain("slots 3 of 4: machine busy (112 %, target 90 %)");
  expect(nodeLines([box(4)], shell).join("\n")).not.toContain("slots 4");
});

test("a node with one slot holds none of one, whatever the limit is", () => {
  const paint = (text: string) => text;
  const paints = { bold: paint, dim: paint, yellow: paint, green: paint, red: paint };
  const shell = { paint: paints, clock: { now: () => NOW }, width: 200 } as never;
  const lineOf = (held: object) => {
    const box = {
      label: "box2",
      node_id: "n1",
      state: "online",
      local: false,
      last_seen_at: NOW,
      cordoned: null,
      version: "1",
    };
    const capabilities = { cpu: 4, gpu: 0, memory_gb: 8, tags: [] };
    return nodeLines([{ ...box, capabilities, held } as unknown as Node], shell)[1];
  };
  expect(lineOf({ jobs: 0, max: 256, slots: 1 })).toContain("0 of 1 ");
  expect(lineOf({ jobs: 2, max: 2, slots: 9 })).toContain("2 of 2 ");
  // Nobody knows of a node whose worker has not asked yet: our own limit says nothing of it.
  expect(lineOf({ jobs: 0, max: 256 })).toMatch(/online +no worker /);
  expect(lineOf({ jobs: 3, max: 256 })).toMatch(/online +3 /);
});

test("one coordinator is the only one; of several it says how many are present", () => {
  const nodes = [{ label: "desk", version: "1.2.3", state: "online", local: true }] as unknown as Node[];
  expect(clusterLine(nodes)).toBe("coordinator desk, version 1.2.3, the only one; 1 of 1 node online");
  expect(clusterLine(nodes, { present: 2, of: 3 })).toBe(
    "coordinator desk, version 1.2.3, leads, 2 of 3 coordinators present; 1 of 1 node online",
  );
});

test("80 columns show what nodes do and cost, however long the name of a rented one; why one gets less stands below it", () => {
  const paint = (text: string) => text;
  const paints = { bold: paint, dim: paint, yellow: paint, green: paint, red: paint };
  const shell = { paint: paints, clock: { now: () => NOW }, width: 80 } as never;
  const box = { node_id: "n1", state: "online", local: false, last_seen_at: NOW, cordoned: null, version: "1" };
  const capabilities = { cpu: 4, gpu: 0, memory_gb: 8, tags: [] };
  const health = { condition: "degraded", reason: "it is slow (4.8 times as long as usual)" };
  const lines = nodeLines(
    [
      { ...box, capabilities, label: "slow", games_per_hour: 30_806, held: { jobs: 1, max: 1 }, health },
      {
        ...{
          ...box,
          capabilities,
          label: "rr-abcdef-01ARZ3NDEKTSV4RRFFQ69G5FAV",
          held: { jobs: 10, max: 256, slots: 999 },
        },
        ...{ idle_since: NOW - 5 * HOUR, games_per_hour: 135_737.2, usd_per_1000_games: 0.0123 },
      },
    ] as unknown as Node[],
    shell,
  );
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  expect(lines[0]).toMatch(/^NODE +STATE +JOBS +IDLE +GAMES\/H +USD\/1000/);
  expect(lines[2]).toBe("  degraded: it is slow (4.8 times as long as usual)");
  expect(lines[3]).toMatch(/G5FAV +online +10 of 256 +5 h +135,737 +0\.0123/);
});
