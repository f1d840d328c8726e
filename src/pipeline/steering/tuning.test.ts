import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  playMatch,
  type WorldOptions,
} from "../../../test/unit/pipeline/learning-world.ts";
import type { Lease } from "../../work/index.ts";
import { goals, queuePopulator, selfplayOrders } from "../selfplay/index.ts";
import { searchOrders, searchRequests, type TunedValues, tunings } from "../stage/index.ts";
import { requestSearch, steeringView } from "./console.ts";
import { optimizationCoordinator, populationSearch } from "./index.ts";
import { searchRuns } from "./tables.ts";

const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const TUNING = {
  every: 2,
  parameters: { exploration: { low: 0.05, high: 5, start: 0.6 } },
  evaluation: { simulations: 9 },
  generations: 6,
  blocks: 40,
  proof_blocks: 250,
};

const open = async (tuning: object = {}, options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld({
    only: ["training_coordinator", "auto_promotion"],
    more: (services) => [optimizationCoordinator(services), populationSearch(services), queuePopulator(services)],
    plan: { selfplay: { exploration: 2.4, simulations: 9 }, tuning: { ...TUNING, ...tuning } },
    ...options,
  });
  worlds.push(world);
  await world.first();
  return world;
};

const hill = (values: unknown): number => -120 * Math.log((values as TunedValues).exploration! / 0.6) ** 2;

/** Plays a game of a search as strong as its parameters are. */
async function play(w: LearningWorld, lease: Lease, eloOf: (values: unknown) => number): Promise<void> {
  const { candidate_search, opponent_search } = inputOf(lease).parameters;
  await w.queue.start(lease);
  const strength = (name: string) => eloOf(name === "candidate" ? candidate_search : opponent_search);
  await w.queue.complete(lease, playMatch(lease, w.shelf, strength));
  await w.pass(20);
}

/** Plays until the search has ended, or so many jobs are done. */
async function searched(w: LearningWorld, eloOf = hill, most = 1_000): Promise<number> {
  let done = 0;
  for (let idle = 0; done < most && idle < 4; ) {
    const lease = await w.claim("evaluation");
    if (lease === undefined) {
      idle += 1;
      await w.pass(1_500);
      continue;
    }
    idle = 0;
    done += 1;
    await play(w, lease, eloOf);
  }
  return done;
}

