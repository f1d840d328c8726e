/** The jobs of a match and what came of them, alike for gates, ratings and checks of champions. */
import { disownFile } from "../../sync/index.ts";
import type { JobView } from "../../work/index.ts";
import { budgetOf, playersOf } from "../models/index.ts";
import { type ConfigLook, type ConfigPlan, type PartJob, seedFor } from "../stage/index.ts";
import type { MatchPart } from "./gate.ts";
import { appendMatches, type MatchPurpose } from "./ledger.ts";
import { type MatchResults, matchResults, resultsFileOf } from "./match-results.ts";
import type { EvaluationServices } from "./services.ts";

export interface Pair {
  readonly candidate: string;
  readonly opponent: string;
}

const SHA256 = /^[0-9a-f]{64}$/;

/** The job that plays some blocks of a match. Players are models by their hash, or baselines that the workload knows. */
export function matchJob(
  plan: ConfigPlan,
  { candidate, opponent }: Pair,
  { blocks, firstBlock }: Pick<MatchPart, "blocks" | "firstBlock">,
  { urgency, seed }: { readonly urgency: "low" | "normal" | "high"; readonly seed: readonly [string, number] },
): PartJob {
  const players = [
    { name: "candidate", sha256: candidate },
    { name: "opponent", sha256: opponent },
  ];
  return {
    work_type: "evaluation",
    urgency,
    payload: {
      parameters: { ...plan.evaluation, blocks, first_block: firstBlock, candidate, opponent },
      seed: seedFor(plan.seed, ...seed),
      inputs: players.filter(({ sha256 }) => SHA256.test(sha256)),
    },
  };
}

/** The results of a job that has played some blocks of a match. */
export const resultsOf = (
  services: EvaluationServices,
  { configKey }: Pick<ConfigLook, "configKey">,
  { candidate, opponent }: Pair,
  { blocks }: Pick<MatchPart, "blocks">,
  job: JobView,
): Promise<MatchResults> =>
  matchResults((file) => services.readArtifact(file), job, {
    candidate,
    opponent,
    blocks,
    players: playersOf(configKey),
  });

/**
 * Writes the blocks of a job into the ledger, under their numbers in the match. The ledger has all of it from then on: the file
 * that it was read from is given up with the same commit.
 */
export function recordMatch(
  { rows, configKey, plan, now }: ConfigLook,
  purpose: MatchPurpose,
  { candidate, opponent }: Pair,
  { firstBlock }: Pick<MatchPart, "firstBlock">,
  job: JobView,
  { blocks }: MatchResults,
): void {
  rows.apply(
    appendMatches({
      config_key: configKey,
      budget: budgetOf(plan.evaluation),
      purpose,
      work_id: job.work_id,
      candidate,
      opponent,
      blocks: blocks.map((block) => ({ ...block, block: firstBlock + block.block })),
      at: now,
    }),
  );
  const file = resultsFileOf(job);
  if (file !== undefined)
    rows.apply(disownFile({ sha256: file.sha256, bytes: file.bytes, reason: "it is in the ledger", at: now }));
}
