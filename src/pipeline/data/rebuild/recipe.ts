/** How a file that is lost is made again. Artifacts follow byte for byte from their job, and the job from what is kept here. */
import type { Json } from "../../../kernel/index.ts";
import { cutIntoJobs } from "../../selfplay/index.ts";
import {
  type ConfigPlan,
  drawnInputs,
  gamesWith,
  type Knobs,
  PLAY_KNOBS,
  type StageFailure,
  seedFor,
  withKnobs,
} from "../../stage/index.ts";

/** What the catalog has of a file. */
export interface KnownFile {
  readonly sha256: string;
  readonly kind: string;
  readonly iteration: number | null;
  readonly part: string | null;
  /** What its job was given, in its order. */
  readonly parents: readonly string[];
}

export type Input = { readonly name: string; readonly sha256: string };

/** What a job is given. */
export type Recipe = {
  readonly parameters: { readonly [name: string]: Json };
  readonly seed: number | null;
  readonly inputs: readonly Input[];
};

export type Rebuildable = Recipe & { readonly work_type: "selfplay" | "export" | "training" };

const MADE_BY: Readonly<Record<string, Rebuildable["work_type"]>> = {
  samples: "selfplay",
  games: "selfplay",
  training_set: "export",
  holdout: "export",
  model: "training",
  checkpoint: "training",
};

const unknown = (message: string): StageFailure => ({ code: "REBUILD_UNKNOWN", message, retryable: false });

/** Inputs of an export, by their place. */
export const samplesNamed = (sha256s: readonly string[]): Input[] =>
  sha256s.map((sha256, n) => ({ name: `samples-${String(n).padStart(4, "0")}`, sha256 }));

/** What an export is told. */
export const exportParameters = (
  mode: "shard" | "combine" | "union",
  { holdout_share }: Pick<ConfigPlan, "holdout_share">,
) => ({
  mode,
  format: "npz",
  ...(mode === "shard" ? { holdout_share } : {}),
});

function playAgain(
  { iteration, part, parents }: KnownFile,
  plan: ConfigPlan,
  knobs?: Knobs,
): Rebuildable | StageFailure {
  const found = cutIntoJobs(gamesWith(plan.games_per_iteration, knobs), plan.games_per_job).find(
    (one) => one.part === part,
  );
  const [model] = parents;
  if (found === undefined || iteration === null || model === undefined)
    return unknown(`nobody knows which games it held (iteration ${iteration}, part ${part})`);
  return {
    work_type: "selfplay",
    parameters: {
      ...withKnobs(plan.selfplay, knobs, ...PLAY_KNOBS),
      games: found.games,
      first_game: found.first_game,
    },
    seed: seedFor(plan.seed, "selfplay", iteration),
    inputs: [{ name: "model", sha256: model }, ...drawnInputs(knobs)],
  };
}

function exportAgain({ part, parents }: KnownFile, plan: ConfigPlan): Rebuildable | StageFailure {
  if (parents.length === 0 || part === null) return unknown("nobody knows which files it was made from");
  const mode = part.startsWith("combine") ? "combine" : "shard";
  return {
    work_type: "export",
    parameters: exportParameters(mode, plan),
    seed: null,
    inputs: samplesNamed(parents),
  };
}

/** The job that makes a file, or why nobody knows it. `trained` is what the run of a model was given, `knobs` what its iteration was opened with. */
export function recipeOf(
  file: KnownFile,
  plan: ConfigPlan,
  trained: Recipe | undefined,
  knobs?: Knobs,
): Rebuildable | StageFailure {
  const workType = MADE_BY[file.kind];
  if (workType === undefined) return unknown(`no job is known that makes files of the kind '${file.kind}'`);
  if (!plan.kinds.includes(workType)) return unknown(`nobody does '${workType}' for ${plan.config_key}`);
  if (workType === "selfplay") return playAgain(file, plan, knobs);
  if (workType === "export") return exportAgain(file, plan);
  if (trained === undefined)
    return unknown("it was trained elsewhere, or so long ago that what it was given is forgotten");
  return { work_type: "training", ...trained };
}

/** Segments that are being judged are the judges': what is damaged of them is rejected and played again. */
export const isJudged = (
  { kind, iteration }: Pick<KnownFile, "kind" | "iteration">,
  at: { readonly iteration: number; readonly stage: string } | undefined,
): boolean =>
  (kind === "samples" || kind === "games") &&
  at !== undefined &&
  iteration === at.iteration &&
  (at.stage === "selfplay" || at.stage === "data_sync");
