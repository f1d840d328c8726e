import { assert } from "../../kernel/index.ts";
import type { ArtifactEntryInput } from "../../sync/index.ts";
import type { JobView } from "../../work/index.ts";
import type { ArtifactRef, ConfigKey, Segment, StageFailure } from "../stage/index.ts";

const lacking = (code: string, { work_id }: JobView, what: string): StageFailure => ({
  code,
  message: `job ${work_id} ${what}`,
  retryable: true,
});

type Output = NonNullable<JobView["evidence"]>["outputs"][number];

/** A file by its first name: `samples.npz` and `samples.arena` are both samples. */
const named = (outputs: readonly Output[], name: string): Output | undefined =>
  outputs.find((output) => (output.name.split("/").at(-1) ?? "").split(".")[0] === name);

const refOf = ({ sha256, bytes }: Output, kind: string, rows: number): ArtifactRef => ({ sha256, kind, bytes, rows });

/** The games of a finished job, if it shows that there are any. */
export function segmentOf(part: string, job: JobView): Segment | StageFailure {
  const { evidence, work_id } = job;
  assert(evidence !== null, "a completed job has evidence");
  const games = evidence.counts.games ?? 0;
  const rows = evidence.counts.rows ?? evidence.counts.samples ?? 0;
  if (games < 1) return lacking("SELFPLAY_NO_GAMES", job, "is completed and counts no games");
  // A workload that makes one file only may call it as it likes.
  const samples =
    named(evidence.outputs, "samples") ?? (evidence.outputs.length === 1 ? evidence.outputs[0] : undefined);
  if (samples === undefined) return lacking("SELFPLAY_NO_SAMPLES", job, "is completed and brought no file of samples");
  const played = named(evidence.outputs, "games");
  return {
    part,
    work_id,
    producer: job.node_id ?? "unknown",
    games,
    rows,
    games_file: played === undefined || played === samples ? null : refOf(played, "games", games),
    samples_file: refOf(samples, "samples", rows),
  };
}

export const filesOf = ({ games_file, samples_file }: Segment): ArtifactRef[] =>
  games_file === null ? [samples_file] : [games_file, samples_file];

/** A segment's files for the books; its games are counted with one of them. */
export const entriesOf = (
  segment: Segment,
  { configKey, iteration, model }: { configKey: ConfigKey; iteration: number; model: string },
): ArtifactEntryInput[] =>
  filesOf(segment).map((file, n) => ({
    ...file,
    games: n === 0 ? segment.games : 0,
    config_key: configKey,
    producer: segment.producer,
    parents: [segment.model ?? model],
    work_id: segment.work_id,
    part: segment.part,
    iteration,
  }));
