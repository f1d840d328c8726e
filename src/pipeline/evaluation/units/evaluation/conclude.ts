import { playersOf, ratingOf } from "../../../models/index.ts";
import { done, type Turn } from "../../../stage/index.ts";
import { type SprtResult, shapeOfCounts } from "../../../statistics/index.ts";
import { eloOfGate } from "../../gate.ts";
import { type GateVerdict, recordVerdict } from "../../verdicts.ts";
import { matchOf, type Work } from "./match.ts";

/** Writes the verdict down with its numbers, and tells it. */
export function conclude(
  turn: Turn<"EVALUATION_COMPLETED" | "PROMOTION_CANDIDATE">,
  work: Work,
  result: SprtResult,
): Work {
  const { rows, emit, now, configKey } = turn;
  const { candidate, opponent, counts } = work.own;
  const { gate, budget, games, wins, losses } = matchOf(work);
  const players = playersOf(configKey);
  const verdict = result.decision as Exclude<SprtResult["decision"], "continue">;
  const { method, ...elo } = eloOfGate(counts, players, gate);
  const { scores } = shapeOfCounts(players, counts.length);
  const score = counts.reduce((sum, n, cell) => sum + n * scores[cell]!, 0) / result.blocks;
  const numbers = {
    budget,
    verdict,
    reason: result.reason,
    blocks: result.blocks,
    games,
    score,
    counts,
    llr: result.llr,
    elo0: gate.bounds[0],
    elo1: gate.bounds[1],
    alpha: gate.alpha,
    beta: gate.beta,
    redundancy: result.redundancy,
    ...elo,
  } satisfies Partial<GateVerdict>;
  const { iteration, attempt } = work;
  rows.apply(recordVerdict({ config_key: configKey, iteration, attempt, candidate, opponent, ...numbers, at: now }));
  // On the scale of the ladder where the champion has a place on it, and as a difference to it where not.
  const base = ratingOf(rows, configKey, budget, opponent)?.elo ?? 0;
  const shared = { config_key: configKey, model_id: candidate, games, win_rate: score, elo: base + elo.elo };
  const win_rates = { [opponent]: score };
  emit.EVALUATION_COMPLETED({
    ...shared,
    job_id: turn.jobId,
    passed: verdict === "promote",
    win_rates,
    elo_low: base + elo.elo_low,
    elo_high: base + elo.elo_high,
    duration_seconds: (now - work.since) / 1_000,
  });
  if (verdict === "promote")
    emit.PROMOTION_CANDIDATE({ ...shared, artifact_hash: candidate, champion_model_id: opponent, win_rates });
  return done(work, now, {
    own: { ...work.own, verdict },
    evidence: { ...numbers, wins, losses, draws: games - wins - losses, method },
  });
}
