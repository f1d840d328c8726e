import { sumOf } from "../../../../kernel/index.ts";
import type { ArtifactEntryInput } from "../../../../sync/index.ts";
import type { JobView } from "../../../../work/index.ts";
import type { ArtifactRef, ConfigPlan, Segment, Shard, StageFailure } from "../../../stage/index.ts";

const empty = (what: string): StageFailure => ({ code: "EXPORT_EMPTY", message: what, retryable: false });

const fileOf = ({ evidence }: JobView, name: string) =>
  evidence?.outputs.find((output) => output.name.startsWith(name));

/** The training file that an export job made, if there is anything in it. */
export function shardOf(job: JobView, iteration: number): Shard | StageFailure {
  const { counts = {} } = job.evidence ?? {};
  const file = fileOf(job, "train");
  const rows = counts.rows ?? 0;
  if (file === undefined) return empty(`export ${job.work_id} made no training file`);
  if (rows < 1) return empty(`export ${job.work_id} made a training file without rows`);
  const held = fileOf(job, "holdout");
  const heldRows = counts.holdout_rows ?? 0;
  return {
    sha256: file.sha256,
    bytes: file.bytes,
    kind: "training_set",
    rows,
    first_iteration: iteration,
    last_iteration: iteration,
    holdout:
      held === undefined || heldRows < 1
        ? null
        : { sha256: held.sha256, bytes: held.bytes, kind: "holdout", rows: heldRows },
  };
}

/** Segments as training files, for workloads that export nothing. */
export function shardsOfSegments(segments: readonly Segment[], iteration: number): Shard[] | StageFailure {
  const shards = segments
    .filter(({ rows }) => rows > 0)
    .map(({ samples_file }) => ({
      ...samples_file,
      first_iteration: iteration,
      last_iteration: iteration,
      holdout: null,
    }));
  return shards.length === 0 ? empty(`none of ${segments.length} segments counts any rows`) : shards;
}

/** Several shards as one; its held-out rows are those of all of them. */
export function combinedShard(
  job: JobView,
  parts: readonly Shard[],
  holdout: ArtifactRef | null,
): Shard | StageFailure {
  const file = fileOf(job, "train");
  const rows = job.evidence?.counts.rows ?? 0;
  const wanted = sumOf(parts, (part) => part.rows);
  if (file === undefined) return empty(`combination ${job.work_id} made no file`);
  if (rows !== wanted) return empty(`combination ${job.work_id} has ${rows} rows, its parts have ${wanted}`);
  return {
    sha256: file.sha256,
    bytes: file.bytes,
    kind: "training_set",
    rows,
    first_iteration: parts[0]!.first_iteration,
    last_iteration: parts.at(-1)!.last_iteration,
    holdout,
  };
}

/** The held-out rows of several shards, combined by a job. */
export function combinedHoldout(job: JobView): ArtifactRef | StageFailure {
  const file = fileOf(job, "train");
  const rows = job.evidence?.counts.rows ?? 0;
  if (file === undefined || rows < 1) return empty(`combination ${job.work_id} of held-out rows made nothing`);
  return { sha256: file.sha256, bytes: file.bytes, kind: "holdout", rows };
}

export const filesOfShard = ({ sha256, kind, bytes, rows, holdout }: Shard): ArtifactRef[] => [
  { sha256, kind, bytes, rows },
  ...(holdout === null ? [] : [holdout]),
];

/** Files of a job for the books. Their games are counted with the segments that they come from. */
export const entriesOfJob = (
  files: readonly ArtifactRef[],
  job: JobView,
  about: { configKey: ConfigPlan["config_key"]; iteration: number; part: string; parents: readonly string[] },
): ArtifactEntryInput[] =>
  files.map((file) => ({
    ...file,
    games: 0,
    config_key: about.configKey,
    producer: job.node_id ?? "unknown",
    parents: [...about.parents],
    work_id: job.work_id,
    part: about.part,
    iteration: about.iteration,
  }));
