import { defineTable } from "../../router/index.ts";
import type { StageFailure } from "./iteration.ts";
import type { Jobs } from "./jobs.ts";
import type { ConfigPlan } from "./plan.ts";
import type { Wait } from "./waits.ts";
import type { ArtifactRef, Shard } from "./work.ts";

/** How much each row of an iteration's window surprises its champion. By config_key; written by `per_orchestrator`. */
export type ReplayBuffer = {
  readonly iteration: number;
  readonly state: "asked" | "ready" | "failed";
  /** The training files that it is of, and the champion whose surprise it tells. */
  readonly inputs: readonly string[];
  readonly model: string;
  readonly jobs: Jobs;
  readonly file: ArtifactRef | null;
  readonly max_priority: number;
  readonly min_priority: number;
  readonly failure: StageFailure | null;
  readonly waits: readonly Wait[];
  /** Milliseconds since the epoch. */
  readonly since: number;
};
export const replayBuffers = defineTable<ReplayBuffer>("pipeline_replay_buffers");

/** Whether rows are drawn by their priority. A plan of an older version says nothing of it. */
export const isPrioritised = (plan: Pick<ConfigPlan, "kinds"> & Partial<Pick<ConfigPlan, "replay">>): boolean =>
  plan.replay?.prioritised === true && plan.kinds.includes("export");

/** The buffer of this very window; undefined where it is of another one, or of none. */
export const bufferOf = (
  buffer: ReplayBuffer | undefined,
  iteration: number,
  window: readonly Pick<Shard, "sha256">[],
): ReplayBuffer | undefined =>
  buffer?.iteration === iteration && buffer.inputs.join() === window.map(({ sha256 }) => sha256).join()
    ? buffer
    : undefined;
