import { afterEach, describe, expect, test } from "vitest";
import {
  CHAMPION,
  KEY,
  type PipelineWorld,
  type PipelineWorldOptions,
  pipelineWorld,
} from "../../../test/unit/pipeline/pipeline-world.ts";
import { createWriteSet, defineTable } from "../../router/index.ts";
import { jobScheduler } from "../../work/units/job-scheduler/job-scheduler.unit.ts";
import { champions } from "../models/index.ts";
import { seedFor, selfplayWork, trainingWork } from "../stage/index.ts";
import { waitsOf } from "../waits.ts";
import { idleRoom } from "./orders.ts";
import { allocations, goals, idleNodes, qualities, rejections, selfplayOrders, suspects } from "./tables.ts";

const worlds: PipelineWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (options: PipelineWorldOptions = {}): PipelineWorld => {
  const opened = pipelineWorld(options);
  worlds.push(opened);
  return opened;
};
const HOUR = 3_600_000;
const pressures = defineTable<{ level: string; since: number }>("work_pressures");
const press = (w: PipelineWorld, level: string) =>
  w.write((rows) => rows.put(pressures, "work_queue", { level, since: 0 }));
const payloadsOf = async (w: PipelineWorld, node = "a") => {
  const leases = await w.queue.claim({
    node_id: node,
    most: 100,
    offer: { cpu: 99, gpu: 0, memory_gb: 999, gpu_memory_gb: 0, tags: [] },
  });
  return leases.map(({ payload }) => payload as { parameters: object; seed: number; inputs: object[] });
};

