import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import type { JobSpecInput, WorkQueue } from "../../work/index.ts";
import type { ArtifactCatalog } from "../artifacts.port.ts";
import { type ConfigPlan, type ConfigRow, configs } from "../config-plan.ts";
import { followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { failed, putChanged, putJobs, refusedWait, undertakingOf, waiting } from "../stage-rows.ts";
import {
  type ArtifactRef,
  beginWork,
  type ExportOwn,
  exportWork,
  isFor,
  type Segment,
  type Shard,
  type StageWork,
  syncWork,
} from "../stage-work.ts";
import {
  combinedHoldout,
  combinedShard,
  type ExportBase,
  entriesOfJob,
  exportBases,
  filesOfShard,
  isFailure,
  shardOf,
  shardsOfSegments,
} from "./shards.ts";
import { toCombine, windowOf } from "./window.ts";

export interface AutoExportPorts {
  readonly queue: Pick<WorkQueue, "join" | "show">;
  readonly catalog: Pick<ArtifactCatalog, "join">;
  readonly settings?: { readonly everyMs?: number };
}

type Context = UnitContext<
  | "WORK_QUEUED"
  | "NPZ_EXPORT_STARTED"
  | "NPZ_EXPORT_COMPLETE"
  | "NPZ_COMBINATION_STARTED"
  | "NPZ_COMBINATION_COMPLETE"
  | "NPZ_COMBINATION_FAILED"
>;
type Work = StageWork<ExportOwn>;
type ConfigKey = ConfigPlan["config_key"];

/** What a step works on. */
interface Turn {
  readonly context: Context;
  readonly plan: ConfigPlan;
  readonly iteration: Iteration;
  readonly segments: readonly Segment[];
  readonly base: ExportBase;
}

const SHARD = "shard";
const COMBINE = "combine";
const COMBINE_HOLDOUT = "combine-holdout";

const samplesNamed = (files: readonly Pick<ArtifactRef, "sha256">[]) =>
  files.map(({ sha256 }, n) => ({ name: `samples-${String(n).padStart(4, "0")}`, sha256 }));

/**
 * Turns the accepted games of an iteration into a training file, chooses the files that training sees, and makes one of the
 * oldest when they become many. A combination that fails is no failure of the stage: the plain files hold the same rows.
 */
export const autoExport = ({ queue, catalog, settings = {} }: AutoExportPorts) => {
  const specOf = (
    { plan, iteration }: Turn,
    part: string,
    mode: "shard" | "combine",
    files: readonly Pick<ArtifactRef, "sha256">[],
  ): JobSpecInput => {
    const batch = undertakingOf(plan.config_key, iteration, "npz_export");
    return {
      work_type: "export",
      config_key: plan.config_key,
      payload: {
        parameters: { mode, format: "npz", ...(mode === "shard" ? { holdout_share: plan.holdout_share } : {}) },
        inputs: samplesNamed(files),
      },
      batch_id: batch,
      dedup_key: `${batch}:${part}`,
      requested_by: "auto_export_daemon",
    };
  };

  const put = (turn: Turn, work: Work, specs: Readonly<Record<string, JobSpecInput>>): Work => {
    const answer = putJobs(queue, turn.context, Object.values(specs));
    if ("refused" in answer) return waiting(work, turn.context.now, [refusedWait(answer.refused)]);
    const jobs = Object.fromEntries(Object.keys(specs).map((part, n) => [part, answer.added[n]!.work_id]));
    const parts = Object.values(jobs).join(", ");
    return waiting({ ...work, jobs: { ...work.jobs, ...jobs } }, turn.context.now, [
      { for: Object.keys(jobs)[0] === SHARD ? "export" : "combination", actual: parts, required: "completed" },
    ]);
  };

  const jobOf = (work: Work, part: string) => {
    const workId = work.jobs[part];
    if (workId === undefined) return { state: "none" } as const;
    const { completed, failed: broken } = followJobs(queue, { [part]: workId });
    if (completed.length > 0) return { state: "completed", job: completed[0]!.job } as const;
    if (broken.length > 0) return { state: "failed", ...broken[0]! } as const;
    return { state: "open" } as const;
  };

  /** Its files enter the books as good ones: they follow from accepted files. */
  const enter = (
    turn: Turn,
    part: string,
    files: readonly ArtifactRef[],
    job: Parameters<typeof entriesOfJob>[1],
    parents: readonly string[],
  ) => {
    const { context, plan, iteration } = turn;
    const artifacts = catalog.join(context);
    const about = { configKey: plan.config_key, iteration: iteration.iteration, part, parents };
    artifacts.record(entriesOfJob(files, job, about));
    artifacts.accept(files.map(({ sha256 }) => sha256));
  };

  const tellShards = (
    { context, plan, iteration, segments }: Turn,
    shards: readonly Shard[],
    nodeId: string | null,
  ) => {
    const games = segments.reduce((sum, segment) => sum + segment.games, 0);
    for (const shard of shards)
      context.emit.NPZ_EXPORT_COMPLETE({
        config_key: plan.config_key,
        job_id: undertakingOf(plan.config_key, iteration, "npz_export"),
        artifact_hash: shard.sha256,
        samples: shard.rows,
        games,
        artifact_bytes: shard.bytes,
        ...(nodeId === null ? {} : { node_id: nodeId }),
      });
  };

  /** The shards of this iteration; until they are there, the row to write. */
  const exportNow = (turn: Turn, work: Work): { readonly shards: readonly Shard[]; readonly work: Work } | Work => {
    const { context, plan, iteration, segments } = turn;
    const { now } = context;
    const made = work.own.window.filter(({ last_iteration }) => last_iteration === iteration.iteration);
    if (made.length > 0) return { shards: made, work };
    if (!plan.kinds.includes("export")) {
      const shards = shardsOfSegments(segments, iteration.iteration);
      if (isFailure(shards)) return failed(work, now, shards);
      tellShards(turn, shards, null);
      return { shards, work };
    }
    const found = jobOf(work, SHARD);
    if (found.state === "open") return work;
    if (found.state === "failed")
      return failed(work, now, {
        code: "EXPORT_FAILED",
        message: `export ${found.workId} failed (${found.code}): ${found.reason}`,
        retryable: true,
      });
    if (found.state === "none") {
      const files = segments.map(({ samples_file }) => samples_file);
      const next = put(turn, work, { [SHARD]: specOf(turn, SHARD, "shard", files) });
      if (next.jobs[SHARD] !== undefined)
        context.emit.NPZ_EXPORT_STARTED({
          config_key: plan.config_key,
          job_id: undertakingOf(plan.config_key, iteration, "npz_export"),
          games: segments.reduce((sum, { games }) => sum + games, 0),
        });
      return next;
    }
    const shard = shardOf(found.job, iteration.iteration);
    if (isFailure(shard)) return failed(work, now, shard);
    const parents = segments.map(({ samples_file }) => samples_file.sha256);
    enter(turn, SHARD, filesOfShard(shard), found.job, parents);
    tellShards(turn, [shard], found.job.node_id);
    const { counts } = found.job.evidence!;
    return {
      shards: [shard],
      work: {
        ...work,
        evidence: { ...work.evidence, duplicates: counts.duplicates ?? 0, files: counts.files ?? parents.length },
      },
    };
  };

  /** The window with its oldest shards made one; the plain window if that failed; nothing while it goes on. */
  const combineNow = (
    turn: Turn,
    work: Work,
    window: readonly Shard[],
  ): { readonly window: readonly Shard[]; readonly combination: string } | Work => {
    const { context, plan } = turn;
    const parts = plan.kinds.includes("export") ? toCombine(window) : [];
    if (parts.length === 0) return { window, combination: "none was needed" };
    const about = { config_key: plan.config_key, job_id: undertakingOf(plan.config_key, turn.iteration, "npz_export") };
    const artifact_hashes = parts.map(({ sha256 }) => sha256);
    const holdouts = parts.flatMap(({ holdout }) => (holdout === null ? [] : [holdout]));
    const giveUp = (error: string) => {
      context.emit.NPZ_COMBINATION_FAILED({ ...about, error, retryable: true, artifact_hashes });
      return { window, combination: `failed: ${error}` };
    };
    if (work.jobs[COMBINE] === undefined) {
      const next = put(turn, work, {
        [COMBINE]: specOf(turn, COMBINE, "combine", parts),
        ...(holdouts.length > 1 ? { [COMBINE_HOLDOUT]: specOf(turn, COMBINE_HOLDOUT, "combine", holdouts) } : {}),
      });
      if (next.jobs[COMBINE] !== undefined) context.emit.NPZ_COMBINATION_STARTED({ ...about, artifact_hashes });
      return next;
    }
    const main = jobOf(work, COMBINE);
    const held = jobOf(work, COMBINE_HOLDOUT);
    if (main.state === "open" || held.state === "open") return work;
    for (const broken of [main, held])
      if (broken.state === "failed") return giveUp(`job ${broken.workId} failed (${broken.code}): ${broken.reason}`);
    if (main.state !== "completed") return work;
    const holdout = held.state === "completed" ? combinedHoldout(held.job) : (holdouts[0] ?? null);
    if (holdout !== null && isFailure(holdout)) return giveUp(holdout.message);
    const one = combinedShard(main.job, parts, holdout);
    if (isFailure(one)) return giveUp(one.message);
    enter(turn, COMBINE, filesOfShard({ ...one, holdout: null }), main.job, artifact_hashes);
    if (held.state === "completed" && holdout !== null)
      enter(
        turn,
        COMBINE_HOLDOUT,
        [holdout],
        held.job,
        holdouts.map(({ sha256 }) => sha256),
      );
    context.emit.NPZ_COMBINATION_COMPLETE({
      ...about,
      artifact_hash: one.sha256,
      samples: one.rows,
      artifact_hashes,
      samples_by_source: Object.fromEntries(parts.map(({ sha256, rows }) => [sha256, rows])),
    });
    return { window: [one, ...window.slice(parts.length)], combination: `${parts.length} files became one` };
  };

  const step = (turn: Turn, work: Work): Work => {
    const { context, plan, base } = turn;
    const exported = exportNow(turn, work);
    if (!("shards" in exported)) return exported;
    const { shards } = exported;
    const new_rows = shards.reduce((sum, { rows }) => sum + rows, 0);
    const total_rows = base.total_rows + new_rows;
    const plain = windowOf([...base.window, ...shards], total_rows, plan.window);
    const begun: Work = { ...exported.work, own: { window: plain, total_rows, new_rows } };
    const combined = combineNow(turn, begun, plain);
    if (!("combination" in combined)) return combined;
    const { window, combination } = combined;
    catalog.join(context).pin(
      `window:${plan.config_key}`,
      window.flatMap(filesOfShard).map(({ sha256 }) => sha256),
    );
    return {
      ...begun,
      state: "done",
      ended_at: context.now,
      waits: [],
      outputs: shards.flatMap(filesOfShard),
      own: { window, total_rows, new_rows },
      evidence: {
        ...begun.evidence,
        rows: new_rows,
        holdout_rows: shards.reduce((sum, { holdout }) => sum + (holdout?.rows ?? 0), 0),
        total_rows,
        window_rows: window.reduce((sum, { rows }) => sum + rows, 0),
        window_files: window.length,
        combination,
        ...(plan.kinds.includes("export") ? {} : { exported_by: "nobody: the plan has no kind 'export'" }),
      },
    };
  };

  /** Where this iteration begins: what stood after the last one, however often it is exported. */
  const baseOf = ({ rows }: Context, key: ConfigKey, { iteration }: Iteration): ExportBase => {
    const known = rows.get(exportBases, key);
    if (known?.iteration === iteration) return known;
    const last = rows.get(exportWork, key);
    const base =
      last === undefined || last.state !== "done"
        ? { iteration, window: known?.window ?? [], total_rows: known?.total_rows ?? 0 }
        : { iteration, window: last.own.window, total_rows: last.own.total_rows };
    rows.put(exportBases, key, base);
    return base;
  };

  /** The row after one more look. */
  const look = (context: Context, { plan, paused }: ConfigRow, iteration: Iteration, known: Work | undefined): Work => {
    const { rows, now } = context;
    const base = baseOf(context, plan.config_key, iteration);
    const { window, total_rows } = base;
    const work = known ?? beginWork(iteration, now, { window, total_rows, new_rows: 0 });
    const sync = rows.get(syncWork, plan.config_key);
    if (paused !== null)
      return waiting(work, now, [{ for: "pause", actual: `${paused.by}: ${paused.reason}`, required: "resumed" }]);
    if (sync?.iteration !== iteration.iteration || sync.state !== "done")
      return waiting(work, now, [
        { for: "accepted_games", actual: sync?.state ?? null, required: "a batch that is accepted" },
      ]);
    return step({ context, plan, iteration, segments: sync.own.accepted, base }, work);
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows } = context;
    const config = rows.get(configs, configKey);
    const iteration = rows.get(iterations, configKey);
    if (config === undefined || !isTurnOf("npz_export", iteration)) return;
    const known = rows.get(exportWork, configKey);
    const current = known !== undefined && isFor(known, iteration) ? known : undefined;
    if (current === undefined || current.state === "running")
      putChanged(rows, exportWork, configKey, look(context, config, iteration, current));
  };

  return defineDaemon({
    name: "auto_export_daemon",
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["AUTO_EXPORT", "NPZ_COMBINATION", "AutoExportDaemon", "NPZCombinationDaemon", "ExportScheduler"],
    pattern: "GET",
    dependsOn: ["pipeline_orchestrator"],
    emits: [
      "WORK_QUEUED",
      "NPZ_EXPORT_STARTED",
      "NPZ_EXPORT_COMPLETE",
      "NPZ_COMBINATION_STARTED",
      "NPZ_COMBINATION_COMPLETE",
      "NPZ_COMBINATION_FAILED",
    ],
    state: { tables: { exportWork, exportBases } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "npz_export") reconcile(context, payload.config_key);
      },
      ...onEach(["EXPORT_TRIGGERED", "NEW_GAMES_AVAILABLE"], ({ payload: { config_key } }, context: Context) =>
        reconcile(context, config_key),
      ),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], ({ payload }, context: Context) => {
        if (payload.work_type === "export" && payload.config_key !== undefined) reconcile(context, payload.config_key);
      }),
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(exportWork);
      const [broken] = all.filter(([, { state }]) => state === "failed");
      const details = { window_files: Object.fromEntries(all.map(([key, { own }]) => [key, own.window.length])) };
      return broken === undefined
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `${broken[0]}: ${broken[1].failure?.message}`, details };
    },
  });
};
