import { describe, expect, test } from "vitest";
import { memoryStore } from "../../adapters/sqlite/in-thread-store.ts";
import { virtualClock } from "../../kernel/index.ts";
import { createWriteSet, stateModule } from "../../router/index.ts";
import { decidePromotion, type PromotionFacts, tiersPassed } from "../promotion/units/auto-promotion/decide.ts";
import { champions, crown, lastGood, withdrawnModels } from "./champion.ts";
import { type CheckOutcome, type Crowned, type CrowningCause, championHistory } from "./champion-history.ts";
import { modelsModule } from "./tables.ts";
import { type LifeFacts, modelState } from "./units/model-coordinator/decide.ts";

const line = (generation: number, model: string, cause: CrowningCause, previous: string | null = null): Crowned => ({
  config_key: "a_2p",
  generation,
  model,
  previous,
  iteration: generation,
  cause,
  by: "test",
  evidence: {},
  at: generation,
});
const newestFirst = (...lines: Crowned[]) => lines.toReversed();

describe("crowning", () => {
  const crowning = (model: string, expected: string | null) =>
    ({ configKey: "a_2p", model, expected, iteration: 1, cause: "gate", by: "test", evidence: {} }) as const;

  test("is compare and set: of two who saw the same champion only one comes to its place", async () => {
    const store = memoryStore([stateModule, modelsModule], virtualClock());
    const commit = (write: (rows: ReturnType<typeof createWriteSet>) => void) => {
      const rows = createWriteSet(store);
      write(rows);
      return store.commit(rows.operations());
    };
    await commit((rows) => crown({ rows, now: 1 }, crowning("m1", null)));
    const [one, two] = [createWriteSet(store), createWriteSet(store)];
    crown({ rows: one, now: 2 }, crowning("m2", "m1"));
    crown({ rows: two, now: 2 }, crowning("m3", "m1"));
    const results = await Promise.allSettled([store.commit(one.operations()), store.commit(two.operations())]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(championHistory(store, "a_2p").map(({ model }) => model)).toEqual(["m2", "m1"]);
    expect(createWriteSet(store).get(champions, "a_2p")).toMatchObject({ model: "m2", generation: 2 });
    expect(() => crown({ rows: createWriteSet(store), now: 3 }, crowning("m4", "m1"))).toThrow(
      expect.objectContaining({ code: "CHAMPION_CHANGED" }),
    );
    expect(() => crown({ rows: createWriteSet(store), now: 3 }, crowning("m2", "m2"))).toThrow(
      expect.objectContaining({ code: "ALREADY_CHAMPION" }),
    );
    await store.close();
  });
});

describe("the last good champion", () => {
  const cases: [
    why: string,
    history: Crowned[],
    outcomes: [number, CheckOutcome][],
    current: string,
    found: string | undefined,
  ][] = [
    ["nobody before the first", newestFirst(line(1, "a", "first")), [], "a", undefined],
    ["the one before", newestFirst(line(1, "a", "first"), line(2, "b", "gate"), line(3, "c", "gate")), [], "c", "b"],
    [
      "not one that a person put there",
      newestFirst(line(1, "a", "first"), line(2, "b", "hand"), line(3, "c", "gate")),
      [],
      "c",
      "a",
    ],
    [
      "unless games have cleared it",
      newestFirst(line(1, "a", "first"), line(2, "b", "hand"), line(3, "c", "gate")),
      [[2, "cleared"]],
      "c",
      "b",
    ],
    [
      "passing is not enough for that",
      newestFirst(line(1, "a", "first"), line(2, "b", "hand"), line(3, "c", "gate")),
      [[2, "passed"]],
      "c",
      "a",
    ],
    [
      "not one that was found weaker",
      newestFirst(line(1, "a", "first"), line(2, "b", "gate"), line(3, "c", "gate")),
      [[2, "regressed"]],
      "c",
      "a",
    ],
    [
      "not one that was withdrawn",
      newestFirst(line(1, "a", "first"), line(2, "b", "gate"), line(3, "a", "rollback", "b"), line(4, "c", "gate")),
      [],
      "c",
      "a",
    ],
  ];
  test.each(cases)("%s", (_why, history, outcomes, current, found) => {
    expect(lastGood(history, new Map(outcomes), current)?.model).toBe(found);
  });

  test("what was withdrawn is remembered", () => {
    expect([...withdrawnModels([line(3, "a", "rollback", "b"), line(2, "b", "gate", "a")])]).toEqual(["b"]);
    expect(lastGood(newestFirst(line(1, "a", "first"), line(2, "b", "gate")), new Map(), "b", ["a"])).toBeUndefined();
  });
});

describe("the decision on a candidate", () => {
  const evaluation = (verdict: "promote" | "reject" | "inconclusive" | null, more: object = {}) => ({
    state: "done" as const,
    own: { candidate: "new", opponent: "old", counts: [], batches: 1, llr: [], verdict },
    evidence: { games: 40, reason: "LLR 3", ...more },
  });
  const facts: PromotionFacts = {
    iteration: 3,
    candidate: "new",
    champion: "old",
    evaluation: evaluation("promote"),
    withdrawn: new Set(),
  };
  test.each<[string, Partial<PromotionFacts>, object]>([
    ["a verdict to promote", {}, { kind: "crown", cause: "gate", model: "new", expected: "old" }],
    ["a verdict to reject", { evaluation: evaluation("reject") }, { kind: "reject", reason: "LLR 3" }],
    ["no verdict at the cap", { evaluation: evaluation("inconclusive") }, { kind: "reject" }],
    [
      "nothing evaluated",
      { evaluation: evaluation(null, { skipped: "no need" }) },
      { kind: "nothing", reason: "no need" },
    ],
    ["nothing trained", { candidate: null }, { kind: "nothing" }],
    ["no evaluation", { evaluation: undefined }, { kind: "fail", code: "PROMOTION_WITHOUT_VERDICT" }],
    [
      "a verdict without games",
      { evaluation: evaluation("promote", { games: 0 }) },
      { kind: "fail", code: "PROMOTION_WITHOUT_GAMES" },
    ],
    ["a verdict about another", { candidate: "other" }, { kind: "fail", code: "PROMOTION_OF_ANOTHER" }],
    [
      "one that was withdrawn",
      { withdrawn: new Set(["new"]) },
      { kind: "reject", reason: expect.stringContaining("rolled back before") },
    ],
    [
      "the very first",
      { iteration: 0, champion: null, evaluation: undefined },
      { kind: "crown", cause: "first", expected: null },
    ],
    [
      "the very first, without a model",
      { iteration: 0, candidate: null, champion: null, evaluation: undefined },
      { kind: "fail", code: "PROMOTION_WITHOUT_MODEL" },
    ],
  ])("%s", (_what, changes, expected) => {
    expect(decidePromotion({ ...facts, ...changes })).toMatchObject(expected);
  });

  test("a baseline is passed when the intervals no longer touch", () => {
    const anchors = [
      { player: "random", high: -300 },
      { player: "mcts-100", high: 0 },
      { player: "mcts-1000", high: 250 },
    ];
    expect(tiersPassed({ champion: { low: 40 }, anchors })).toEqual(["random", "mcts-100"]);
  });
});

describe("the state of a model", () => {
  const facts: LifeFacts = {
    champion: "champ",
    withdrawn: new Set(["bad"]),
    crowned: new Set(["champ", "old", "bad"]),
    evaluation: null,
    kept: new Set<string>(),
    newest: "new",
  };
  test.each<[string, string, Partial<LifeFacts>, string]>([
    ["the champion", "champ", {}, "production"],
    ["a former one", "old", {}, "archived"],
    ["a withdrawn one", "bad", {}, "rolled_back"],
    ["the newest", "new", {}, "training"],
    ["under evaluation", "new", { evaluation: { candidate: "new", running: true, verdict: null } }, "evaluating"],
    [
      "passed, not yet crowned",
      "new",
      { evaluation: { candidate: "new", running: false, verdict: "promote" } },
      "staging",
    ],
    ["rejected", "new", { evaluation: { candidate: "new", running: false, verdict: "reject" } }, "archived"],
    ["overtaken by a newer one", "older", {}, "archived"],
    ["restored", "old", { champion: "old" }, "production"],
  ])("%s", (_what, model, changes, expected) => {
    expect(modelState(model, { ...facts, ...changes })).toBe(expected);
  });
});