describe("queue_populator", () => {
  test("puts the games of an iteration into the queue, cut by the plan, on the word that the stage was entered", async () => {
    const w = world({ everyMs: HOUR });
    await w.plan({ games_per_iteration: 45, games_per_job: 20, selfplay: { simulations: 8 } });
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay", { iteration: 3, wake: true });
    await w.pass(100);
    expect(w.jobs("selfplay").map(({ dedup_key, batch_id, config_key }) => [dedup_key, batch_id, config_key])).toEqual(
      [0, 1, 2].map((n) => [`${KEY}:3:selfplay:1/${n}`, `${KEY}:3:selfplay:1`, KEY]),
    );
    expect(await payloadsOf(w)).toEqual(
      [
        [0, 20],
        [20, 20],
        [40, 5],
      ].map(([first_game, games]) => ({
        parameters: { simulations: 8, games, first_game },
        seed: seedFor(7, "selfplay", 3),
        inputs: [{ name: "model", sha256: CHAMPION }],
      })),
    );
  });

  test("does so without any event, and only once however often it looks", async () => {
    const w = world();
    await w.plan();
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay");
    await w.pass(30_000);
    expect(w.jobs("selfplay")).toHaveLength(4);
    expect(w.row(selfplayOrders)).toMatchObject({
      iteration: 1,
      attempt: 1,
      wanted: ["p0", "p1", "p2", "p3"],
      whole: true,
    });
  });

  test.each([
    ["none", 12],
    ["soft", 6],
    ["hard", 1],
    ["stop", 1],
  ])(
    "under pressure %s has %i jobs in the queue, says what it waits for, and goes on as they end",
    async (level, jobs) => {
      const w = world();
      await w.plan({ games_per_iteration: 200, games_per_job: 10 });
      await press(w, level);
      await w.runtime([w.units.populator({ maxSelfplayJobs: 12 }), w.units.orchestrator()]);
      await w.turn("selfplay");
      await w.pass(5_000);
      expect(w.jobs("selfplay")).toHaveLength(jobs);
      expect(w.row(goals)?.waits).toMatchObject([{ for: "room_in_queue", required: `fewer than ${jobs} under way` }]);
      await w.work();
      await w.pass(5_000);
      expect(w.jobs("selfplay")).toHaveLength(jobs + 1);
      await press(w, "none");
      for (let round = 0; round < 20; round += 1) {
        await w.workAll();
        await w.pass(2_000);
      }
      expect(w.row(selfplayWork)).toMatchObject({ state: "done", evidence: { games: 200, jobs: 20 } });
      expect(w.row(goals)?.waits).toEqual([]);
    },
  );

  describe("while another champion was crowned", () => {
    const NEXT = "d".repeat(64);
    const crowned = (w: PipelineWorld) =>
      w.write((rows) => {
        const about = { iteration: 1, generation: 2, cause: "hand", evidence: {}, by: "test" } as const;
        rows.put(champions, KEY, { model: NEXT, since: w.clock.now(), ...about });
      });
    /** One part is played and one is under way when the next champion comes. */
    const begun = async () => {
      const w = world();
      await w.plan({ games_per_iteration: 30, games_per_job: 10 });
      await w.runtime([w.units.populator({ oldChampionMs: 60_000 }), w.units.orchestrator()]);
      await w.turn("selfplay");
      await w.pass(3_000);
      await w.work();
      await w.pass(3_000);
      await crowned(w);
      return w;
    };
    const models = async (w: PipelineWorld) => (await payloadsOf(w)).map(({ inputs }) => inputs);

    test("the old one plays on within its time, and then the new one plays what is left; each game knows its model", async () => {
      const w = await begun();
      await w.pass(50_000);
      expect(w.row(selfplayOrders)?.played_by).toBeUndefined();
      await w.pass(20_000);
      const open = w.jobs("selfplay").filter(({ state }) => state === "pending");
      expect(w.row(selfplayOrders)?.played_by).toEqual({ p1: NEXT, p2: NEXT });
      expect(open.map(({ dedup_key }) => dedup_key)).toEqual(open.map(() => expect.stringContaining(":after:")));
      expect(await models(w)).toEqual(open.map(() => [{ name: "model", sha256: NEXT }]));
    });

    test("the games are told apart in the catalog, and the iteration is whole", async () => {
      const w = await begun();
      await w.pass(70_000);
      await w.workAll();
      await w.pass(3_000);
      expect(w.row(selfplayWork)).toMatchObject({ state: "done" });
      expect(w.row(selfplayWork)?.own.segments.map(({ part, model }) => [part, model])).toEqual([
        ["p0", undefined],
        ["p1", NEXT],
        ["p2", NEXT],
      ]);
    });

    test("the old one plays on, and that is named, where no node has shown that it can play with the new one", async () => {
      const w = await begun();
      w.way.isOut = false;
      await w.pass(70_000);
      expect(w.row(goals)?.waits).toMatchObject([{ for: "champion_of_now", required: NEXT.slice(0, 12) }]);
      expect(await models(w)).toEqual([1, 2].map(() => [{ name: "model", sha256: CHAMPION }]));
    });

    test("a node that cannot play with it gets no job with it, unless nobody else is there", async () => {
      const w = world();
      await w.plan({ games_per_iteration: 10, games_per_job: 10 });
      w.way.unfit = ["a"];
      await w.runtime([w.units.populator()]);
      await w.turn("selfplay");
      await w.pass(3_000);
      expect([(await payloadsOf(w, "a")).length, (await payloadsOf(w, "b")).length]).toEqual([0, 1]);
    });
  });

  test("adds nothing while the config is held, and says so", async () => {
    const w = world();
    await w.plan();
    await w.pause("out for lunch");
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay");
    await w.pass(5_000);
    expect(w.jobs("selfplay")).toEqual([]);
    expect(w.row(goals)?.waits).toMatchObject([{ for: "pause", actual: "ann: out for lunch" }]);
    await w.pause(null);
    await w.pass(5_000);
    expect(w.jobs("selfplay")).toHaveLength(4);
  });

  test("stops asking when the goal is met, once what was begun is done", async () => {
    const w = world();
    await w.plan({ target_elo: 1_000 });
    await w.runtime([w.units.populator(), w.units.orchestrator()]);
    const at = w.clock.now();
    await w.rated({ model_id: "m0", at, elo: 800, low: 760, high: 840 });
    await w.turn("selfplay");
    await w.pass(3_000);
    expect(w.said("SELFPLAY_TARGET_UPDATED")[0]?.payload).toMatchObject({ target_games: 40, elo_gap: 200 });
    await w.rated({ model_id: "m1", at: at + 86_400_000, elo: 1_100, low: 1_050, high: 1_150 });
    await w.pass(3_000);
    expect(w.said("SELFPLAY_TARGET_UPDATED")[1]?.payload).toMatchObject({ target_games: 0, previous_target_games: 40 });
    expect(w.said("ELO_VELOCITY_CHANGED").map(({ payload }) => payload)).toMatchObject([
      { trend: "improving", previous_elo_per_day: 0 },
    ]);
    expect(w.said("ELO_VELOCITY_CHANGED")[0]?.payload.elo_per_day).toBeCloseTo(300);
    await w.workAll();
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({ state: "done" });
    await w.turn("selfplay", { iteration: 2 });
    await w.pass(5_000);
    expect(w.jobs("selfplay")).toHaveLength(4);
    expect(w.row(goals)?.waits).toMatchObject([{ for: "goal", actual: expect.stringContaining("at least 1050") }]);
    expect(w.row(selfplayWork)?.waits).toMatchObject([{ for: "jobs", actual: expect.stringContaining("goal") }]);
  });

  test("waits for a champion, and for somebody who can play", async () => {
    const w = world({ kinds: {} });
    await w.plan();
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay", { champion: null });
    await w.pass(2_000);
    expect(w.row(goals)?.waits).toMatchObject([{ for: "champion", actual: null }]);
    await w.turn("selfplay");
    await w.pass(2_000);
    expect(w.row(goals)?.waits).toMatchObject([{ for: "queue", actual: expect.stringContaining("WORK_KIND_UNKNOWN") }]);
  });

  test("plays rejected parts again, elsewhere, under the same seeds, and keeps the others", async () => {
    const w = world({ nodes: ["a", "b", "c"] });
    await w.plan();
    await w.runtime([w.units.populator(), w.units.orchestrator()]);
    await w.turn("selfplay");
    await w.pass(3_000);
    while (await w.work("a"));
    await w.pass(3_000);
    const before = w.row(selfplayWork)!;
    const { work_id, producer, games, samples_file } = before.own.segments[2]!;
    const entry = { attempt: 1, part: "p2", work_id, producer, games, reason: "labels", samples: samples_file.sha256 };
    await w.write((rows) => rows.put(rejections, KEY, { iteration: 1, entries: [entry] }));
    // A plan that was changed meanwhile is for the next iteration.
    await w.plan({ games_per_job: 5, selfplay: { simulations: 1 } });
    await w.turn("selfplay", { attempt: 2 });
    await w.pass(3_000);
    expect(w.jobs("selfplay")).toHaveLength(5);
    const again = w.jobs("selfplay").at(-1)!;
    expect(again.dedup_key).toBe(`${KEY}:1:selfplay:2/0`);
    expect(w.queue.placement(again.work_id)?.excluded).toEqual(["a"]);
    expect(w.row(selfplayWork)).toMatchObject({ attempt: 2, state: "running", own: { excluded: ["a"] } });
    expect(await w.work("a")).toBe(false);
    await w.work("b");
    await w.pass(3_000);
    const after = w.row(selfplayWork)!;
    expect(after.state).toBe("done");
    expect(after.own.segments.map(({ part }) => part)).toEqual(["p0", "p1", "p2", "p3"]);
    expect(after.own.segments[2]).toMatchObject({ producer: "b", work_id: again.work_id, samples_file });
    expect(after.own.segments[0]).toEqual(before.own.segments[0]);
  });

  test("goes on with jobs of an earlier attempt that still run", async () => {
    const w = world();
    await w.plan();
    await w.runtime([w.units.populator(), w.units.orchestrator()]);
    await w.turn("selfplay");
    await w.pass(3_000);
    await w.work();
    await w.turn("selfplay", { attempt: 2 });
    await w.pass(3_000);
    expect(w.jobs("selfplay")).toHaveLength(4);
    await w.workAll();
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({ attempt: 2, state: "done", evidence: { games: 40 } });
    expect(w.row(selfplayOrders)?.whole).toBe(false);
  });

  test("lets suspects play nothing while others are there", async () => {
    const w = world();
    await w.plan();
    const suspect = {
      producer: "a",
      reasons: ["labels"],
      times: 1,
      first_iteration: 1,
      last_iteration: 1,
      until_iteration: 6,
      since: 5,
      accepted: [],
    };
    await w.write((rows) => rows.put(suspects, KEY, { a: suspect }));
    await w.runtime([w.units.populator()]);
    await w.turn("selfplay", { iteration: 5 });
    await w.pass(2_000);
    expect(w.jobs("selfplay").map(({ work_id }) => w.queue.placement(work_id)?.excluded)).toEqual(Array(4).fill(["a"]));
    expect(waitsOf((table) => w.row(table))).toMatchObject([
      { unit: "quality_monitor_daemon", for: "producer a", required: "iteration 6" },
    ]);
  });
});

