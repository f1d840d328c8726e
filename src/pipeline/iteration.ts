import { defineTable } from "../router/index.ts";
import type { Stage } from "./stages.ts";

/** Why something does not go on: what is there, and what would have to be. */
export type Wait = {
  readonly for: string;
  readonly actual: string | number | null;
  readonly required: string | number | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
};

/** A failure of a stage, as it is told to people. */
export type StageFailure = {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
};

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
};

/** By config_key. */
export const iterations = defineTable<Iteration>("pipeline_iterations");

/** Whether it is this stage's turn, and nothing holds it. */
export const isTurnOf = (stage: Stage, iteration: Iteration | undefined): iteration is Iteration =>
  iteration !== undefined && iteration.stage === stage && iteration.state === "running";

/** Failures of a stage in a row, over attempts and iterations: a success of it ends the row. */
export const failuresInARow = ({ failures }: Pick<Iteration, "failures">, stage: Stage): number =>
  failures.length - 1 - failures.findLastIndex((failure) => failure.stage !== stage);
