/** One file of the oldest shards, where a window has many. */
import { isFailure, type Shard, type StageServices, type Turn } from "../../../stage/index.ts";
import { toCombine } from "./decide.ts";
import { enterFiles, exportJob, followPart, goingOn, putExports, type Work } from "./export-jobs.ts";
import { combinedHoldout, combinedShard, filesOfShard } from "./shards.ts";

const COMBINE = "combine";
const COMBINE_HOLDOUT = "combine-holdout";

const hashesOf = (files: readonly { readonly sha256: string }[]) => files.map(({ sha256 }) => sha256);

/** The window with its oldest shards made one; the plain window if that failed; nothing while it goes on. */
export function combineNow(
  services: StageServices,
  turn: Turn<"WORK_QUEUED" | "NPZ_COMBINATION_STARTED" | "NPZ_COMBINATION_COMPLETE" | "NPZ_COMBINATION_FAILED">,
  work: Work,
  window: readonly Shard[],
): { readonly window: readonly Shard[]; readonly combination: string } | Work {
  const { emit, plan, configKey, jobId } = turn;
  const parts = plan.kinds.includes("export") ? toCombine(window) : [];
  if (parts.length === 0) return { window, combination: "none was needed" };
  const about = { config_key: configKey, job_id: jobId, artifact_hashes: hashesOf(parts) };
  const holdouts = parts.flatMap(({ holdout }) => holdout ?? []);
  const giveUp = (error: string) => {
    emit.NPZ_COMBINATION_FAILED({ ...about, error, retryable: true });
    return { window, combination: `failed: ${error}` };
  };
  if (work.jobs[COMBINE] === undefined) {
    const next = putExports(services, turn, work, "combination", {
      [COMBINE]: exportJob(turn, "combine", parts),
      ...(holdouts.length > 1 ? { [COMBINE_HOLDOUT]: exportJob(turn, "combine", holdouts) } : {}),
    });
    if (next.jobs[COMBINE] !== undefined) emit.NPZ_COMBINATION_STARTED(about);
    return next;
  }
  const main = followPart(services, turn, work, COMBINE);
  const held = followPart(services, turn, work, COMBINE_HOLDOUT);
  if (main.state === "open" || held.state === "open") return goingOn(turn, work, main, held);
  for (const broken of [main, held])
    if (broken.state === "failed") {
      const { workId, code, reason } = broken.lost;
      return giveUp(`job ${workId} failed (${code}): ${reason}`);
    }
  if (main.state !== "completed") return work;
  const holdout = held.state === "completed" ? combinedHoldout(held.job) : (holdouts[0] ?? null);
  if (holdout !== null && isFailure(holdout)) return giveUp(holdout.message);
  const one = combinedShard(main.job, parts, holdout);
  if (isFailure(one)) return giveUp(one.message);
  enterFiles(services, turn, COMBINE, filesOfShard({ ...one, holdout: null }), main.job, about.artifact_hashes);
  if (held.state === "completed" && holdout !== null)
    enterFiles(services, turn, COMBINE_HOLDOUT, [holdout], held.job, hashesOf(holdouts));
  emit.NPZ_COMBINATION_COMPLETE({
    ...about,
    artifact_hash: one.sha256,
    samples: one.rows,
    samples_by_source: Object.fromEntries(parts.map(({ sha256, rows }) => [sha256, rows])),
  });
  return { window: [one, ...window.slice(parts.length)], combination: `${parts.length} files became one` };
}
