import { canonicalJson, type Json } from "../kernel/index.ts";
import { defineOperation, defineStoreModule, type Store } from "../router/index.ts";
import type { StageWork } from "./stage-work.ts";
import type { Stage } from "./stages.ts";

/** One attempt of one stage that has ended. Times are milliseconds since the epoch. */
export interface EndedStage {
  readonly config_key: string;
  readonly iteration: number;
  readonly stage: Stage;
  readonly attempt: number;
  readonly state: "done" | "failed";
  readonly since: number;
  readonly ended_at: number;
  readonly outputs: readonly {
    readonly sha256: string;
    readonly kind: string;
    readonly bytes: number;
    readonly rows: number;
  }[];
  readonly evidence: Readonly<Record<string, Json>>;
  readonly failure: { readonly code: string; readonly message: string; readonly retryable: boolean } | null;
}

interface Stored {
  readonly config_key: string;
  readonly iteration: number;
  readonly stage: string;
  readonly attempt: number;
  readonly state: string;
  readonly since: number;
  readonly ended_at: number;
  readonly outputs: string;
  readonly evidence: string;
  readonly failure: string | null;
}

/** Attempts that are kept of a config; the oldest go. */
const MOST_KEPT = 50_000;

/** Writes down what ended. Said twice it is written once. */
const recordStage = defineOperation<Stored, void>("pipeline.ended", (tx, row) => {
  tx.run(
    `INSERT INTO pipeline_history (config_key, iteration, stage, attempt, state, since, ended_at, outputs, evidence, failure)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    row.config_key,
    row.iteration,
    row.stage,
    row.attempt,
    row.state,
    row.since,
    row.ended_at,
    row.outputs,
    row.evidence,
    row.failure,
  );
  tx.run(
    `DELETE FROM pipeline_history WHERE config_key = ? AND iteration < ? - ?`,
    row.config_key,
    row.iteration,
    MOST_KEPT / 6,
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

export const endedStage = (configKey: string, stage: Stage, work: StageWork<never>, now: number) =>
  recordStage({
    config_key: configKey,
    iteration: work.iteration,
    stage,
    attempt: work.attempt,
    state: work.state,
    since: work.since,
    ended_at: work.ended_at ?? now,
    outputs: canonicalJson(work.outputs),
    evidence: canonicalJson(work.evidence),
    failure: work.failure === null ? null : canonicalJson(work.failure),
  });

export interface HistoryFilter {
  readonly configKey?: string;
  readonly stage?: Stage;
  readonly limit?: number;
}

/** Ended stages, newest first. */
export function stageHistory(store: Pick<Store, "read">, filter: HistoryFilter = {}): EndedStage[] {
  const conditions: [string, string][] = [];
  if (filter.configKey !== undefined) conditions.push(["config_key = ?", filter.configKey]);
  if (filter.stage !== undefined) conditions.push(["stage = ?", filter.stage]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
  return store
    .read<Stored>(
      `SELECT * FROM pipeline_history ${where} ORDER BY iteration DESC, ended_at DESC, attempt DESC LIMIT ?`,
      ...conditions.map(([, value]) => value),
      filter.limit ?? 100,
    )
    .map(({ outputs, evidence, failure, ...rest }) => ({
      ...(rest as Pick<EndedStage, "config_key" | "iteration" | "stage" | "attempt" | "state" | "since" | "ended_at">),
      outputs: JSON.parse(outputs) as EndedStage["outputs"],
      evidence: JSON.parse(evidence) as EndedStage["evidence"],
      failure: failure === null ? null : (JSON.parse(failure) as EndedStage["failure"]),
    }));
}