describe("a search for better parameters of self-play", () => {
  test("is begun by plan, proven, applied from the next iteration on, and told", async () => {
    const w = await open();
    await w.turn("evaluation", 1);
    await w.pass(2_000);
    expect(w.row(searchOrders)).toBeUndefined();
    await w.turn("evaluation", 2);
    await w.pass(2_000);
    expect(w.row(searchOrders)).toMatchObject({ run_id: "tictac_2p:cmaes:1", iteration: 2, outcome: null });
    expect(w.said("CMAES_TRIGGERED")).toMatchObject([{ payload: { parameters: { exploration: 2.4 } } }]);
    await searched(w);
    const [step] = w.row(tunings)!.steps;
    expect(w.row(searchOrders)!.outcome).toBe("applied");
    expect(step).toMatchObject({ from_iteration: 3, run_id: "tictac_2p:cmaes:1" });
    expect(step!.evidence.low).toBeGreaterThan(0);
    expect(step!.values.exploration).toBeLessThan(1.5);
    expect(w.said("CMAES_COMPLETED")).toMatchObject([{ payload: { generations: 6, best_parameters: step!.values } }]);
    const told = { parameter: "exploration", value: step!.values.exploration, previous_value: 2.4 };
    expect(w.said("HYPERPARAMETER_UPDATED")).toMatchObject([{ payload: told }]);
    expect(w.said("ADAPTIVE_PARAMS_CHANGED")).toHaveLength(1);
    await w.turn("selfplay", 3);
    await w.pass(2_000);
    expect(w.row(selfplayOrders)!.parameters).toEqual({ ...step!.values, simulations: 9 });
    expect(w.troubles()).toEqual([]);
  });

  test("holds the games of the next iteration until it has ended, and says so", async () => {
    const w = await open();
    await w.turn("evaluation", 2);
    await w.pass(2_000);
    await w.turn("selfplay", 3);
    await w.pass(2_000);
    expect(w.row(goals)!.waits).toMatchObject([{ for: "search", actual: "tictac_2p:cmaes:1 is under way" }]);
    expect(w.row(selfplayOrders)?.iteration).not.toBe(3);
    await searched(w);
    expect(w.row(selfplayOrders)).toMatchObject({ iteration: 3, parameters: w.row(tunings)!.steps[0]!.values });
  });

  test("changes nothing where nothing is better", async () => {
    const w = await open();
    await w.turn("evaluation", 2);
    await searched(w, () => 0);
    expect(w.row(searchOrders)).toMatchObject({ outcome: "kept", ended: expect.stringContaining("not proven better") });
    expect(w.row(tunings)).toBeUndefined();
    expect(w.said("HYPERPARAMETER_UPDATED")).toEqual([]);
    await w.turn("selfplay", 3);
    await w.pass(2_000);
    expect(w.row(selfplayOrders)!.parameters).toEqual({ exploration: 2.4, simulations: 9 });
  });

  test("goes on where it was, number by number, in another process", async () => {
    const found: unknown[] = [];
    for (const stops of [[], [3, 5, 20]]) {
      const w = await open();
      await w.turn("evaluation", 2);
      await w.pass(2_000);
      for (const jobs of stops) {
        await searched(w, hill, jobs);
        await w.restart();
      }
      await searched(w);
      const { cma, proof, found: values } = w.row(searchRuns)!;
      found.push({ cma, proof, values });
    }
    expect(found[0]).toStrictEqual(found[1]);
  });

  test.each([
    ["a job that fails for good", "SEARCH_JOB_FAILED"],
    ["scores that are no numbers", "MATCH_RESULTS_BROKEN"],
    ["results that are not there", "MATCH_RESULTS_MISSING"],
  ])("ends with a typed failure and applies nothing: %s", async (_, code) => {
    const w = await open();
    await w.turn("evaluation", 2);
    await w.pass(2_000);
    const lease = (await w.claim("evaluation"))!;
    await w.queue.start(lease);
    const bad = `${JSON.stringify({ candidate: "candidate", opponent: "incumbent", blocks: [{ opening: 1, scores: [Number.NaN, 7] }] }).replace("null", "1e999")}\n`;
    if (code === "SEARCH_JOB_FAILED")
      await w.queue.fail(lease, { class: "bad_input", error: "the file of the model is damaged", error_code: "BAD" });
    else
      await w.queue.complete(lease, {
        outputs: code === "MATCH_RESULTS_MISSING" ? [] : [{ name: "pairs.jsonl", ...w.shelf.put(bad) }],
        counts: { games: 80 },
      });
    await w.pass(4_000);
    expect(w.row(searchRuns)).toMatchObject({ state: "failed", failure: { code } });
    expect(w.row(searchOrders)!.outcome).toBe("failed");
    expect(w.row(tunings)).toBeUndefined();
    // Nobody plays on for it.
    expect(await w.claim("evaluation")).toBeUndefined();
    await w.turn("selfplay", 3);
    await w.pass(2_000);
    expect(w.row(selfplayOrders)!.iteration).toBe(3);
  });

  test("is given up after an hour, and the loop goes on", async () => {
    const w = await open();
    await w.turn("evaluation", 2);
    await w.pass(2_000);
    await w.turn("selfplay", 3);
    const ordered = w.row(searchOrders)!;
    await w.driven(w.change((rows) => rows.put(searchOrders, w.configKey, { ...ordered, at: ordered.at - 3_600_000 })));
    await w.pass(4_000);
    expect(w.row(searchOrders)).toMatchObject({ outcome: "failed", ended: "it took longer than 60 minutes" });
    expect(w.row(searchRuns)).toMatchObject({ state: "failed", failure: { code: "SEARCH_GIVEN_UP" } });
    expect(w.row(selfplayOrders)!.iteration).toBe(3);
  });

  test("is begun by nobody where the plan says nothing of it, and by a person once", async () => {
    const w = await open({ every: null });
    for (const iteration of [1, 2, 3]) await w.turn("evaluation", iteration);
    await w.pass(3_000);
    expect(w.row(searchOrders)).toBeUndefined();
    const ports = { router: w.router as never, store: w.store, clock: w.clock };
    const by = { actor: "ann", reason: "a trial", dryRun: false };
    const asked = await w.driven(requestSearch(ports, w.configKey, by));
    expect(asked.changes).toEqual([{ what: "search", before: null, after: "asked for" }]);
    expect((await w.driven(requestSearch(ports, w.configKey, by))).changes).toEqual([]);
    await w.pass(3_000);
    expect(w.row(searchOrders)).toMatchObject({ reason: "ann: a trial", iteration: 3 });
    const [view] = steeringView(w.store).configs;
    expect(view).toMatchObject({ tuned: null, search: { state: "searching", generation: 0, outcome: null } });
    await searched(w);
    await w.pass(5_000);
    expect(w.row(searchOrders)).toMatchObject({ run_id: "tictac_2p:cmaes:1", outcome: "applied" });
    expect(steeringView(w.store).configs[0]!.tuned!.from_iteration).toBe(4);
    await w.pass(5_000);
    expect(w.said("CMAES_TRIGGERED")).toHaveLength(1);
  });

  test("is begun once by a plateau, where the plan says so", async () => {
    const w = await open({ every: null, on_plateau: true });
    await w.turn("evaluation", 4);
    const plateau = { config_key: w.configKey, metric_name: "elo", value: 1, best_value: 2, plateau_seconds: 60 };
    await w.driven(w.router.publish("PLATEAU_DETECTED", plateau as never, { source: "test" }).then(() => undefined));
    await w.pass(3_000);
    expect(w.row(searchOrders)).toMatchObject({ reason: "elo has stopped improving", iteration: 4 });
    await searched(w, () => 0);
    await w.turn("evaluation", 5);
    await w.pass(3_000);
    expect(w.said("CMAES_TRIGGERED")).toHaveLength(1);
  });

  test("is refused where nothing may be tuned, or what counts is out of bounds", async () => {
    const by = { actor: "ann", reason: "a trial", dryRun: false };
    const w = await open({ parameters: {} });
    const ports = { router: w.router as never, store: w.store, clock: w.clock };
    await expect(w.driven(requestSearch(ports, w.configKey, by))).rejects.toMatchObject({ code: "NOTHING_TO_TUNE" });
    const other = await open({ parameters: { exploration: { low: 0.1, high: 1, start: 0.6 } } });
    const own = { router: other.router as never, store: other.store, clock: other.clock };
    await expect(other.driven(requestSearch(own, other.configKey, by))).rejects.toMatchObject({
      code: "KNOB_OUT_OF_BOUNDS",
    });
    expect(other.row(searchRequests)).toBeUndefined();
    await other.turn("evaluation", 2);
    await other.pass(3_000);
    expect(other.row(searchRuns)).toMatchObject({ state: "failed", failure: { code: "KNOB_OUT_OF_BOUNDS" } });
    expect(other.row(searchOrders)!.outcome).toBe("failed");
  });
});
