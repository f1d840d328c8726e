import { afterEach, describe, expect, test } from "vitest";
import {
  inputOf,
  type LearningWorld,
  learningWorld,
  playMatch,
  type WorldOptions,
} from "../../../../../test/unit/pipeline/learning-world.ts";
import { OperatingError } from "../../../../kernel/index.ts";
import type { Lease } from "../../../../work/index.ts";
import { champions } from "../../../models/champion.ts";
import { evaluationWork, seedFor, trainingWork } from "../../../stage/index.ts";
import type { GatePlan } from "../../gate.ts";
import { gamesByPurpose, openingsOf, pairTallies } from "../../ledger.ts";
import { type GateVerdict, gateVerdicts, recordVerdict } from "../../verdicts.ts";

const ONLY = ["training_trigger", "training_coordinator", "evaluation_daemon", "auto_promotion"];
const worlds: LearningWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
/** A world whose first champion is there and whose first candidate waits for its gate. */
const open = async (gain: number, options: WorldOptions = {}): Promise<LearningWorld> => {
  const world = await learningWorld({ only: ONLY, ...options });
  worlds.push(world);
  await world.first();
  await world.trained(1, gain);
  return world;
};
/** A gate of before. */
const JUMP: GateVerdict = {
  config_key: "tictac_2p",
  iteration: 0,
  attempt: 1,
  candidate: "c",
  opponent: "o",
  budget: "default",
  verdict: "reject",
  reason: "LLR -3.",
  blocks: 20,
  games: 40,
  score: 0.5,
  counts: [1, 2, 3, 4, 10],
  llr: -3,
  elo0: 0,
  elo1: 50,
  alpha: 0.05,
  beta: 0.05,
  redundancy: 0,
  elo: 0,
  elo_low: 0,
  elo_high: 0,
  normalized_elo: 0,
  at: 1,
};
const jobs = (w: LearningWorld) => w.queue.list({ workType: "evaluation" });