describe("selfplay_orchestrator", () => {
  test("follows jobs to their end by events alone, and enters each into the books once", async () => {
    const w = world({ everyMs: HOUR });
    await w.plan();
    await w.runtime([w.units.populator(), w.units.orchestrator()]);
    await w.turn("selfplay", { wake: true });
    await w.pass(100);
    await w.work("b");
    await w.pass(100);
    expect(w.row(selfplayWork)).toMatchObject({
      state: "running",
      waits: [{ for: "games", actual: 10, required: 40 }],
    });
    await w.workAll();
    await w.pass(1_000);
    const row = w.row(selfplayWork)!;
    expect(row).toMatchObject({
      state: "done",
      evidence: {
        games: 40,
        rows: 400,
        jobs: 4,
        wanted_games: 40,
        producers: { a: expect.any(Number), b: expect.any(Number) },
      },
      waits: [],
    });
    expect(row.outputs).toHaveLength(8);
    expect(row.own.segments.map(({ part, games, rows }) => [part, games, rows])).toEqual(
      ["p0", "p1", "p2", "p3"].map((part) => [part, 10, 100]),
    );
    expect(w.said("SELFPLAY_COMPLETE")).toHaveLength(4);
    expect(w.said("SELFPLAY_COMPLETE")[0]?.payload).toMatchObject({
      config_key: KEY,
      node_id: "b",
      games: 10,
      samples: 100,
      model_id: CHAMPION,
    });
    expect(w.books()).toEqual({ produced: 40, by: { in_flight: 40 }, balanced: true });
  });

  test("tells a job that failed for good as a failure of the stage, after it brought the others home", async () => {
    let failures = 0;
    const w = world({
      instead: ({ payload }) => {
        const first = (payload as { parameters: { first_game: number } }).parameters.first_game;
        if (first !== 10 || failures > 0) return undefined;
        failures += 1;
        return { class: "bad_input", error: "no such model", error_code: "NO_MODEL" };
      },
    });
    await w.plan();
    const runtime = await w.runtime([w.units.populator({ maxSelfplayJobs: 2 }), w.units.orchestrator()]);
    await w.turn("selfplay");
    await w.pass(3_000);
    const hung = await w.queue.claim({
      node_id: "b",
      most: 1,
      offer: { cpu: 9, gpu: 0, memory_gb: 9, gpu_memory_gb: 0, tags: [] },
    });
    await w.work();
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({ state: "running", waits: [{ for: "games" }, { for: "open_jobs" }] });
    expect(w.row(goals)?.waits).toMatchObject([{ for: "failed_jobs", actual: "p1: no such model" }]);
    await w.queue.complete(hung[0]!, {
      outputs: [{ name: "samples.npz", sha256: "ab".repeat(32), bytes: 5 }],
      counts: { games: 10, rows: 9 },
    });
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({
      state: "failed",
      failure: { code: "SELFPLAY_JOB_FAILED", retryable: true, message: expect.stringContaining("no such model") },
      own: { segments: [{ part: "p0", games_file: null }] },
    });
    expect(runtime.status().find(({ name }) => name === "selfplay_orchestrator")).toMatchObject({ status: "degraded" });
    await w.turn("selfplay", { attempt: 2 });
    for (let round = 0; round < 4; round += 1) {
      await w.pass(3_000);
      await w.workAll();
    }
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({ state: "done", attempt: 2, evidence: { games: 40 } });
    expect(w.books()).toMatchObject({ produced: 40, balanced: true });
  });

  test("does not take a job without samples for games", async () => {
    const outputs = [
      { name: "log.txt", sha256: "ab".repeat(32), bytes: 1 },
      { name: "notes.txt", sha256: "cd".repeat(32), bytes: 1 },
    ];
    const w = world({ instead: () => ({ outputs, counts: { games: 10 } }) });
    await w.plan();
    await w.runtime([w.units.populator(), w.units.orchestrator()]);
    await w.turn("selfplay");
    await w.pass(3_000);
    await w.workAll();
    await w.pass(3_000);
    expect(w.row(selfplayWork)).toMatchObject({
      state: "failed",
      failure: { code: "SELFPLAY_NO_SAMPLES" },
      own: { segments: [] },
    });
    expect(w.books().produced).toBe(0);
  });
});

