import type { Wiring } from "../../../../daemons/index.ts";
import { type Champion, champions, modelEntry } from "../../../models/index.ts";
import { cancelJobs, defineConfigUnit, everyMs, JOB_ENDS, lostFiles, rebuildRows } from "../../../stage/index.ts";
import { FAILED_ROUNDS } from "../../limits.ts";
import { type Regression, regressions } from "../../regressions.ts";
import type { EvaluationServices } from "../../services.ts";
import { begin, condemn, follow, followProbe, jobsOf, type Look, probe } from "./check.ts";

const wiring = {
  name: "model_performance_watchdog",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["MODEL_PERFORMANCE_WATCHDOG"],
  alsoKnownAs: ["ModelPerformanceWatchdog", "RegressionDetector"],
  dependsOn: ["elo_service"],
  emits: [
    "WORK_QUEUED",
    "REGRESSION_DETECTED",
    "REGRESSION_MINOR",
    "REGRESSION_MODERATE",
    "REGRESSION_SEVERE",
    "REGRESSION_CRITICAL",
    "REGRESSION_CLEARED",
    "TRAINING_ROLLBACK_NEEDED",
  ],
} as const satisfies Wiring;

/**
 * Judges every champion after it is crowned, however that came about: games against the last good one, and at once where it
 * is broken. It tells; `model_rollback` acts.
 */
export const modelPerformanceWatchdog = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { regressions } },
    wakes: [
      "PIPELINE_STAGE_ENTERED",
      "MODEL_PROMOTED",
      "PROMOTION_ROLLED_BACK",
      "EVALUATION_COMPLETED",
      "MODEL_CORRUPTED",
      ...JOB_ENDS,
    ],
    jobs: "evaluation",
    everyMs: everyMs(services),
    look: (look) => watch(services, look),
    health: ({ rows }) => {
      const all = rows.list(regressions);
      const weak = all.filter(([, { state }]) => state === "regressed").map(([key]) => key);
      return {
        status: weak.length === 0 ? "running" : "degraded",
        message: weak.length === 0 ? "" : `weaker than before: ${weak.join(", ")}`,
        details: Object.fromEntries(all.map(([key, { state, reason }]) => [key, `${state} ${reason}`.trim()])),
      };
    },
  });

async function watch(services: EvaluationServices, look: Look): Promise<void> {
  const champion = look.row(champions);
  if (champion === undefined) return;
  const known = look.row(regressions);
  const isOther = known !== undefined && known.generation !== champion.generation;
  if (isOther) await cancelJobs(services.queue, jobsOf(known), "another champion has come", wiring.name);
  const row = known === undefined || isOther ? begin(services, look, champion, []) : known;
  if (row.state === "regressed") return;
  const corrupted = modelEntry(services.store, look.configKey, champion.model)?.corrupted;
  // A file that is made again is the same champion: only one that is lost for good has to go.
  if (corrupted != null && lostFiles(look.row(rebuildRows)).has(champion.model))
    return condemn(services, look, row, "hash_mismatch", `its file is damaged (${String(corrupted.damage)})`);
  if (await followProbe(services, look, row)) return;
  const now = look.row(regressions)!;
  if (now.probe.work_id === null && isSuspect(look, champion, now)) return probe(services, look, now);
  if (now.state === "watching") await follow(services, look, now);
}

/** Self-play failed again and again since this champion was crowned: it may be its fault. */
function isSuspect({ at }: Look, champion: Champion, row: Regression): boolean {
  const failures = at?.failures ?? [];
  const since = failures.filter((failure) => failure.stage === "selfplay" && failure.at > champion.since).length;
  return since >= FAILED_ROUNDS * (row.probe.number + 1);
}