describe("a gate", () => {
  test("orders one batch and one ahead, cut alike, with the seed of its iteration", async () => {
    const w = await open(0);
    await w.turn("evaluation", 1);
    const work = w.row(evaluationWork)!;
    expect(Object.keys(work.jobs)).toEqual(["b0p0", "b0p1", "b1p0", "b1p1"]);
    const leases = (await w.queue.claim({
      node_id: "x",
      most: 9,
      offer: { cpu: 99, gpu: 0, memory_gb: 99, gpu_memory_gb: 0, tags: [] },
    })) as Lease[];
    expect(leases.map((lease) => inputOf(lease).parameters.first_block)).toEqual([0, 5, 10, 15]);
    const { candidate, opponent } = work.own;
    for (const lease of leases) {
      expect(inputOf(lease).seed).toBe(seedFor(7, "gate", 1));
      expect(inputOf(lease).inputs).toEqual([
        { name: "candidate", sha256: candidate },
        { name: "opponent", sha256: opponent },
      ]);
      expect(inputOf(lease).parameters).toMatchObject({ candidate, opponent, blocks: 5 });
    }
    expect(w.said("EVALUATION_STARTED")).toMatchObject([
      {
        payload: { job_id: "tictac_2p:1:evaluation:1", model_id: candidate, games_planned: 200, opponents: [opponent] },
      },
    ]);
  });

  test("of a config whose gains jump about is surer before it promotes", async () => {
    const w = await open(0);
    const gains = [150, -120, 140, -130, 150];
    await w.driven(
      w.store.commit(
        gains.map((elo, n) =>
          recordVerdict({
            ...JUMP,
            config_key: w.configKey,
            attempt: n + 1,
            elo,
            elo_low: elo - 10,
            elo_high: elo + 10,
          }),
        ),
      ),
    );
    await w.turn("evaluation", 1);
    const { gate } = w.row(evaluationWork)!.evidence as unknown as { gate: GatePlan };
    expect(gate.alpha).toBeLessThan(0.04);
    expect(gate.alpha).toBeGreaterThanOrEqual(0.025);
    expect(gate.beta).toBe(0.05);
  });

  test("promotes on clear evidence, with numbers that people can read, and takes back what is not needed", async () => {
    const w = await open(300);
    const work = await w.evaluated(1);
    const { candidate, opponent } = work.own;
    expect(work).toMatchObject({ state: "done", own: { verdict: "promote" } });
    expect(work.own.llr).toHaveLength(work.own.batches);
    expect(work.own.counts.reduce((sum, n) => sum + n, 0)).toBe(10 * work.own.batches);
    const { elo, elo_low, elo_high, games } = work.evidence as Record<string, number>;
    expect(games).toBe(20 * work.own.batches);
    expect(elo_low).toBeGreaterThan(0);
    expect(elo).toBeGreaterThan(elo_low!);
    expect(elo_high).toBeGreaterThan(elo!);
    expect(w.said("PROMOTION_CANDIDATE")).toMatchObject([
      { payload: { model_id: candidate, champion_model_id: opponent } },
    ]);
    expect(w.said("EVALUATION_COMPLETED")).toMatchObject([{ payload: { passed: true, games } }]);
    expect(jobs(w).filter(({ state }) => state === "cancelled").length).toBeGreaterThan(0);
    expect(jobs(w).filter(({ state }) => state === "pending" || state === "running")).toEqual([]);
    expect(gamesByPurpose(w.store, w.configKey)).toEqual({ gate: games, rating: 0, regression: 0 });
    expect(gateVerdicts(w.store, w.configKey)).toMatchObject([
      { iteration: 1, verdict: "promote", games, candidate, opponent },
    ]);
    expect(w.troubles()).toEqual([]);
  });

  test("gives up the files of results that the ledger has, and no others", async () => {
    const w = await open(300);
    await w.evaluated(1);
    const booked = w.store
      .read<{ work_id: string }>("SELECT DISTINCT work_id FROM match_ledger")
      .map(({ work_id }) => work_id);
    const files = jobs(w).flatMap(({ work_id, evidence }) =>
      (evidence?.outputs ?? []).map(({ sha256 }) => ({ work_id, sha256 })),
    );
    const givenUp = w.store
      .read<{ sha256: string }>(
        "SELECT sha256 FROM sync_artifacts WHERE freed_at IS NOT NULL AND reason = 'it is in the ledger'",
      )
      .map(({ sha256 }) => sha256);
    expect(booked.length).toBeGreaterThan(1);
    expect(givenUp.toSorted()).toEqual(
      files
        .filter(({ work_id }) => booked.includes(work_id))
        .map(({ sha256 }) => sha256)
        .toSorted(),
    );
  });

  test("rejects a weaker one, and is inconclusive at the cap", async () => {
    const weak = await open(-200);
    expect((await weak.evaluated(1)).own.verdict).toBe("reject");
    const even = await open(30, { plan: { gate: { batch_blocks: 2, most_blocks: 4 } } });
    const work = await even.evaluated(1);
    expect(work.own).toMatchObject({ verdict: "inconclusive", batches: 2 });
    expect(even.said("PROMOTION_CANDIDATE")).toEqual([]);
  });

  test("comes to the same verdict and the same counts whoever is fast", async () => {
    const outcomes = [];
    for (const order of ["first", "last", "odd"]) {
      const w = await open(60);
      await w.turn("evaluation", 1);
      while (w.row(evaluationWork)?.state === "running") {
        const leases = await w.queue.claim({
          node_id: "x",
          most: 9,
          offer: { cpu: 99, gpu: 0, memory_gb: 99, gpu_memory_gb: 0, tags: [] },
        });
        if (leases.length === 0) await w.pass(1_100);
        if (order === "last") leases.reverse();
        if (order === "odd") leases.sort((a, b) => (Number(a.work_id.slice(1)) % 2) - (Number(b.work_id.slice(1)) % 2));
        for (const lease of leases) {
          const isOver = w.row(evaluationWork)?.state !== "running";
          if (isOver) break;
          await w.finish(lease);
        }
      }
      const { own, evidence } = w.row(evaluationWork)!;
      outcomes.push({ own, evidence });
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[2]).toEqual(outcomes[0]);
  });

  test("counts a block once, however often its completion is told", async () => {
    const w = await open(0, { plan: { gate: { batch_blocks: 4, most_blocks: 400 } } });
    await w.turn("evaluation", 1);
    await w.work(2);
    const before = pairTallies(w.store, w.configKey, "default", "gate");
    expect(before).toMatchObject([{ blocks: 4, games: 8 }]);
    const done = jobs(w).filter(({ state }) => state === "completed");
    for (const { work_id } of done)
      for (let i = 0; i < 3; i += 1)
        await w.driven(
          w.router
            .publish(
              "WORK_COMPLETED",
              {
                work_id,
                work_type: "evaluation",
                config_key: w.configKey,
                node_id: "x",
                attempts: 1,
                duration_seconds: 1,
                result: {},
              },
              { source: "test" },
            )
            .then((event) => w.router.settled(event)),
        );
    expect(pairTallies(w.store, w.configKey, "default", "gate")).toEqual(before);
    expect(
      openingsOf(
        w.store,
        done.map(({ work_id }) => work_id),
      ),
    ).toHaveLength(4);
  });
});

