import { afterEach, describe, expect, test } from "vitest";
import {
  CHAMPION,
  KEY,
  type PipelineWorld,
  type PipelineWorldOptions,
  pipelineWorld,
} from "../../../test/unit/pipeline/pipeline-world.ts";
import { pipelineKinds } from "../../../test/unit/pipeline/player.ts";
import type { EvidenceInput, Lease } from "../../work/index.ts";
import { filesOf, qualities, rejections, suspects } from "../selfplay/index.ts";
import { exportWork, LOOP_KINDS, selfplayWork, syncWork } from "../stage/index.ts";
import { waitsOf } from "../waits.ts";
import { parities } from "./tables.ts";
import { filesOfShard } from "./units/auto-export/shards.ts";

const worlds: PipelineWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const HOUR = 3_600_000;
const without = (kind: string) => LOOP_KINDS.filter((one) => one !== kind);

/** A world in which the games of the first iteration are played: `a` and `b` take turns. */
async function played(
  options: PipelineWorldOptions = {},
  plan: Parameters<PipelineWorld["plan"]>[0] = {},
): Promise<PipelineWorld> {
  const w = pipelineWorld(options);
  worlds.push(w);
  await w.plan(plan);
  await w.runtime(w.allUnits());
  await playAgain(w, 1, 1);
  return w;
}
async function playAgain(w: PipelineWorld, iteration: number, attempt: number) {
  await w.turn("selfplay", { iteration, attempt, wake: true });
  await w.pass(3_000);
  await w.workAll();
  await w.pass(3_000);
  expect(w.row(selfplayWork)).toMatchObject({ state: "done", iteration, attempt });
}
/** One stage with all the work that it asks for. */
async function stage(w: PipelineWorld, name: "data_sync" | "npz_export", iteration = 1, attempt = 1) {
  await w.turn(name, { iteration, attempt, wake: true });
  for (let round = 0; round < 4; round += 1) {
    await w.pass(2_000);
    await w.workAll();
  }
  await w.pass(2_000);
}
const inputsOf = (lease: Lease) => (lease.payload as { inputs: { name: string; sha256: string }[] }).inputs;

