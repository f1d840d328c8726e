import { insertRow, parseColumns } from "../router/sql-rows.ts";
import { defineOperation, defineStoreModule, type Store } from "../router/store.port.ts";
import type { Stage, StageWork } from "./stage/index.ts";

/** One attempt of one stage that has ended. Times are milliseconds since the epoch. */
export type EndedStage = Pick<StageWork, "iteration" | "attempt" | "since" | "outputs" | "evidence" | "failure"> & {
  readonly config_key: string;
  readonly stage: Stage;
  readonly state: "done" | "failed";
  readonly ended_at: number;
};

/** Iterations that are kept of a config; the oldest go. */
const ITERATIONS_KEPT = 8_333;

/** Writes down what ended. Said twice it is written once. */
const recordStage = defineOperation<EndedStage, void>("pipeline.ended", (tx, row) => {
  insertRow(tx, "pipeline_history", row, "ON CONFLICT DO NOTHING");
  tx.run(
    "DELETE FROM pipeline_history WHERE config_key = ? AND iteration < ?",
    row.config_key,
    row.iteration - ITERATIONS_KEPT,
  );
});

export const pipelineModule = defineStoreModule({
  name: "pipeline",
  migrations: [
    {
      id: 1,
      name: "stages that ended",
      sql: `
        CREATE TABLE pipeline_history (
          config_key TEXT NOT NULL,
          iteration INTEGER NOT NULL,
          stage TEXT NOT NULL,
          attempt INTEGER NOT NULL,
          state TEXT NOT NULL,
          since INTEGER NOT NULL,
          ended_at INTEGER NOT NULL,
          outputs TEXT NOT NULL,
          evidence TEXT NOT NULL,
          failure TEXT,
          PRIMARY KEY (config_key, iteration, stage, attempt)
        ) STRICT, WITHOUT ROWID;
      `,
    },
  ],
  operations: [recordStage],
});

export const endedStage = (
  config_key: string,
  stage: Stage,
  { iteration, attempt, state, since, ended_at, outputs, evidence, failure }: StageWork<never>,
  now: number,
) => {
  const work = { iteration, attempt, since, ended_at: ended_at ?? now, outputs, evidence, failure };
  return recordStage({ ...work, config_key, stage, state: state as EndedStage["state"] });
};

/** Ended stages of a config, newest first. */
export const stageHistory = (
  store: Pick<Store, "read">,
  { configKey, stage, limit = 100 }: { readonly configKey: string; readonly stage?: Stage; readonly limit?: number },
): EndedStage[] =>
  store
    .read(
      `SELECT * FROM pipeline_history WHERE config_key = ?1 AND stage = coalesce(?2, stage)
       ORDER BY iteration DESC, ended_at DESC, attempt DESC LIMIT ?3`,
      configKey,
      stage ?? null,
      limit,
    )
    .map((row) => parseColumns<EndedStage>(row, "outputs", "evidence", "failure"));

/** What ended last in a config, newest first, with the evidence of one stage: no more than these rows are looked at. */
export const newestStages = (
  store: Pick<Store, "read">,
  {
    configKey,
    withEvidence,
    limit,
  }: { readonly configKey: string; readonly withEvidence: Stage; readonly limit: number },
): Pick<EndedStage, "iteration" | "stage" | "state" | "since" | "ended_at" | "evidence">[] =>
  store
    .read(
      `SELECT iteration, stage, state, since, ended_at, CASE WHEN stage = ? THEN evidence ELSE '{}' END AS evidence
       FROM pipeline_history WHERE config_key = ? ORDER BY iteration DESC LIMIT ?`,
      withEvidence,
      configKey,
      limit,
    )
    .map((row) => parseColumns<EndedStage>(row, "evidence"));
