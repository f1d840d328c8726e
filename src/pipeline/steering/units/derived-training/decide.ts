/** Which network is made of a champion, how, and what is written of it: pure functions. */
import type { Student } from "../../../models/index.ts";
import { playersOf } from "../../../models/index.ts";
import { type ConfigPlan, type ExportOwn, type PartJob, seedFor } from "../../../stage/index.ts";
import { drawBlocks } from "../../../statistics/index.ts";
import type { DerivedRun } from "../../tables.ts";

type Kind = DerivedRun["kind"];
const KINDS: readonly Kind[] = ["distillation", "nnue"];

/** How the players are called in the results. */
export const PLAYERS = { candidate: "student", opponent: "teacher" } as const;

/**
 * The recipe whose turn it is: a multiple of its `every` was passed since it was begun last. One in an iteration at most; of several the one that
 * was begun longest ago, so that none keeps another from its turn.
 */
export function dueRecipe(
  recipes: ConfigPlan["derived"],
  iteration: number,
  begun: DerivedRun["begun"] = {},
): Kind | undefined {
  if (iteration < 1 || Object.values(begun).includes(iteration)) return undefined;
  const due = KINDS.filter((kind) => {
    const { every } = recipes[kind];
    return every !== null && Math.floor(iteration / every) > Math.floor((begun[kind] ?? 0) / every);
  });
  return due.sort((a, b) => (begun[a] ?? 0) - (begun[b] ?? 0))[0];
}

interface Begin {
  readonly configKey: string;
  readonly teacher: string;
  readonly iteration: number;
  readonly last: DerivedRun | undefined;
  readonly now: number;
}

export function beginDerived(
  kind: Kind,
  { configKey, teacher, iteration, last, now }: Begin,
  { window, total_rows, new_rows }: ExportOwn,
): DerivedRun {
  const number = (last?.number ?? 0) + 1;
  return {
    run_id: `${configKey}:${kind}:${number}`,
    ...{ kind, number, iteration, teacher, state: "training", window, total_rows, new_rows },
    ...{ jobs: {}, model: null, losses: {}, scores: {}, repeated: 0, games: 0, proof: null, failure: null, waits: [] },
    counts: drawBlocks(playersOf(configKey)).scores.map(() => 0),
    since: now,
    ended_at: null,
    begun: { ...last?.begun, [kind]: iteration },
  };
}

const numbered = (name: string, at: number) => `${name}-${String(at).padStart(4, "0")}`;

/** A student has a teacher among its inputs; a network of NNUE style learns from the games alone. Both begin with nothing. */
export function trainingJob(plan: ConfigPlan, run: DerivedRun): PartJob {
  const { training, steps } = plan.derived[run.kind];
  const { base, share, most } = plan.window;
  const inputs = run.window.map(({ sha256 }, n) => ({ name: numbered("samples", n), sha256 }));
  for (const [n, { holdout }] of run.window.entries())
    if (holdout !== null) inputs.push({ name: numbered("holdout", n), sha256: holdout.sha256 });
  if (run.kind === "distillation") inputs.push({ name: "teacher", sha256: run.teacher });
  const { new_rows, total_rows } = run;
  const rows = { new_rows, total_rows, window_base: base, window_share: share, window_most: most };
  const network_seed = seedFor(plan.seed, "network", run.kind);
  return {
    work_type: "training",
    urgency: "low",
    payload: {
      parameters: { ...plan.training, ...training, ...rows, network_seed, steps },
      seed: seedFor(plan.seed, run.kind, run.number),
      inputs,
    },
  };
}

/** The student plays its teacher. */
export const matchJob = (
  plan: ConfigPlan,
  run: DerivedRun,
  { firstBlock, blocks }: { readonly firstBlock: number; readonly blocks: number },
): PartJob => ({
  work_type: "evaluation",
  urgency: "low",
  payload: {
    parameters: {
      ...plan.evaluation,
      ...plan.derived[run.kind].evaluation,
      ...PLAYERS,
      ...{ blocks, first_block: firstBlock },
    },
    seed: seedFor(plan.seed, run.kind, run.number, "match"),
    inputs: [
      { name: "candidate", sha256: run.model!.sha256 },
      { name: "opponent", sha256: run.teacher },
    ],
  },
});

/** What the registry is told of it. */
export function studentOf(
  { plan, configKey, now }: { readonly plan: ConfigPlan; readonly configKey: string; readonly now: number },
  run: DerivedRun,
): Student {
  const { score, elo, low, high, games } = run.proof!;
  const { model, kind, teacher } = run;
  const shape = Object.entries(plan.derived[kind].training).map(([name, value]) => `${name} ${String(value)}`);
  return {
    config_key: configKey,
    model: model!.sha256,
    iteration: run.iteration,
    job_id: run.run_id,
    work_id: model!.work_id,
    bytes: model!.bytes,
    checkpoint: null,
    base_checkpoint: null,
    inputs: run.window.map(({ sha256 }) => sha256),
    losses: run.losses,
    derived: { kind, architecture: shape.join(", ") || kind, teacher, score, elo, low, high, games },
    created_at: now,
  };
}