describe("parity_validator", () => {
  test("has each segment checked by somebody else, with what its games were played with", async () => {
    const w = await played({}, { parity_share: 0.1, selfplay: { simulations: 8 } });
    await w.turn("data_sync");
    await w.pass(2_000);
    const { segments } = w.row(selfplayWork)!.own;
    const jobs = w.jobs("validation");
    expect(jobs.map(({ dedup_key }) => dedup_key)).toEqual(segments.map(({ part }) => `${KEY}:1:data_sync:1:${part}`));
    expect(jobs.map(({ work_id }) => w.queue.placement(work_id)?.excluded)).toEqual(
      segments.map(({ producer }) => [producer]),
    );
    const [lease] = await w.queue.claim({
      node_id: "c",
      most: 1,
      offer: { cpu: 9, gpu: 0, memory_gb: 9, gpu_memory_gb: 0, tags: [] },
    });
    const { seed } = lease!.payload as { seed: number };
    expect(lease!.payload).toMatchObject({
      parameters: { simulations: 8, games: 10, first_game: 0, game_seed: seed, parity_share: 0.1 },
      inputs: [
        { name: "games", sha256: segments[0]!.games_file!.sha256 },
        { name: "samples", sha256: segments[0]!.samples_file.sha256 },
        { name: "model", sha256: CHAMPION },
      ],
    });
    expect(w.said("PARITY_VALIDATION_STARTED").map(({ payload }) => payload)).toEqual([
      { config_key: KEY, job_id: `${KEY}:1:data_sync:1`, games: 40 },
    ]);
    expect(waitsOf((table) => w.row(table))).toMatchObject([
      { unit: "parity_validator", for: "parity", actual: 0, required: 4 },
      { unit: "quality_monitor_daemon", for: "parity" },
    ]);
  });

  test("has the only worker that is there check its own games, and marks them as such", async () => {
    const w = await played({ nodes: ["a"] });
    await w.turn("data_sync", { wake: true });
    await w.pass(3_000);
    const [, alone] = waitsOf((table) => w.row(table));
    expect(alone).toMatchObject({
      for: "a second node that checks games",
      actual: "only a: it checks games that it played itself",
    });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ state: "done", evidence: { segments: 4, self_checked_segments: 4 } });
    expect(w.row(parities)!.checked.p0).toMatchObject({ validator: "a", self_checked: true });
    expect(w.said("PARITY_VALIDATION_COMPLETED")[0]!.payload).toMatchObject({ games: 40, self_checked_games: 40 });
  });

  test("marks nothing where somebody else checks", async () => {
    const w = await played();
    await stage(w, "data_sync");
    expect(w.row(syncWork)!.evidence).not.toHaveProperty("self_checked_segments");
    expect(w.said("PARITY_VALIDATION_COMPLETED")[0]!.payload).not.toHaveProperty("self_checked_games");
  });

  test("keeps checks from whoever made the games until somebody is there, and gives in when nobody else comes", async () => {
    const w = await played({ nodes: ["a"] });
    w.nodes.known.splice(0);
    await w.turn("data_sync", { wake: true });
    await w.pass(2_000);
    const [first] = w.jobs("validation");
    expect(w.queue.placement(first!.work_id)?.excluded).toEqual(["a"]);
    w.nodes.known.push("a");
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ state: "done", evidence: { self_checked_segments: 4 } });
  });

  test("asks those who are there when the others have left with the checks still to be done", async () => {
    const w = await played();
    await w.turn("data_sync", { wake: true });
    await w.pass(2_000);
    expect(w.jobs("validation", { state: "pending" })).toHaveLength(4);
    w.nodes.known.splice(0, 2, "a");
    await w.pass(2_000);
    expect(w.jobs("validation", { state: "cancelled" })).toHaveLength(2);
    await w.workAll();
    await w.pass(2_000);
    expect(w.row(syncWork)).toMatchObject({ state: "done", attempt: 1, evidence: { segments: 4 } });
  });

  test("collects what was found and says how much is wrong", async () => {
    const w = await played({ vices: { b: "rules" } });
    await stage(w, "data_sync");
    expect(w.said("PARITY_VALIDATION_COMPLETED").map(({ payload }) => payload)).toMatchObject([
      { passed: false, games: 40, failed_games: 2 },
    ]);
    expect(w.said("PARITY_FAILURE_RATE_CHANGED").map(({ payload }) => payload)).toMatchObject([
      { failure_rate: 0.05, previous_failure_rate: 0 },
    ]);
    expect(w.said("DATA_QUALITY_ALERT").map(({ payload }) => payload.message)).toEqual([
      expect.stringMatching(/of b, job w\d+: 1 games break the rules/),
      expect.stringMatching(/of b/),
    ]);
  });

  test("takes a check that breaks down for a failure of the stage, and checks only the rest again", async () => {
    let broken = true;
    const w = await played({
      instead: (lease) =>
        broken &&
        lease.work_type === "validation" &&
        inputsOf(lease)[0]!.sha256 === w.row(selfplayWork)!.own.segments[1]!.games_file!.sha256
          ? { class: "bad_input", error: "there is no such program", error_code: "no_workload" }
          : undefined,
    });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({
      state: "failed",
      failure: { code: "VALIDATION_FAILED", retryable: true, message: expect.stringContaining("no such program") },
    });
    broken = false;
    await stage(w, "data_sync", 1, 2);
    expect(w.row(syncWork)).toMatchObject({ state: "done", attempt: 2, evidence: { segments: 4 } });
    expect(w.jobs("validation")).toHaveLength(5);
  });

  test("tells a segment that cannot be read from a plan under which nothing can", async () => {
    const bad = { class: "bad_input", error: "it is cut off", error_code: "ARENA_FILE" } as const;
    const one = await played({
      instead: (lease) =>
        lease.work_type === "validation" &&
        (lease.payload as { parameters: { first_game: number } }).parameters.first_game === 0
          ? bad
          : undefined,
    });
    await stage(one, "data_sync");
    expect(one.row(syncWork)).toMatchObject({
      failure: { code: "SEGMENTS_REJECTED" },
      own: { rejected: [{ part: "p0", reason: "unreadable" }] },
    });
    const all = await played({ instead: (lease) => (lease.work_type === "validation" ? bad : undefined) });
    await stage(all, "data_sync");
    expect(all.row(syncWork)).toMatchObject({ state: "failed", failure: { code: "VALIDATION_REFUSED" } });
    expect(all.row(suspects)).toBeUndefined();
  });
});

