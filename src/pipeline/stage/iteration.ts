import { type Cause, defineTable } from "../../router/index.ts";
import type { Knobs } from "./signals.ts";
import type { Stage } from "./stages.ts";
import type { Wait } from "./waits.ts";

/** A failure of a stage, as it is told to people. */
export type StageFailure = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
};

export const isFailure = (found: object): found is StageFailure => "code" in found;

/** A rejected segment is no fault of the stage that found it: its games are played again, by somebody else. */
export const SEGMENTS_REJECTED = "SEGMENTS_REJECTED";
/** A model that nobody can use is no fault of those who measure it: it is trained again, by somebody else. */
export const MODEL_UNUSABLE = "MODEL_UNUSABLE";

/**
 * Where a config is. The orchestrator alone writes it; whoever works on a stage starts when this row says that it is the
 * stage's turn, and never otherwise. Times are milliseconds since the epoch.
 */
export type Iteration = {
  /** From 1; iteration 0 makes the first champion, which knows nothing. */
  readonly iteration: number;
  readonly stage: Stage;
  /** Of this stage in this iteration, from 1. Whoever works on the stage does so once for each attempt. */
  readonly attempt: number;
  readonly state: "running" | "waiting" | "paused" | "failed" | "complete";
  readonly opened_at: number;
  readonly stage_since: number;
  /** When the stage is late. */
  readonly deadline: number;
  /** SHA-256 of the champion that plays this iteration's games. */
  readonly champion: string | null;
  /** What steering said when it was opened: it holds for all of it, however often a stage is tried. Missing where nothing was said. */
  readonly knobs?: Knobs;
  /** What it waits for, where it does not run. */
  readonly waits: readonly Wait[];
  /** The last failures, newest last; a few are kept. */
  readonly failures: readonly (StageFailure & {
    readonly iteration: number;
    readonly stage: Stage;
    readonly attempt: number;
    readonly at: number;
  })[];
  /** No new attempt before this, after a failure. */
  readonly not_before: number | null;
  /** The last event of its own: all that is told of the iteration shares its trace. Rows of older versions have none. */
  readonly cause?: { readonly [field in keyof Cause]: string };
};

/** By config_key. */
export const iterations = defineTable<Iteration>("pipeline_iterations");

/** Whether it is this stage's turn, and nothing holds it. */
export const isTurnOf = (stage: Stage, iteration: Iteration | undefined): iteration is Iteration =>
  iteration !== undefined && iteration.stage === stage && iteration.state === "running";

/** Failures of a stage in a row, over attempts and iterations: a success of it ends the row. */
export const failuresInARow = (
  { failures }: { readonly failures: readonly { readonly stage: Stage }[] },
  stage: Stage,
): number => failures.length - 1 - failures.findLastIndex((failure) => failure.stage !== stage);