describe("an evaluation that proves nothing", () => {
  const failing = async (spoil: (lease: Lease, w: LearningWorld) => ReturnType<typeof playMatch>) => {
    const w = await open(100);
    await w.turn("evaluation", 1);
    for (let i = 0; i < 2; i += 1) {
      const lease = (await w.claim("evaluation"))!;
      await w.queue.start(lease);
      await w.queue.complete(lease, spoil(lease, w));
    }
    await w.pass(1_100);
    expect(w.said("EVALUATION_COMPLETED")).toEqual([]);
    expect(gateVerdicts(w.store, w.configKey)).toEqual([]);
    expect(jobs(w).filter(({ state }) => state === "pending")).toEqual([]);
    return w;
  };

  test("games that repeat each other: no verdict, and a person has to look", async () => {
    const w = await failing((lease, { shelf, strengths }) => {
      const played = playMatch(lease, shelf, (player) => strengths.get(player) ?? 0);
      return { ...played, summary: { redundancy: 0.8 } };
    });
    expect(w.row(evaluationWork)).toMatchObject({
      state: "failed",
      failure: { code: "EVALUATION_REDUNDANT", retryable: false },
    });
    expect(w.said("EVALUATION_FAILED")).toMatchObject([{ payload: { error_code: "EVALUATION_REDUNDANT" } }]);
  });

  test("openings that repeat each other are as bad", async () => {
    const w = await failing((lease, { shelf }) => {
      const { candidate, opponent, blocks } = inputOf(lease).parameters as {
        candidate: string;
        opponent: string;
        blocks: number;
      };
      const same = Array.from({ length: blocks }, () => ({ opening: 1, scores: [1, 1] }));
      const file = shelf.put(JSON.stringify({ candidate, opponent, blocks: same }));
      return { outputs: [{ name: "pairs.jsonl", ...file }], counts: { games: blocks * 2, redundancy: 0 } };
    });
    expect(w.row(evaluationWork)?.failure?.code).toBe("EVALUATION_REDUNDANT");
  });

  test("scores that no game can have", async () => {
    const w = await failing((lease, { shelf }) => {
      const { candidate, opponent, blocks } = inputOf(lease).parameters as {
        candidate: string;
        opponent: string;
        blocks: number;
      };
      const odd = Array.from({ length: blocks }, (_, opening) => ({ opening, scores: [0.9, 0.9] }));
      const file = shelf.put(JSON.stringify({ candidate, opponent, blocks: odd }));
      return { outputs: [{ name: "pairs.jsonl", ...file }], counts: { games: blocks * 2 } };
    });
    expect(w.row(evaluationWork)).toMatchObject({
      state: "failed",
      failure: { code: "MATCH_SCORES_ILLEGAL", retryable: true },
    });
    expect(gamesByPurpose(w.store, w.configKey).gate).toBe(0);
  });

  test("games without results", async () => {
    const w = await failing(() => ({ counts: { games: 10 } }));
    expect(w.row(evaluationWork)?.failure?.code).toBe("MATCH_RESULTS_MISSING");
  });

  test("a job that failed for good stops it only when its batch is the next to be looked at; another attempt plays anew", async () => {
    const w = await open(100);
    await w.turn("evaluation", 1);
    const leases = await w.queue.claim({
      node_id: "x",
      most: 4,
      offer: { cpu: 99, gpu: 0, memory_gb: 99, gpu_memory_gb: 0, tags: [] },
    });
    await w.queue.fail(leases[2]!, { class: "bad_input", error: "no such board" });
    await w.pass(1_100);
    expect(w.row(evaluationWork)?.state).toBe("running");
    await w.finish(leases[0]!);
    await w.finish(leases[1]!);
    // Both can play, as a trial shows: it is nobody's fault.
    expect(w.row(evaluationWork)).toMatchObject({
      state: "running",
      waits: [{ for: "trial", actual: 0, required: 2 }],
    });
    await w.work(2);
    expect(w.row(evaluationWork)).toMatchObject({
      state: "failed",
      failure: { code: "EVALUATION_JOB_FAILED", retryable: true },
    });
    await w.turn("evaluation", 1, 2);
    expect(w.row(evaluationWork)).toMatchObject({ attempt: 2, state: "running", own: { batches: 0 } });
    await w.work(1_000, () => w.row(evaluationWork)?.state !== "running");
    expect(w.row(evaluationWork)?.state).toBe("done");
    expect(w.troubles()).toEqual([]);
  });
});