describe("noise from one producer that took every job", () => {
  const bad = { class: "bad_input", error: "it is no file of games", error_code: "ARENA_FILE" } as const;

  test("is rejected and played again by others, and blamed on it once theirs can be read", async () => {
    const noise = new Set<string>();
    const w = await played({
      nodes: ["evil"],
      vices: { evil: "labels" },
      instead: (lease) => (lease.work_type === "validation" && noise.has(inputsOf(lease)[0]!.sha256) ? bad : undefined),
    });
    const madeBy = () => w.row(selfplayWork)!.own.segments;
    for (const { games_file } of madeBy()) noise.add(games_file!.sha256);
    w.nodes.known = ["evil", "honest"];
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ state: "failed", failure: { code: "SEGMENTS_REJECTED" } });
    expect(w.row(syncWork)!.own.rejected.map(({ producer, reason }) => `${producer} ${reason}`)).toEqual(
      madeBy().map(() => "evil unreadable"),
    );
    // Nobody is guilty yet: it may be the one who reads.
    expect(w.row(suspects)).toBeUndefined();

    await playAgain(w, 1, 2);
    expect(new Set(madeBy().map(({ producer }) => producer))).toEqual(new Set(["honest"]));
    await stage(w, "data_sync", 1, 2);
    expect(w.row(syncWork)).toMatchObject({ state: "done" });
    expect(w.row(suspects)).toMatchObject({ evil: { reasons: ["unreadable"], times: 1 } });
    expect(w.row(suspects)).not.toHaveProperty("honest");
    expect(w.said("QUALITY_PENALTY_APPLIED").map(({ payload }) => payload.reason)).toEqual([
      expect.stringMatching(/^evil: unreadable: others' games of the same parts can be read/),
    ]);
  });

  test("is the plan's fault when nobody is left who could play it", async () => {
    const w = await played({
      nodes: ["evil"],
      instead: (lease) => (lease.work_type === "validation" ? bad : undefined),
    });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ state: "failed", failure: { code: "VALIDATION_REFUSED" } });
  });
});

