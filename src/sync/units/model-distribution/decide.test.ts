import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../kernel/index.ts";
import { beginSpread, nextStep, type Player, type Spread, type SpreadFacts, troubleOf, turnOf } from "./decide.ts";

const limits = {
  games: 8,
  trialMs: 1_000,
  maxRefusals: 2,
  againMs: 10_000,
  staggerMs: 10,
  maxStaggerMs: 100,
  deadlineMs: 5_000,
  remindMs: 20_000,
};
const player = (node_id: string, more: Partial<Player> = {}): Player => ({
  node_id,
  isAble: true,
  holds: false,
  ...more,
});
const facts = (now: number, players: readonly Player[], more: Partial<SpreadFacts> = {}): SpreadFacts => ({
  now,
  players,
  trial: undefined,
  notFetched: undefined,
  ...more,
});
const step = (row: Spread, given: SpreadFacts) => nextStep(row, given, limits);
const kinds = (news: readonly { kind: string }[]) => news.map(({ kind }) => kind);
const played = { trial: { state: "played", games: 8 } } as const;
const failed = { trial: { state: "failed", error: "it does not load" } } as const;

const all = ["a", "b", "c"];
/** The order in which the nodes are asked. */
const turns = [...all].sort((x, y) => turnOf(x, "m") - turnOf(y, "m"));
const [first, second] = turns as [string, string, string];
const nodes = (...holding: string[]) => all.map((node_id) => player(node_id, { holds: holding.includes(node_id) }));
/** With the first canary on its way, and with its job out. */
const asked = step(beginSpread("m", 0, 0), facts(0, nodes()));
const trying: Spread = { ...asked.row, canary: { node_id: first, since: 0, work_id: "w1" } };

describe("a new champion", () => {
  test("on a machine of its own is complete at once, and nobody is told", () => {
    expect(step(beginSpread("m", 0, 0), facts(0, []))).toMatchObject({
      row: { state: "complete" },
      fetch: [],
      news: [],
    });
  });

  test("goes to one node first, which fetches it and then plays", () => {
    expect([asked.fetch, asked.trial, kinds(asked.news)]).toEqual([[first], null, ["started"]]);
    const there = step(asked.row, facts(10, nodes(first)));
    expect([there.fetch, there.trial, kinds(there.news)]).toEqual([[], first, ["received"]]);
    // Whoever has it already is asked before those who would have to fetch it.
    expect(step(beginSpread("m", 0, 0), facts(0, nodes(second)))).toMatchObject({ trial: second, fetch: [] });
  });

  test("goes to the others once it was played with, each at a moment of its own", () => {
    const out = step(trying, facts(100, nodes(first), played));
    expect(out.row).toMatchObject({ state: "spreading", proven: first });
    const later = step(out.row, facts(200, nodes(first)));
    expect([...later.fetch].sort()).toEqual(all.filter((id) => id !== first).sort());
    const done = step(later.row, facts(300, nodes(...all)));
    expect(done.row.state).toBe("complete");
    expect(kinds(done.news)).toEqual(["received", "received", "complete"]);
    // Told once.
    expect(kinds(step(done.row, facts(400, nodes(...all))).news)).toEqual([]);
  });

  test("that one node cannot play with is tried by another, and the one that could not gets it no more", () => {
    const refused = step(trying, facts(100, nodes(first), failed));
    expect(refused.row.refused).toEqual([{ node_id: first, error: "it does not load" }]);
    const next = step(refused.row, facts(101, nodes(first)));
    expect([next.row.canary?.node_id, next.fetch]).toEqual([second, [second]]);
    const tried = { ...next.row, canary: { ...next.row.canary!, work_id: "w2" } };
    const out = step(tried, facts(300, nodes(second), played));
    const later = step(out.row, facts(900, nodes(second)));
    expect([out.row.state, later.fetch]).toEqual(["spreading", all.filter((id) => ![first, second].includes(id))]);
  });

  test("that nobody can play with is held back, told with every reason, and tried anew after a while", () => {
    let row = step(trying, facts(100, nodes(first), failed)).row;
    row = { ...step(row, facts(101, nodes(first))).row };
    row = { ...row, canary: { ...row.canary!, work_id: "w2" } };
    row = step(row, facts(102, nodes(first, second), failed)).row;
    const held = step(row, facts(103, nodes(first, second)));
    expect([held.row.state, kinds(held.news), held.fetch]).toEqual(["held", ["held"], []]);
    expect(troubleOf(held.row, (id) => `node ${id}`)).toContain(`node ${first}: it does not load`);
    expect(step(held.row, facts(104 + limits.againMs, nodes(first))).row).toMatchObject({
      state: "canary",
      refused: [],
    });
  });

  test("goes out unproven where nobody gave an answer: nobody said no either", () => {
    let row: Spread = trying;
    for (let now = 1_000, looks = 0; row.state === "canary"; now += 600, looks += 1) {
      expect(looks).toBeLessThan(20);
      row = step(row, facts(now, nodes())).row;
    }
    expect(row).toMatchObject({ state: "spreading", proven: null, refused: [] });
  });

  test("takes the job back from a node that went away", () => {
    expect(
      step(
        trying,
        facts(
          100,
          nodes().filter(({ node_id }) => node_id !== first),
        ),
      ),
    ).toMatchObject({
      takeBack: "w1",
      row: { canary: null, silent: [first] },
    });
  });

  test("that too few games were played with counts as one that could not be played with", () => {
    const few = { trial: { state: "played", games: 3 } } as const;
    expect(step(trying, facts(100, nodes(first), few)).row.refused[0]?.error).toBe("it played 3 of 8 games");
  });

  test("that some lack past the deadline is told, again after a while, and when it is over", () => {
    let row = step(trying, facts(100, nodes(first), played)).row;
    const told: string[] = [];
    for (let now = 1_000; now <= 30_000; now += 1_000) {
      const next = step(row, facts(now, nodes(first)));
      told.push(
        ...next.news.map((each) => (each.kind === "late" ? `${each.kind} ${now} ${each.missing.length}` : each.kind)),
      );
      row = next.row;
    }
    expect(told).toEqual(["late 5000 2", "late 25000 2"]);
    expect(troubleOf(row, (id) => id)).toContain("lack it");
    const over = step(row, facts(31_000, nodes(...all)));
    expect([kinds(over.news), troubleOf(over.row, (id) => id)]).toEqual([["received", "received", "complete"], null]);
  });

  test("reaches one that comes later, and is not complete a second time for it", () => {
    let row = step(trying, facts(100, nodes(first), played)).row;
    row = step(row, facts(300, nodes(...all))).row;
    const late = [...nodes(...all), player("d")];
    expect(step(row, facts(9_000, late))).toMatchObject({ fetch: ["d"], news: [], row: { state: "complete" } });
    const there = [...nodes(...all), player("d", { holds: true })];
    expect(kinds(step(row, facts(9_100, there)).news)).toEqual(["received"]);
  });
});

