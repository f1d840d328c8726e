import type { UnitContext } from "../../daemons/index.ts";
import type { JobSpecInput, JobView, WorkQueue } from "../../work/index.ts";
import type { ArtifactCatalog } from "../artifacts.port.ts";
import type { ConfigPlan } from "../config-plan.ts";
import { awaitedInput, followJobs } from "../followed-jobs.ts";
import type { Iteration, Wait } from "../iteration.ts";
import { INPUT_LOST, NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { failed, putJobs, refusedWait, undertakingOf, waiting } from "../stage-rows.ts";
import type { ArtifactRef, ExportOwn, Segment, Shard, StageWork } from "../stage-work.ts";
import { exportParameters, samplesNamed } from "./rebuild.ts";
import {
  combinedHoldout,
  combinedShard,
  type ExportBase,
  entriesOfJob,
  filesOfShard,
  isFailure,
  shardOf,
  shardsOfSegments,
} from "./shards.ts";
import { toCombine } from "./window.ts";

export interface ExportPorts {
  readonly queue: Pick<WorkQueue, "join" | "show">;
  readonly catalog: Pick<ArtifactCatalog, "join">;
}

export type ExportContext = UnitContext<
  | "WORK_QUEUED"
  | "NPZ_EXPORT_STARTED"
  | "NPZ_EXPORT_COMPLETE"
  | "NPZ_COMBINATION_STARTED"
  | "NPZ_COMBINATION_COMPLETE"
  | "NPZ_COMBINATION_FAILED"
  | "REPAIR_COMPLETED"
  | "REPAIR_FAILED"
>;
export type ExportWork = StageWork<ExportOwn>;

/** What a step works on. */
export interface ExportTurn {
  readonly context: ExportContext;
  readonly plan: ConfigPlan;
  readonly iteration: Iteration;
  readonly segments: readonly Segment[];
  readonly base: ExportBase;
}

const SHARD = "shard";
const COMBINE = "combine";
const COMBINE_HOLDOUT = "combine-holdout";

/** The two jobs of an export: the training file of the iteration, and one file of the oldest where there are many. */
export const createExportSteps = ({ queue, catalog }: ExportPorts) => {
  const specOf = (
    { plan, iteration }: ExportTurn,
    part: string,
    mode: "shard" | "combine",
    files: readonly Pick<ArtifactRef, "sha256">[],
  ): JobSpecInput => {
    const batch = undertakingOf(plan.config_key, iteration, "npz_export");
    return {
      work_type: "export",
      config_key: plan.config_key,
      payload: {
        parameters: exportParameters(mode, plan),
        inputs: samplesNamed(files.map(({ sha256 }) => sha256)),
      },
      batch_id: batch,
      dedup_key: `${batch}:${part}`,
      requested_by: "auto_export_daemon",
    };
  };

  const put = (turn: ExportTurn, work: ExportWork, specs: Readonly<Record<string, JobSpecInput>>): ExportWork => {
    const answer = putJobs(queue, turn.context, Object.values(specs));
    if ("refused" in answer) return waiting(work, turn.context.now, [refusedWait(answer.refused)]);
    const jobs = Object.fromEntries(Object.keys(specs).map((part, n) => [part, answer.added[n]!.work_id]));
    const parts = Object.values(jobs).join(", ");
    return waiting({ ...work, jobs: { ...work.jobs, ...jobs } }, turn.context.now, [
      { for: Object.keys(jobs)[0] === SHARD ? "export" : "combination", actual: parts, required: "completed" },
    ]);
  };

  const jobOf = ({ context, plan }: ExportTurn, work: ExportWork, part: string) => {
    const workId = work.jobs[part];
    if (workId === undefined) return { state: "none" } as const;
    const rebuilds = context.rows.get(rebuildRows, plan.config_key) ?? NO_REBUILDS;
    const followed = followJobs(queue, { [part]: workId }, rebuilds);
    const { completed, failed: broken } = followed;
    if (completed.length > 0) return { state: "completed", job: completed[0]!.job } as const;
    if (broken.length > 0) return { state: "failed", ...broken[0]! } as const;
    return { state: "open", waits: awaitedInput(followed) } as const;
  };

  /** Under way: what it waits for, where it lacks an input. */
  const goingOn = (
    { context }: ExportTurn,
    work: ExportWork,
    ...jobs: readonly { readonly state: string; readonly waits?: readonly Omit<Wait, "since">[] }[]
  ): ExportWork => {
    const waits = jobs.flatMap((job) => job.waits ?? []);
    const others = work.waits.filter((wait) => wait.for !== "input");
    return waiting(work, context.now, [...others, ...waits]);
  };

  /** Its files enter the books as good ones: they follow from accepted files. */
  const enter = (
    turn: ExportTurn,
    part: string,
    files: readonly ArtifactRef[],
    job: JobView,
    parents: readonly string[],
  ) => {
    const { context, plan, iteration } = turn;
    const artifacts = catalog.join(context);
    const about = { configKey: plan.config_key, iteration: iteration.iteration, part, parents };
    artifacts.record(entriesOfJob(files, job, about));
    artifacts.accept(files.map(({ sha256 }) => sha256));
  };

  const tellShards = (
    { context, plan, iteration, segments }: ExportTurn,
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
  const exportNow = (
    turn: ExportTurn,
    work: ExportWork,
  ): { readonly shards: readonly Shard[]; readonly work: ExportWork } | ExportWork => {
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
    const found = jobOf(turn, work, SHARD);
    if (found.state === "open") return goingOn(turn, work, found);
    if (found.state === "failed")
      return failed(work, now, {
        code: found.code === INPUT_LOST ? INPUT_LOST : "EXPORT_FAILED",
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
    turn: ExportTurn,
    work: ExportWork,
    window: readonly Shard[],
  ): { readonly window: readonly Shard[]; readonly combination: string } | ExportWork => {
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
    const main = jobOf(turn, work, COMBINE);
    const held = jobOf(turn, work, COMBINE_HOLDOUT);
    if (main.state === "open" || held.state === "open") return goingOn(turn, work, main, held);
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

  return { exportNow, combineNow };
};