describe("quality_monitor_daemon", () => {
  test("does not take the word of one validator twice: whoever finds faults is not asked about the same part again", async () => {
    const liar: { node: string } = { node: "" };
    const w = await played({
      nodes: ["a", "b", "c"],
      instead: (lease) => {
        const { parameters } = lease.payload as { parameters: { first_game: number } };
        if (
          lease.work_type !== "validation" ||
          parameters.first_game !== 0 ||
          (liar.node !== "" && liar.node !== lease.node_id)
        )
          return undefined;
        liar.node = lease.node_id;
        return {
          counts: { games: 10, rows: 100, parity_checked: 1, parity_failed: 1, label_errors: 0, illegal_games: 0 },
        };
      },
    });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ own: { rejected: [{ part: "p0", reason: "parity" }] } });
    // Whoever looks into it reads who accuses as well as who is accused.
    expect(w.row(syncWork)!.failure?.message).toContain(`(parity, found by ${liar.node})`);
    expect(Object.keys(w.row(suspects)!)).toHaveLength(1);
    await playAgain(w, 1, 2);
    await stage(w, "data_sync", 1, 2);
    expect(w.row(suspects)).toEqual({});
    expect(w.row(parities)).toMatchObject({
      doubted: { p0: [liar.node] },
      checked: { p0: { validator: expect.not.stringMatching(liar.node) } },
    });
    expect(w.row(syncWork)).toMatchObject({ state: "done" });
  });

  test("accepts a good batch, in the books too, and scores it, by events alone", async () => {
    const w = await played({ everyMs: HOUR });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({
      state: "done",
      evidence: {
        games: 40,
        rows: 400,
        segments: 4,
        unchecked_segments: 0,
        rejected_games: 0,
        quality_band: "excellent",
      },
      own: { rejected: [] },
      waits: [],
    });
    expect(w.row(syncWork)!.own.accepted).toEqual(w.row(selfplayWork)!.own.segments);
    expect(w.books()).toEqual({ produced: 40, by: { durable: 40 }, balanced: true });
    expect(w.row(qualities)).toMatchObject({ score: 1, band: "excellent", games: 40, iteration: 1, good_share: 1 });
    const told = [
      "QUALITY_SCORE_UPDATED",
      "HIGH_QUALITY_DATA_AVAILABLE",
      "QUALITY_DISTRIBUTION_CHANGED",
      "QUALITY_FEEDBACK_ADJUSTED",
    ];
    for (const name of told) expect(w.said(name), name).toHaveLength(1);
    expect(w.said("QUALITY_DEGRADED")).toEqual([]);
    // Each file is told with the score of its segment: better ones may travel first.
    const files = w.row(syncWork)!.own.accepted.flatMap(filesOf);
    const [{ payload }] = w.said("QUALITY_SCORE_UPDATED") as never as [{ payload: { segments: object[] } }];
    expect(payload.segments).toHaveLength(files.length);
    for (const { sha256 } of files)
      expect(payload.segments).toContainEqual({ artifact_hash: sha256, quality_score: 1 });
  });

  test("waits until every file is verified", async () => {
    const w = await played();
    w.shelf.verifies = false;
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({
      state: "running",
      waits: [{ for: "verified_segments", actual: 0, required: 4 }],
    });
    w.shelf.verifies = true;
    await w.pass(2_000);
    expect(w.row(syncWork)).toMatchObject({ state: "done" });
  });

  test.each(["labels", "rules", "parity"] as const)(
    "rejects segments with wrong %s; they are played again elsewhere and the books balance",
    async (vice) => {
      const w = await played({ nodes: ["a", "b", "c", "bad"], vices: { bad: vice } });
      await stage(w, "data_sync");
      const [lost] = w.row(syncWork)!.own.rejected;
      expect(w.row(syncWork)).toMatchObject({
        state: "failed",
        failure: { code: "SEGMENTS_REJECTED", retryable: true },
        own: { rejected: [{ producer: "bad", games: 10, reason: vice }] },
      });
      expect(w.books()).toEqual({ produced: 40, by: { durable: 30, [`rejected:${vice}`]: 10 }, balanced: true });
      expect(w.row(suspects)).toMatchObject({ bad: { reasons: [vice], times: 1, until_iteration: 6 } });
      expect(w.said("QUALITY_PENALTY_APPLIED").map(({ payload }) => payload)).toMatchObject([
        { penalty: 0.25, rate_multiplier: 0.75, reason: expect.stringContaining("bad") },
      ]);
      await playAgain(w, 1, 2);
      expect(w.row(selfplayWork)!.own.segments.map(({ producer }) => producer)).not.toContain("bad");
      await stage(w, "data_sync", 1, 2);
      expect(w.row(syncWork)).toMatchObject({ state: "done", evidence: { games: 40 } });
      expect(w.row(syncWork)!.own.accepted.map(({ part }) => part)).toEqual(["p0", "p1", "p2", "p3"]);
      // The kept ones need no second check.
      expect(w.jobs("validation")).toHaveLength(5);
      expect(w.books()).toEqual({ produced: 50, by: { durable: 40, [`rejected:${vice}`]: 10 }, balanced: true });
      expect(w.row(rejections)).toMatchObject({ iteration: 1, entries: [{ part: lost!.part, producer: "bad" }] });
      // And it plays nothing in the iteration after.
      await playAgain(w, 2, 1);
      expect(w.row(selfplayWork)!.own.segments.map(({ producer }) => producer)).not.toContain("bad");
    },
  );

  test("finds a producer whose games are only strange beside the others', and has them played by those", async () => {
    const w = await played(
      { nodes: ["a", "b", "odd"], vices: { odd: "short" } },
      { games_per_iteration: 360, games_per_job: 20 },
    );
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({ failure: { code: "SEGMENTS_REJECTED" } });
    expect(new Set(w.row(syncWork)!.own.rejected.map(({ producer, reason }) => `${producer} ${reason}`))).toEqual(
      new Set(["odd producer"]),
    );
    await playAgain(w, 1, 2);
    await stage(w, "data_sync", 1, 2);
    expect(w.row(syncWork)).toMatchObject({ state: "done", evidence: { games: 360 } });
    expect(w.row(suspects)).toMatchObject({ odd: { reasons: ["producer"] } });
  });

  test("rejects a damaged file without blame: its producer may play it again", async () => {
    const w = await played();
    const { segments } = w.row(selfplayWork)!.own;
    w.shelf.damaged.add(segments[3]!.samples_file.sha256);
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({
      failure: { code: "SEGMENTS_REJECTED" },
      own: { rejected: [{ part: "p3", reason: "corrupt" }] },
    });
    expect(w.row(suspects)).toBeUndefined();
    w.shelf.damaged.clear();
    await playAgain(w, 1, 2);
    expect(w.row(selfplayWork)).toMatchObject({ own: { excluded: [] } });
    await stage(w, "data_sync", 1, 2);
    expect(w.row(syncWork)).toMatchObject({ state: "done", evidence: { games: 40 } });
  });

  test("tells poor data, once for each change of band", async () => {
    let repeated = 30;
    const poor: (lease: Lease) => EvidenceInput | undefined = (lease) =>
      lease.work_type !== "validation"
        ? undefined
        : {
            counts: {
              games: 10,
              rows: 100,
              parity_checked: 1,
              parity_failed: 0,
              label_errors: 0,
              illegal_games: 0,
              outcome_0: 5,
              outcome_1: 5,
              outcome_2: 0,
              positions_total: 300,
              positions_repeated: repeated,
            },
          };
    const w = await played({ instead: poor });
    await stage(w, "data_sync");
    repeated = 270;
    for (const iteration of [2, 3]) {
      await playAgain(w, iteration, 1);
      await stage(w, "data_sync", iteration);
    }
    expect(w.row(qualities)).toMatchObject({ score: 0, band: "poor" });
    expect(w.said("QUALITY_SCORE_UPDATED").map(({ payload }) => [payload.quality_band, payload.trend])).toEqual([
      ["excellent", "stable"],
      ["poor", "declining"],
      ["poor", "stable"],
    ]);
    for (const name of ["QUALITY_DEGRADED", "LOW_QUALITY_DATA_WARNING", "QUALITY_CHECK_FAILED"])
      expect(w.said(name), name).toHaveLength(1);
    expect(w.said("LOW_QUALITY_DATA_WARNING")[0]?.payload).toMatchObject({
      threshold: 0.5,
      recommendation: expect.stringContaining("redundancy 0.00"),
    });
  });

  test("lets unchecked games through where the plan has no check, and says so", async () => {
    const w = await played({}, { kinds: without("validation") });
    await stage(w, "data_sync");
    expect(w.row(syncWork)).toMatchObject({
      state: "done",
      evidence: { games: 40, unchecked_segments: 4, unchecked_because: "the plan has no kind 'validation'" },
    });
    expect(w.row(qualities)).toBeUndefined();
    expect(w.jobs("validation")).toEqual([]);
  });

  test("holds unchecked games where nobody can check them, unless that is allowed", async () => {
    const { validation: _, ...kinds } = pipelineKinds;
    const held = await played({ kinds });
    await stage(held, "data_sync");
    expect(held.row(parities)).toMatchObject({ state: "done", unchecked: { p0: "nobody here can check games" } });
    expect(held.row(syncWork)).toMatchObject({
      state: "running",
      waits: [
        {
          for: "pending_gate",
          actual: expect.stringContaining("4 of 4"),
          required: expect.stringContaining("RINGRIFT_ALLOW_PENDING_GATE"),
        },
      ],
    });
    const allowed = await played({ kinds, allowPendingGate: true });
    await stage(allowed, "data_sync");
    expect(allowed.row(syncWork)).toMatchObject({
      state: "done",
      evidence: { unchecked_because: expect.stringContaining("RINGRIFT_ALLOW_PENDING_GATE") },
    });
  });

  test("answers who asks for the quality of a config", async () => {
    const w = await played();
    const ask = async () => {
      const payload = { config_key: KEY, reason: "training wants to know" };
      await w.driven(w.router.publish("QUALITY_CHECK_REQUESTED", payload as never, { source: "test" }));
      await w.pass(100_000);
    };
    await ask();
    expect(w.said("QUALITY_CHECK_FAILED").map(({ payload }) => payload.reason)).toEqual([
      "none of its data was ever checked",
    ]);
    await stage(w, "data_sync");
    await ask();
    expect(w.said("QUALITY_SCORE_UPDATED")).toHaveLength(2);
  });
});

