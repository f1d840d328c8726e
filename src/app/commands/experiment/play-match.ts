/** A match of two models apart from all gates: other openings, no early end, and as many programs as there are workers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createIds, OperatingError, silentLog, sumOf } from "../../../kernel/index.ts";
import { seedFor } from "../../../pipeline/index.ts";
import {
  createGuardian,
  createRunner,
  createWorkloadHasher,
  type PairsMessage,
} from "../../../workloads/process/index.ts";
import { workloadFor } from "../../worker/workload-list.ts";
import type { Experiment } from "./definition.ts";
import type { ExperimentWorld } from "./run-arm.ts";

export interface Sides {
  readonly candidate: { readonly sha256: string; readonly path: string };
  readonly opponent: { readonly sha256: string; readonly path: string };
}

/** Blocks of one job. */
const JOB_BLOCKS = 25;

/** What one and the same model comes to against itself: nobody needs to play that. */
export function evenMatch(blocks: number, players: number): { readonly counts: number[]; readonly games: number } {
  const counts = new Array<number>(players * players + 1).fill(0);
  // Everybody has an equal share of each game of a block, which is one point for each seat.
  counts[players] = blocks;
  return { counts, games: blocks * players };
}

export async function playMatch(
  { config_key, match, name }: Pick<Experiment, "config_key" | "match" | "name">,
  seed: number,
  players: number,
  sides: Sides,
  world: Pick<ExperimentWorld, "clock" | "random" | "env" | "signal" | "workloads" | "workers">,
): Promise<{ readonly counts: number[]; readonly games: number }> {
  const workload = workloadFor(world.workloads, "evaluation", config_key);
  if (workload === undefined)
    throw OperatingError.conflict("NO_WORKLOAD", `no workload plays evaluations of ${config_key}`);
  const { clock, random, env, signal } = world;
  const log = silentLog();
  const folder = mkdtempSync(join(tmpdir(), "ringrift-experiment-"));
  const guardian = createGuardian({ ids: createIds(clock, random), log });
  const hasher = createWorkloadHasher();
  const inputs = (["candidate", "opponent"] as const).map((role) => ({ name: role, ...sides[role] }));
  const inputFolders = [dirname(sides.candidate.path), dirname(sides.opponent.path)];
  const starts = Array.from({ length: Math.ceil(match.blocks / JOB_BLOCKS) }, (_, i) => i * JOB_BLOCKS);
  const counts = new Array<number>(players * players + 1).fill(0);
  const slots = Array.from({ length: Math.max(1, Math.min(world.workers, starts.length)) }, (_, i) =>
    createRunner(
      workload.declaration,
      { folder: join(folder, `p${i}`), inputFolders },
      { clock, log, guardian, hasher, env },
    ),
  );
  const play = async (runner: (typeof slots)[number]) => {
    for (let first = starts.shift(); first !== undefined; first = starts.shift()) {
      const blocks = Math.min(JOB_BLOCKS, match.blocks - first);
      const pairs: PairsMessage[] = [];
      const job = {
        ...{ job_id: `match-${seed}-${first}`, kind: "evaluation", config_key, attempt: 1, fence: 0, deadline: null },
        seed: seedFor(seed, "experiment", name),
        parameters: { ...match.parameters, blocks, first_block: first, candidate: "arm", opponent: "control" },
        inputs,
        output_folder: join(folder, `output-${first}`),
        scratch_folder: join(folder, `scratch-${first}`),
      };
      const outcome = await runner.runJob(job, { signal, pairs: (message) => void pairs.push(message) });
      const played = pairs.flatMap((message) => message.blocks);
      if (outcome.status !== "completed" || played.length !== blocks)
        throw OperatingError.internal("EXPERIMENT_MATCH_FAILED", `a match gave no result: ${outcome.reason}`);
      for (const { scores } of played) counts[Math.round(sumOf(scores) * players)]! += 1;
    }
  };
  try {
    await Promise.all(slots.map(play));
    return { counts, games: match.blocks * players };
  } finally {
    for (const runner of slots) await runner.close();
    await guardian.close();
    await hasher.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