describe("an evaluation that cannot begin", () => {
  test("waits for a node that holds the candidate, says so once, and goes on when there is one", async () => {
    let holding = 0;
    const w = await open(100, { holders: () => holding });
    await w.turn("evaluation", 1);
    await w.pass(5_000);
    const { model } = w.row(trainingWork)!.own;
    expect(w.row(evaluationWork)?.waits).toMatchObject([{ for: "candidate_node", actual: 0, required: 1 }]);
    expect(w.said("MODEL_EVALUATION_BLOCKED")).toMatchObject([{ payload: { model_id: model, holding_nodes: 0 } }]);
    holding = 1;
    await w.pass(1_100);
    expect(Object.keys(w.row(evaluationWork)!.jobs)).toHaveLength(4);
    expect(w.row(evaluationWork)?.waits).toEqual([]);
  });

  test("passes over a round without a candidate, and one whose candidate is the champion", async () => {
    const w = await open(0);
    await w.driven(
      w.change((rows) =>
        rows.put(trainingWork, w.configKey, { ...w.row(trainingWork)!, own: { model: null, checkpoint: null } }),
      ),
    );
    await w.turn("evaluation", 1);
    expect(w.row(evaluationWork)).toMatchObject({
      state: "done",
      own: { verdict: null },
      evidence: { skipped: "nothing was trained in this iteration" },
    });
    expect(jobs(w)).toEqual([]);
  });

  test("meets the champion of now, should it have changed since the iteration began", async () => {
    const w = await open(100);
    const other = "c".repeat(64);
    await w.driven(
      w.change((rows) => rows.put(champions, w.configKey, { ...w.champion()!, model: other, generation: 2 })),
    );
    await w.turn("evaluation", 1, 1, { champion: "d".repeat(64) });
    expect(w.row(evaluationWork)?.own.opponent).toBe(other);
  });

  test("a workload that plays no evaluations gets no promotions either", async () => {
    const w = await open(100, { plan: { kinds: ["selfplay", "training"] } });
    await w.turn("evaluation", 1);
    expect(w.row(evaluationWork)).toMatchObject({
      state: "failed",
      failure: { code: "EVALUATION_NOT_POSSIBLE", retryable: false },
    });
  });

  test("a result that cannot be read at the moment is waited for; one that is lost fails the attempt", async () => {
    const w = await open(100);
    await w.turn("evaluation", 1);
    w.shelf.trouble.fault = OperatingError.busy("DISK_BUSY", "the disk is busy");
    await w.work(2);
    expect(w.row(evaluationWork)).toMatchObject({
      state: "running",
      own: { batches: 0 },
      waits: [{ for: "match_results", actual: "the disk is busy" }],
    });
    w.shelf.trouble.fault = undefined;
    await w.pass(1_100);
    expect(w.row(evaluationWork)).toMatchObject({ own: { batches: 1 }, waits: [] });
    w.shelf.trouble.fault = OperatingError.notFound("ARTIFACT_NOT_FOUND", "it is gone");
    await w.work(2);
    expect(w.row(evaluationWork)).toMatchObject({
      state: "failed",
      failure: { code: "ARTIFACT_NOT_FOUND", retryable: true },
    });
  });
});

describe("pressure of evaluation", () => {
  test("is told when much is under way, and again when it has gone", async () => {
    const w = await open(0, {
      only: ["evaluation_daemon", "training_coordinator", "auto_promotion", "training_trigger"],
      settings: { evaluationPressureAt: 4, evaluationReleaseAt: 2 },
    });
    await w.turn("evaluation", 1);
    await w.pass(1_100);
    expect(w.said("EVALUATION_BACKPRESSURE")).toMatchObject([
      { payload: { scope: "evaluation", queue_depth: 4, threshold: 4, release_threshold: 2 } },
    ]);
    await w.evaluated(1);
    await w.pass(1_100);
    expect(w.said("EVALUATION_BACKPRESSURE_RELEASED")).toHaveLength(1);
  });
});
