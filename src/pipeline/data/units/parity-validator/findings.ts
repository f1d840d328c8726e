import { sumOf } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { type ConfigLook, NO_INPUT, type Segment, undertakingOf } from "../../../stage/index.ts";
import type { Figures } from "../../figures.ts";
import type { Check, ParityRow } from "../../tables.ts";

type ParityEvent = "PARITY_VALIDATION_COMPLETED" | "PARITY_FAILURE_RATE_CHANGED" | "DATA_QUALITY_ALERT";

/** Refusals that say something about the machine or the plan, and nothing about the segment. */
const NOT_ITS_FAULT = new Set(["no_workload", "bad_payload", "unknown_kind", NO_INPUT]);

/** A job that was refused with attempts left was refused for its input. */
export const isUnreadable = (job: JobView | undefined): boolean =>
  job?.state === "failed" &&
  job.attempts < job.max_attempts &&
  job.failure?.error_code !== null &&
  !NOT_ITS_FAULT.has(job.failure?.error_code ?? NO_INPUT);

/** Games that must not be used, by what the check found; wrong labels say nothing of how many games they spoil. */
const badGames = ({ illegal_games, parity_failed, label_errors }: Figures): number =>
  Math.max(illegal_games + parity_failed, label_errors > 0 ? 1 : 0);

export const isClean = ({ figures }: Check): boolean =>
  figures !== null && figures.illegal_games + figures.parity_failed + figures.label_errors === 0;

const faultWords = ({ label_errors, illegal_games, parity_failed, parity_checked }: Figures): string =>
  [
    illegal_games > 0 ? `${illegal_games} games break the rules` : "",
    label_errors > 0 ? `${label_errors} rows contradict their game` : "",
    parity_failed > 0 ? `${parity_failed} of ${parity_checked} games came out otherwise when played again` : "",
  ]
    .filter((text) => text !== "")
    .join("; ");

/** What came of a batch whose checks are all in; the share of its games that were wrong. */
export const emitParity = (
  { emit, now, configKey: key }: ConfigLook<ParityEvent>,
  row: ParityRow,
  segments: readonly Segment[],
): number => {
  const found = segments.flatMap((segment) => {
    const check = row.checked[segment.part];
    return check === undefined ? [] : [{ segment, check }];
  });
  const games = sumOf(found, ({ segment }) => segment.games);
  if (games === 0) return row.failure_rate;
  const bad = found.map(({ segment, check }) =>
    Math.min(segment.games, check.figures === null ? segment.games : badGames(check.figures)),
  );
  const failed_games = sumOf(bad);
  const selfChecked = sumOf(found, ({ segment, check }) => (check.self_checked === true ? segment.games : 0));
  for (const [n, { segment, check }] of found.entries())
    if (bad[n]! > 0)
      emit.DATA_QUALITY_ALERT({
        config_key: key,
        severity: "error",
        message: `segment ${segment.part} of ${segment.producer}, job ${segment.work_id}: ${check.figures === null ? `cannot be read: ${check.unreadable}` : faultWords(check.figures)}`,
        failed_games: bad[n]!,
        artifact_hash: (segment.games_file ?? segment.samples_file).sha256,
      });
  emit.PARITY_VALIDATION_COMPLETED({
    config_key: key,
    job_id: undertakingOf(key, row, "data_sync"),
    passed: failed_games === 0,
    games,
    failed_games,
    ...(selfChecked === 0 ? {} : { self_checked_games: selfChecked }),
    artifact_hashes: found.map(({ segment }) => (segment.games_file ?? segment.samples_file).sha256),
    duration_seconds: (now - row.since) / 1_000,
  });
  const failure_rate = failed_games / games;
  if (failure_rate !== row.failure_rate)
    emit.PARITY_FAILURE_RATE_CHANGED({
      config_key: key,
      failure_rate,
      previous_failure_rate: row.failure_rate,
      games,
    });
  return failure_rate;
};
