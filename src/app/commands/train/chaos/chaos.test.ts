import { expect, test } from "vitest";
import { silentLog, virtualClock } from "../../../../kernel/index.ts";
import { createPaint } from "../../../../surfaces/commands/index.ts";
import type { Act } from "./act.ts";
import { createChaos, reported } from "./chaos.ts";
import { chaosTable } from "./chaos-view.ts";
import type { ActKind } from "./schedule.ts";

/** Acts that are caught when the test says so. */
function world(possible: (kind: ActKind) => boolean = () => true) {
  const clock = virtualClock();
  const caught = new Map<number, string>();
  const begun: ActKind[] = [];
  const ended: number[] = [];
  const over = new Set<number>();
  const begin = (kind: ActKind, _world: unknown, number: number): Act | undefined => {
    if (!possible(kind)) return undefined;
    begun.push(kind);
    return {
      configKey: "hex8_2p",
      what: `did ${kind} ${number}`,
      caught: () => caught.get(number),
      isOver: () => over.has(number),
      async end() {
        ended.push(number);
      },
    };
  };
  const chaos = createChaos({ seed: 1, clock, log: silentLog(), begin });
  chaos.arrived({} as Parameters<typeof chaos.arrived>[0]);
  /** Looks once a second, as the guest does. */
  const pass = async (seconds: number, remainingMs: number | null = null): Promise<string[]> => {
    const lines: string[] = [];
    for (let i = 0; i < seconds; i += 1) {
      clock.after(1_000, () => {});
      clock.step();
      lines.push(...chaos.look(remainingMs));
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
    return [...lines, ...chaos.look(remainingMs)];
  };
  return { chaos, caught, begun, ended, over, pass };
}

test("an act is a line, and so is how it was caught", async () => {
  const w = world();
  expect(await w.pass(14)).toEqual([]);
  expect(await w.pass(2)).toEqual(["chaos: did kill 0"]);
  w.caught.set(0, "w57 was done again");
  expect(await w.pass(1)).toEqual(["caught: w57 was done again"]);
  expect(w.chaos.incidents()).toMatchObject([
    { number: 0, kind: "kill", state: "caught", outcome: "w57 was done again" },
  ]);
  expect(w.chaos.last(1)).toEqual(["caught: w57 was done again"]);
});

test("one that is not caught in its time says so, and stays so", async () => {
  const w = world();
  await w.pass(16);
  const lines = await w.pass(91);
  expect(lines).toContain("not caught within 90 s: did kill 0");
  w.caught.set(0, "too late");
  await w.pass(5);
  expect(w.chaos.incidents()[0]).toMatchObject({ state: "not caught", outcome: "not caught within 90 s" });
});

test("what cannot be done now is tried again until it can", async () => {
  let can = false;
  const w = world(() => can);
  await w.pass(60);
  expect(w.begun).toEqual([]);
  can = true;
  // What has piled up does not come all at once.
  await w.pass(9);
  expect(w.begun).toEqual(["kill"]);
  await w.pass(5);
  expect(w.begun).toEqual(["kill", "damage"]);
});

test("nothing is begun at the end of a run, where nobody would see it caught", async () => {
  const w = world();
  expect(await w.pass(60, 44_000)).toEqual([]);
  expect(await w.pass(2, 46_000)).toEqual(["chaos: did kill 0"]);
});

test("there is one poisoned producer at a time, and it goes some time after it was found out", async () => {
  const w = world();
  await w.pass(110);
  expect(w.begun.filter((kind) => kind === "poison")).toHaveLength(1);
  const number = w.begun.indexOf("poison");
  w.caught.set(number, "found out");
  await w.pass(5);
  expect(w.ended).not.toContain(number);
  w.over.add(number);
  await w.pass(1);
  expect(w.ended).toContain(number);
});

test("at the end everything is taken back, and what is still open is said to be so", async () => {
  const w = world();
  await w.pass(50);
  w.caught.set(0, "just in time");
  await w.chaos.end();
  expect(w.ended.toSorted()).toEqual([0, 1, 2]);
  expect(w.chaos.incidents().map(({ state }) => state)).toEqual(["caught", "open", "open"]);
  expect(reported(w.chaos.incidents()).map(({ outcome }) => outcome)).toEqual([
    "caught: just in time",
    "the run ended before it was caught",
    "the run ended before it was caught",
  ]);
  const [head, , row] = chaosTable(w.chaos.incidents(), { paint: createPaint(false), width: 200 });
  expect(head).toBe("chaos: 3 acts, 1 caught");
  expect(row).toMatch(/1 {2}caught\s+did kill 0\s+just in time/);
});
