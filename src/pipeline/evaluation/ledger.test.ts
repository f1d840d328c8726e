import { afterEach, describe, expect, test } from "vitest";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { virtualClock } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import { falsePromotions } from "../statistics/index.ts";
import { appendMatches, gamesByPurpose, type LedgerEntry, openingsOf, pairTallies } from "./ledger.ts";
import { evaluationModule } from "./tables.ts";
import { type GateVerdict, gateTallies, gateVerdicts, recordVerdict } from "./verdicts.ts";

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});
const open = (): Store => {
  const store = memoryStore([evaluationModule], virtualClock());
  stores.push(store);
  return store;
};
const entry = (changes: Partial<LedgerEntry> = {}): LedgerEntry => ({
  config_key: "a_2p",
  budget: "default",
  purpose: "rating",
  work_id: "w1",
  candidate: "x",
  opponent: "y",
  blocks: [
    { block: 0, opening: "o0", scores: [1, 0.5] },
    { block: 1, opening: "o1", scores: [0, 0] },
  ],
  at: 1,
  ...changes,
});

describe("the match ledger", () => {
  test("takes a block once, and its sums with it, however often it is appended", async () => {
    const store = open();
    const [first] = await store.commit([appendMatches(entry())]);
    const [again] = await store.commit([appendMatches(entry())]);
    const third = { block: 2, opening: "o2", scores: [1, 1] };
    const [more] = await store.commit([appendMatches(entry({ blocks: [...entry().blocks, third] }))]);
    expect([first.appended, again.appended, more.appended]).toEqual([2, 0, 1]);
    expect(pairTallies(store, "a_2p", "default", "rating")).toEqual([
      { candidate: "x", opponent: "y", blocks: 3, games: 6, wins: 3, draws: 1, losses: 2 },
    ]);
    expect(openingsOf(store, ["w1", "w9"])).toEqual(["o0", "o1", "o2"]);
    expect(openingsOf(store, [])).toEqual([]);
  });

  test("keeps configs, budgets, purposes and sides apart", async () => {
    const store = open();
    await store.commit([
      appendMatches(entry()),
      appendMatches(entry({ work_id: "w2", budget: "simulations=96" })),
      appendMatches(entry({ work_id: "w3", config_key: "b_2p" })),
      appendMatches(entry({ work_id: "w4", purpose: "gate" })),
      appendMatches(entry({ work_id: "w5", candidate: "y", opponent: "x" })),
    ]);
    expect(pairTallies(store, "a_2p", "default", "rating").map(({ candidate, games }) => [candidate, games])).toEqual([
      ["x", 4],
      ["y", 4],
    ]);
    expect(gamesByPurpose(store, "a_2p")).toEqual({ gate: 4, rating: 12, regression: 0 });
    expect(gamesByPurpose(store, "nobody_2p")).toEqual({ gate: 0, rating: 0, regression: 0 });
  });
});

describe("the verdicts of gates", () => {
  const verdict = (iteration: number, changes: Partial<GateVerdict> = {}): GateVerdict => ({
    config_key: "a_2p",
    iteration,
    attempt: 1,
    candidate: "x",
    opponent: "y",
    budget: "default",
    verdict: "promote",
    reason: "LLR 3.",
    blocks: 20,
    games: 40,
    score: 0.6,
    counts: [1, 2, 3, 4, 10],
    llr: 3,
    elo0: 0,
    elo1: 50,
    alpha: 0.05,
    beta: 0.05,
    redundancy: 0,
    elo: 70,
    elo_low: 10,
    elo_high: 130,
    normalized_elo: 65,
    at: iteration,
    ...changes,
  });

  test("stay as they were first written, newest first", async () => {
    const store = open();
    await store.commit([recordVerdict(verdict(1)), recordVerdict(verdict(2, { verdict: "reject" }))]);
    await store.commit([recordVerdict(verdict(1, { verdict: "reject", llr: -3 }))]);
    expect(gateVerdicts(store, "a_2p")).toEqual([verdict(2, { verdict: "reject" }), verdict(1)]);
  });

  test("without games there is none to write down", async () => {
    await expect(open().commit([recordVerdict(verdict(1, { games: 0 }))])).rejects.toThrow();
  });

  test("tell how many promotions were probably mistakes", async () => {
    const store = open();
    const words = ["promote", "reject", "inconclusive", "promote"] as const;
    await store.commit(words.map((word, i) => recordVerdict(verdict(i, { verdict: word }))));
    expect(gateTallies(store, "a_2p")).toEqual([{ alpha: 0.05, beta: 0.05, gates: 4, promotions: 2 }]);
    const { atMost, expected } = falsePromotions(gateTallies(store, "a_2p"));
    expect(atMost).toBeCloseTo(0.2);
    expect(expected).toBeGreaterThan(0);
    expect(expected).toBeLessThan(atMost);
  });
});