describe("auto_export_daemon", () => {
  /** Whole iterations from games to training file. */
  const iterate = async (w: PipelineWorld, from: number, to: number) => {
    for (let iteration = from; iteration <= to; iteration += 1) {
      if (iteration > 1) await playAgain(w, iteration, 1);
      await stage(w, "data_sync", iteration);
      await stage(w, "npz_export", iteration);
      expect(w.row(exportWork)).toMatchObject({ state: "done", iteration });
    }
  };
  const pins = (w: PipelineWorld) => w.shelf.pinnedBy(`window:${KEY}`);

  test("makes one training file of the accepted segments, in the order of parts, by events alone", async () => {
    const w = await played({ everyMs: HOUR }, { holdout_share: 0.1 });
    await stage(w, "data_sync");
    await stage(w, "npz_export");
    const row = w.row(exportWork)!;
    expect(row).toMatchObject({
      state: "done",
      evidence: { rows: 360, holdout_rows: 40, duplicates: 0, total_rows: 360, window_rows: 360, window_files: 1 },
      own: {
        total_rows: 360,
        new_rows: 360,
        window: [{ rows: 360, first_iteration: 1, last_iteration: 1, holdout: { rows: 40 } }],
      },
    });
    expect(w.said("NPZ_EXPORT_STARTED").map(({ payload }) => payload)).toEqual([
      { config_key: KEY, job_id: `${KEY}:1:npz_export:1`, games: 40 },
    ]);
    expect(w.said("NPZ_EXPORT_COMPLETE").map(({ payload }) => payload)).toMatchObject([
      { artifact_hash: row.own.window[0]!.sha256, samples: 360, games: 40 },
    ]);
    expect(pins(w)).toEqual(row.outputs.map(({ sha256 }) => sha256).sort());
    expect(w.books()).toEqual({ produced: 40, by: { durable: 40 }, balanced: true });
  });

  test("does not begin before the games are accepted, or while the config is held", async () => {
    const w = await played();
    await w.turn("npz_export");
    await w.pass(2_000);
    expect(w.row(exportWork)).toMatchObject({ state: "running", waits: [{ for: "accepted_games", actual: null }] });
    await stage(w, "data_sync");
    await w.pause("no");
    await w.turn("npz_export");
    await w.pass(2_000);
    expect(w.row(exportWork)).toMatchObject({ waits: [{ for: "pause", actual: "ann: no" }] });
    expect(w.jobs("export")).toEqual([]);
  });

  test.each([
    [
      "is empty",
      {
        outputs: [{ name: "train.npz", sha256: "ab".repeat(32), bytes: 9 }],
        counts: { rows: 0, holdout_rows: 5, files: 4 },
      },
      "EXPORT_EMPTY",
      false,
    ],
    [
      "is no file",
      { outputs: [{ name: "holdout.npz", sha256: "ab".repeat(32), bytes: 9 }], counts: { rows: 5, files: 4 } },
      "EXPORT_EMPTY",
      false,
    ],
    [
      "fails",
      { class: "bad_input", error: "samples-0002 is broken", error_code: "ARENA_FILE" } as const,
      "EXPORT_FAILED",
      true,
    ],
  ])("tells an export that %s as a failure with a code", async (_name, answer, code, retryable) => {
    const { export: kind } = pipelineKinds;
    const w = await played({
      kinds: { ...pipelineKinds, export: { ...kind, evidence: { outputs: 1, counts: [] } } },
      instead: (lease) => (lease.work_type === "export" ? answer : undefined),
    });
    await stage(w, "data_sync");
    await stage(w, "npz_export");
    expect(w.row(exportWork)).toMatchObject({
      state: "failed",
      failure: { code, retryable },
      own: { window: [], total_rows: 0 },
    });
  });

  test("keeps the newest files that hold the window's rows, and pins those", async () => {
    const w = await played({}, { window: { base: 1_000, share: 0, most: 1_000 }, holdout_share: 0 });
    await iterate(w, 1, 4);
    const { own } = w.row(exportWork)!;
    expect(own).toMatchObject({ total_rows: 1_600, new_rows: 400 });
    expect(own.window.map(({ first_iteration }) => first_iteration)).toEqual([2, 3, 4]);
    expect(pins(w)).toEqual(
      own.window
        .flatMap(filesOfShard)
        .map(({ sha256 }) => sha256)
        .sort(),
    );
  });

  test("comes to the same window when an iteration is exported again", async () => {
    const w = await played({}, { window: { base: 1_000, share: 0, most: 1_000 } });
    await iterate(w, 1, 3);
    const { own } = w.row(exportWork)!;
    await stage(w, "npz_export", 3, 2);
    expect(w.row(exportWork)).toMatchObject({ state: "done", attempt: 2, own });
  });

  const few = { games_per_iteration: 10, window: { base: 1_000_000, share: 0, most: 1_000_000 }, holdout_share: 0.1 };
  test("makes one of the twelve oldest when there are more than 24, held-out rows too", async () => {
    const w = await played({}, few);
    await iterate(w, 1, 24);
    const before = w.row(exportWork)!.own.window;
    expect(before).toHaveLength(24);
    expect(w.said("NPZ_COMBINATION_STARTED")).toEqual([]);
    await iterate(w, 25, 25);
    const { own, evidence } = w.row(exportWork)!;
    expect(evidence).toMatchObject({ combination: "12 files became one", window_files: 14 });
    expect(own.window[0]).toMatchObject({
      rows: 12 * 90,
      first_iteration: 1,
      last_iteration: 12,
      holdout: { kind: "holdout", rows: 12 * 10 },
    });
    expect(own.window.slice(1, 13)).toEqual(before.slice(12));
    expect(own.window.reduce((sum, { rows }) => sum + rows, 0)).toBe(own.total_rows);
    expect(w.said("NPZ_COMBINATION_COMPLETE").map(({ payload }) => payload)).toMatchObject([
      {
        artifact_hash: own.window[0]!.sha256,
        samples: 1_080,
        artifact_hashes: before.slice(0, 12).map(({ sha256 }) => sha256),
      },
    ]);
    expect(pins(w)).toHaveLength(28);
  });

  test("goes on with the plain files when that fails, and says so", async () => {
    const w = await played(
      {
        instead: (lease) =>
          lease.work_type === "export" &&
          (lease.payload as { parameters: { mode: string } }).parameters.mode === "combine"
            ? { class: "bad_input", error: "the disk is full", error_code: "ENOSPC" }
            : undefined,
      },
      few,
    );
    await iterate(w, 1, 25);
    const { own, evidence } = w.row(exportWork)!;
    expect(own.window).toHaveLength(25);
    expect(evidence.combination).toMatch(/failed: .*the disk is full/);
    expect(w.said("NPZ_COMBINATION_FAILED")).toHaveLength(1);
  });

  test("takes segments as they are where the plan has no export", async () => {
    const w = await played({}, { kinds: without("export") });
    await stage(w, "data_sync");
    await stage(w, "npz_export");
    const row = w.row(exportWork)!;
    expect(row.own.window.map(({ sha256 }) => sha256)).toEqual(
      w.row(syncWork)!.own.accepted.map(({ samples_file }) => samples_file.sha256),
    );
    expect(row).toMatchObject({
      state: "done",
      evidence: { rows: 400, exported_by: expect.stringContaining("no kind 'export'") },
    });
    expect(w.jobs("export")).toEqual([]);
  });
});