describe("selfplay_scheduler", () => {
  const OTHER = "hex5_2p";
  test("gives each config a share with its reasons, and tells noticeable changes", async () => {
    const w = world();
    await w.plan();
    await w.plan({ weight: 3 }, OTHER);
    await w.runtime([w.units.scheduler()]);
    await w.turn("selfplay");
    await w.turn("selfplay", { key: OTHER });
    await w.pass(3_000);
    expect(w.row(allocations)).toMatchObject({ share: 0.375, games: 40, configs: 2, urgency: "normal" });
    expect(w.row(allocations, OTHER)).toMatchObject({
      share: 0.625,
      reasons: expect.arrayContaining([{ name: "weight", actual: 3, factor: 3 }]),
    });
    const told = w.said("SELFPLAY_ALLOCATION_UPDATED").length;
    await w.pass(20_000);
    expect(w.said("SELFPLAY_ALLOCATION_UPDATED")).toHaveLength(told);
    await w.pause("no", OTHER);
    await w.pass(3_000);
    expect(w.row(allocations)).toMatchObject({ share: 1, configs: 1 });
    expect(w.row(allocations, OTHER)).toBeUndefined();
    expect(w.said("SELFPLAY_ALLOCATION_UPDATED").at(-1)?.payload).toMatchObject({
      config_key: KEY,
      allocated_share: 1,
    });
  });

  test("applies the rate of a penalty to the jobs of the config, for the iteration of the guilt and the next", async () => {
    const w = world();
    await w.plan({ games_per_iteration: 400, games_per_job: 10 });
    await w.runtime([w.units.scheduler(), w.units.populator({ maxSelfplayJobs: 12 })]);
    const guilt = { reasons: ["rules"], times: 1, first_iteration: 1, last_iteration: 1, until_iteration: 6 };
    await w.write((rows) =>
      rows.put(suspects, KEY, { bad: { producer: "bad", ...guilt, since: 0, accepted: [], rate: 0.5 } }),
    );
    await w.turn("selfplay", { state: "waiting" });
    await w.pass(3_000);
    expect(w.row(allocations)).toMatchObject({ share: 1, rate: 0.5 });
    await w.turn("selfplay");
    await w.pass(5_000);
    expect(w.jobs("selfplay")).toHaveLength(6);
    await w.turn("selfplay", { iteration: 3 });
    await w.pass(5_000);
    expect(w.row(allocations)).toMatchObject({ rate: 1 });
  });

  /** Both share alike: what changes from here on follows from an event, since the next look is an hour away. */
  const firstLook = async (w: PipelineWorld) => {
    await w.pass(60_000);
    expect(w.row(allocations)).toMatchObject({ share: 0.5 });
  };

  test.each([
    ["TRAINING_EARLY_STOPPED", { early_stopped: true }],
    ["TRAINING_LOSS_TREND", { early_stopped: false, loss_trend: "declining" }],
  ] as const)("%s has it look at what the run left, and more games go there", async (event, evidence) => {
    const w = world({ everyMs: HOUR });
    await w.plan();
    await w.plan({}, OTHER);
    await w.runtime([w.units.scheduler()]);
    await w.turn("selfplay");
    await w.turn("selfplay", { key: OTHER });
    await firstLook(w);
    const run = { iteration: 0, attempt: 1, state: "done", since: 0, ended_at: 1, jobs: {}, outputs: [] } as const;
    const own = { model: null, checkpoint: null };
    await w.write((rows) => rows.put(trainingWork, KEY, { ...run, evidence, failure: null, waits: [], own }));
    const losses = { config_key: KEY, job_id: "j", training_epoch: 1 };
    const more =
      event === "TRAINING_LOSS_TREND"
        ? { loss: 2, trend: "declining", previous_loss: 1 }
        : { final_loss: 2, best_loss: 2 };
    await w.driven(w.router.publish(event, { ...losses, ...more } as never, { source: "test" }));
    await w.pass(100);
    expect(w.row(allocations)!.share).toBeGreaterThan(0.5);
  });

  test("QUALITY_DISTRIBUTION_CHANGED has it look at the mix of the games, and fewer go where they are poor", async () => {
    const w = world({ everyMs: HOUR });
    await w.plan();
    await w.plan({}, OTHER);
    await w.runtime([w.units.scheduler()]);
    await w.turn("selfplay");
    await w.turn("selfplay", { key: OTHER });
    await firstLook(w);
    const shares = { good_share: 0, poor_share: 0.9 };
    const scored = { score: 0.2, band: "poor", at: 0, iteration: 1, games: 40, components: {} } as const;
    await w.write((rows) => rows.put(qualities, KEY, { ...scored, ...shares }));
    const told = { config_key: KEY, quality_score: 0.2, high_quality_share: 0, low_quality_share: 0.9, games: 40 };
    await w.driven(w.router.publish("QUALITY_DISTRIBUTION_CHANGED", told as never, { source: "test" }));
    await w.pass(100);
    expect(w.row(allocations)!.share).toBeLessThan(0.5);
  });

  const gone = { node_id: "b", reason: "test" };
  test.each([
    ["NODE_UNHEALTHY", { ...gone, consecutive_failures: 3, node_state: "unhealthy" }],
    ["NODE_RECOVERED", { node_id: "b", downtime_seconds: 60, recovery_action: "restart" }],
    ["NODE_OVERLOADED", { node_id: "b", resource: "cpu", usage: 0.99, threshold: 0.9 }],
    ["NODE_TERMINATED", { ...gone, provider: "local" }],
    ["NODE_RETIRED", gone],
    ["HOST_OFFLINE", gone],
    ["P2P_NODE_DEAD", { node_id: "b", last_seen_at: 1, silent_seconds: 120 }],
  ] as const)("%s has it count what the node had free no more", async (event, payload) => {
    const w = world({ everyMs: HOUR });
    await w.runtime([w.units.scheduler()]);
    await w.write((rows) => {
      for (const node of ["a", "b"]) rows.put(idleNodes, node, { free_slots: 4, at: w.clock.now(), asked_at: 0 });
    });
    const room = () => idleRoom(createWriteSet(w.store), w.clock.now());
    expect(room()).toBe(8);
    await w.driven(w.router.publish(event, payload as never, { source: "test" }));
    await w.pass(100);
    expect(room()).toBe(4);
  });

  test("lets the queue hand out jobs as the shares say", async () => {
    const w = world();
    await w.plan({ games_per_iteration: 400 });
    await w.plan({ games_per_iteration: 400, weight: 5 }, OTHER);
    await w.runtime([w.units.scheduler(), w.units.populator()]);
    await w.turn("selfplay", { state: "waiting" });
    await w.turn("selfplay", { state: "waiting", key: OTHER });
    await w.pass(3_000);
    await w.turn("selfplay");
    await w.turn("selfplay", { key: OTHER });
    await w.pass(3_000);
    const share = w.row(allocations, OTHER)!.share;
    const counts = { [KEY]: 0, [OTHER]: 0 };
    for (let n = 0; n < 24; n += 1) {
      const [lease] = await w.queue.claim({
        node_id: "a",
        most: 1,
        offer: { cpu: 99, gpu: 0, memory_gb: 999, gpu_memory_gb: 0, tags: [] },
      });
      counts[lease!.config_key as keyof typeof counts] += 1;
    }
    expect(counts[OTHER] / 24).toBeGreaterThan(share - 0.1);
    expect(counts[OTHER] / 24).toBeLessThan(share + 0.1);
  });

  test("announces a batch once when all its jobs are out; whoever hands batches out finds them there", async () => {
    const w = world();
    await w.plan();
    await w.runtime([
      w.units.scheduler(),
      w.units.populator(),
      w.units.orchestrator(),
      jobScheduler({ queue: w.queue }),
    ]);
    await w.turn("selfplay");
    await w.pass(10_000);
    expect(w.said("BATCH_SCHEDULED").map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ batch_id: `${KEY}:1:selfplay:1`, jobs: 4, games_per_job: 10, work_type: "selfplay" }),
    ]);
    expect(w.said("BATCH_DISPATCHED")[0]?.payload).toMatchObject({ jobs: 4, failed_jobs: 0 });
    expect(w.jobs("selfplay")).toHaveLength(4);
  });
});
