/** The training file of an iteration, made by a job or taken from the segments as they are. */
import { defined, sumOf } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import {
  type ArtifactRef,
  type ExportOwn,
  failed,
  followStageJobs,
  isFailure,
  jobFailure,
  type LostJob,
  type PartJob,
  putJobs,
  refusedWait,
  type Segment,
  type Shard,
  type StageServices,
  type StageWork,
  type Turn,
  type Waiting,
  waiting,
} from "../../../stage/index.ts";
import { exportParameters, samplesNamed } from "../../rebuild/recipe.ts";
import { broughtExports } from "../../tables.ts";
import { broughtFor, exportedNow } from "./brought-rows.ts";
import { entriesOfJob, filesOfShard, shardOf, shardsOfSegments } from "./shards.ts";

export type Work = StageWork<ExportOwn>;
type Exporting = Turn<"WORK_QUEUED" | "NPZ_EXPORT_STARTED" | "NPZ_EXPORT_COMPLETE">;

const SHARD = "shard";

export const exportJob = (
  { plan }: Turn,
  mode: "shard" | "combine",
  files: readonly Pick<ArtifactRef, "sha256">[],
): PartJob => ({
  work_type: "export",
  payload: {
    parameters: exportParameters(mode, plan),
    inputs: samplesNamed(files.map(({ sha256 }) => sha256)),
  },
});

/** The work with more jobs, which are now waited for. */
export function putExports(
  { queue }: StageServices,
  turn: Turn<"WORK_QUEUED">,
  work: Work,
  what: "export" | "combination",
  parts: { [part: string]: PartJob },
): Work {
  const put = putJobs(queue, turn, { batch: turn.jobId, by: "auto_export_daemon", parts });
  if ("refused" in put) return waiting(work, turn.now, refusedWait(put.refused));
  const actual = Object.values(put.jobs).join(", ");
  return waiting({ ...work, jobs: { ...work.jobs, ...put.jobs } }, turn.now, {
    for: what,
    actual,
    required: "completed",
  });
}

type Followed =
  | { readonly state: "none" }
  | { readonly state: "open"; readonly waits: readonly Waiting[] }
  | { readonly state: "completed"; readonly job: JobView }
  | { readonly state: "failed"; readonly lost: LostJob };

/** What became of the job of one part. */
export function followPart({ queue }: StageServices, turn: Turn, { jobs }: Work, part: string): Followed {
  if (jobs[part] === undefined) return { state: "none" };
  const { completed, failed: broken, awaited } = followStageJobs(queue, turn, { [part]: jobs[part] });
  if (completed[0] !== undefined) return { state: "completed", job: completed[0].job };
  return broken[0] === undefined ? { state: "open", waits: awaited } : { state: "failed", lost: broken[0] };
}

/** Under way: what it waits for, where it lacks an input. */
export const goingOn = ({ now }: Turn, work: Work, ...jobs: readonly Followed[]): Work =>
  waiting(
    work,
    now,
    ...work.waits.filter((wait) => wait.for !== "input"),
    ...jobs.flatMap((job) => (job.state === "open" ? job.waits : [])),
  );

/** Its files enter the books as good ones: they follow from accepted files. */
export function enterFiles(
  { catalog }: StageServices,
  turn: Turn,
  part: string,
  files: readonly ArtifactRef[],
  job: JobView,
  parents: readonly string[],
): void {
  const artifacts = catalog.join(turn);
  const about = { configKey: turn.configKey, iteration: turn.at.iteration, part, parents };
  artifacts.record(entriesOfJob(files, job, about));
  artifacts.accept(files.map(({ sha256 }) => sha256));
}

const gamesIn = (segments: readonly Segment[]): number => sumOf(segments, ({ games }) => games);

function emitShards(
  { emit, configKey, jobId }: Exporting,
  segments: readonly Segment[],
  shards: readonly Shard[],
  nodeId: string | null,
): void {
  for (const shard of shards)
    emit.NPZ_EXPORT_COMPLETE({
      config_key: configKey,
      job_id: jobId,
      artifact_hash: shard.sha256,
      samples: shard.rows,
      games: gamesIn(segments),
      artifact_bytes: shard.bytes,
      ...defined({ node_id: nodeId ?? undefined }),
    });
}

/** The shards of this iteration; until they are there, the row to write. */
export function exportNow(
  services: StageServices,
  turn: Exporting,
  work: Work,
  segments: readonly Segment[],
): { readonly shards: readonly Shard[]; readonly work: Work } | Work {
  const { now, emit, plan, configKey, jobId } = turn;
  const { iteration } = turn.at;
  const made = work.own.window.filter(({ last_iteration }) => last_iteration === iteration);
  if (made.length > 0) return { shards: made, work };
  if (!plan.kinds.includes("export")) {
    const shards = shardsOfSegments(segments, iteration);
    if (isFailure(shards)) return failed(work, now, shards);
    emitShards(turn, segments, shards, null);
    return { shards, work };
  }
  const found = followPart(services, turn, work, SHARD);
  if (found.state === "open") return goingOn(turn, work, found);
  if (found.state === "failed") return failed(work, now, jobFailure("EXPORT_FAILED", "export", found.lost));
  const samples = segments.map(({ samples_file }) => samples_file);
  if (found.state === "none") {
    const brought = broughtFor(turn);
    const next = putExports(services, turn, work, "export", {
      [SHARD]: exportJob(turn, "shard", [...samples, ...brought]),
    });
    if (next.jobs[SHARD] === undefined) return next;
    emit.NPZ_EXPORT_STARTED({ config_key: configKey, job_id: jobId, games: gamesIn(segments) });
    if (brought.length === 0) return next;
    return { ...next, evidence: { ...next.evidence, brought: brought.map(({ sha256 }) => sha256) } };
  }
  const { job } = found;
  const shard = shardOf(job, iteration);
  if (isFailure(shard)) return failed(work, now, shard);
  const brought = (work.evidence.brought ?? []) as readonly string[];
  const parents = [...samples.map(({ sha256 }) => sha256), ...brought];
  if (brought.length > 0) turn.put(broughtExports, exportedNow(turn.row(broughtExports), brought));
  enterFiles(services, turn, SHARD, filesOfShard(shard), job, parents);
  emitShards(turn, segments, [shard], job.node_id);
  const { duplicates = 0, files = parents.length } = job.evidence!.counts;
  return { shards: [shard], work: { ...work, evidence: { ...work.evidence, duplicates, files } } };
}