test("whatever nodes do, it never goes to a second node before one has played or all were asked, and never stands still", () => {
  const random = seededRandom(3);
  const below = (n: number) => Math.floor(random.next() * n);
  for (let world = 0; world < 400; world += 1) {
    const there = Array.from({ length: 1 + below(5) }, (_, i) => `n${i}`);
    const bad = new Set(there.filter(() => below(3) === 0));
    const mute = new Set(there.filter(() => below(4) === 0));
    const held = new Set<string>();
    let row = beginSpread("m", 0, 0);
    let work: { node: string; at: number } | undefined;
    for (let now = 0, looks = 0; row.state === "canary"; now += 100, looks += 1) {
      expect(looks).toBeLessThan(200);
      const trial =
        row.canary?.work_id == null || work === undefined || mute.has(work.node) || now < work.at
          ? undefined
          : bad.has(work.node)
            ? ({ state: "failed", error: "no" } as const)
            : ({ state: "played", games: 8 } as const);
      const players = there.map((node_id) => player(node_id, { holds: held.has(node_id) }));
      const next = step(row, facts(now, players, { trial }));
      row = next.row;
      const wasTried = row.refused.length + row.silent.length + (row.canary === null ? 0 : 1);
      if (row.state === "canary") expect(held.size).toBeLessThanOrEqual(wasTried);
      for (const node_id of next.fetch) held.add(node_id);
      if (next.trial !== null) {
        work = { node: next.trial, at: now + below(800) };
        row = { ...row, canary: { ...row.canary!, work_id: `w${looks}` } };
      }
    }
    if (row.proven !== null) expect(bad.has(row.proven)).toBe(false);
    if (row.state === "held") expect(row.refused.every(({ node_id }) => bad.has(node_id))).toBe(true);
  }
});
