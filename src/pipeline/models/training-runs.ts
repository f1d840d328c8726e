import type { Json } from "../../kernel/index.ts";
import { insertRow, parseColumns } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type SqlRow, type Store } from "../../router/store.port.ts";

/** A training run that brought a model. Times are milliseconds since the epoch. */
export interface TrainingRun {
  readonly config_key: string;
  readonly iteration: number;
  readonly attempt: number;
  readonly job_id: string;
  readonly work_id: string;
  readonly node_id: string | null;
  readonly model: string;
  readonly model_bytes: number;
  readonly checkpoint: string | null;
  /** Where it went on from; null for a run from nothing. */
  readonly base_checkpoint: string | null;
  /** The training files, oldest first. */
  readonly inputs: readonly string[];
  readonly fresh: boolean;
  readonly steps: number;
  readonly rows: number;
  /** Mean loss of the run; null for a fresh one. */
  readonly loss: number | null;
  /** All losses and rates that it reported, by name. */
  readonly losses: { readonly [name: string]: Json };
  readonly ended_at: number;
  /** What its job was given, so that it can be done again; null for a run of long ago. */
  readonly recipe: { readonly [name: string]: Json } | null;
}

/** Runs whose recipes are kept, newest first; that of the first model, which is made of nothing, always is. */
const RECIPES_KEPT = 1_000;

export const recipeMigration = (id: number): Migration => ({
  id,
  name: "what training runs were given",
  sql: "ALTER TABLE training_runs ADD COLUMN recipe TEXT;",
});

export const trainingRunMigration = (id: number): Migration => ({
  id,
  name: "training runs that brought a model",
  sql: `
    CREATE TABLE training_runs (
      config_key TEXT NOT NULL,
      iteration INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      job_id TEXT NOT NULL,
      work_id TEXT NOT NULL,
      node_id TEXT,
      model TEXT NOT NULL,
      model_bytes INTEGER NOT NULL,
      checkpoint TEXT,
      base_checkpoint TEXT,
      inputs TEXT NOT NULL,
      fresh INTEGER NOT NULL,
      steps INTEGER NOT NULL,
      rows INTEGER NOT NULL,
      loss REAL,
      losses TEXT NOT NULL,
      ended_at INTEGER NOT NULL,
      PRIMARY KEY (config_key, iteration, attempt)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX training_runs_by_model ON training_runs (model);
  `,
});

/** Said twice it is written once. */
export const recordRun = defineOperation<TrainingRun, void>("models.trained", (tx, run) => {
  insertRow(tx, "training_runs", run, "ON CONFLICT DO NOTHING");
  tx.run(
    "UPDATE training_runs SET recipe = NULL WHERE config_key = ? AND iteration = ? AND iteration > 0",
    run.config_key,
    run.iteration - RECIPES_KEPT,
  );
});

const runOf = (row: SqlRow): TrainingRun => ({
  ...parseColumns<TrainingRun>(row, "inputs", "losses", "recipe"),
  fresh: row.fresh === 1,
});

/** The runs of a config, newest first. */
export const trainingRuns = (store: Pick<Store, "read">, configKey: string, limit = 50): TrainingRun[] =>
  store
    .read(
      "SELECT * FROM training_runs WHERE config_key = ? ORDER BY iteration DESC, attempt DESC LIMIT ?",
      configKey,
      limit,
    )
    .map(runOf);

/** Runs whose model the registry does not know yet, oldest first. */
export const unregisteredRuns = (store: Pick<Store, "read">, configKey: string, limit = 50): TrainingRun[] =>
  store
    .read(
      // Models come in the order of iterations: only the newest need a look.
      `SELECT r.* FROM training_runs r WHERE r.config_key = ?
         AND r.iteration >= coalesce((SELECT max(iteration) FROM model_registry WHERE config_key = ?), 0)
         AND NOT EXISTS (SELECT 1 FROM model_registry m WHERE m.config_key = r.config_key AND m.model = r.model)
       ORDER BY r.iteration, r.attempt LIMIT ?`,
      configKey,
      configKey,
      limit,
    )
    .map(runOf);

/** The checkpoint that belongs to a model; null where it has none or is unknown. */
export const checkpointOf = (store: Pick<Store, "read">, configKey: string, model: string): string | null =>
  store.read<{ checkpoint: string | null }>(
    "SELECT checkpoint FROM training_runs WHERE model = ? AND config_key = ? ORDER BY iteration DESC LIMIT 1",
    model,
    configKey,
  )[0]?.checkpoint ?? null;

/** The newest run that made a file, be it the model or the checkpoint. */
export const runThatMade = (
  store: Pick<Store, "read">,
  configKey: string,
  iteration: number,
  sha256: string,
): TrainingRun | undefined =>
  store
    .read(
      `SELECT * FROM training_runs WHERE config_key = ?1 AND iteration = ?2 AND (model = ?3 OR checkpoint = ?3)
       ORDER BY attempt DESC LIMIT 1`,
      configKey,
      iteration,
      sha256,
    )
    .map(runOf)[0];

/** How many epochs the run had done that left a checkpoint: those it told, one for a run that counts none, 0 for a fresh network. */
export function epochOfCheckpoint(store: Pick<Store, "read">, configKey: string, checkpoint: string): number {
  const [run] = store.read<{ fresh: number; losses: string | null }>(
    "SELECT fresh, losses FROM training_runs WHERE config_key = ? AND checkpoint = ? ORDER BY iteration DESC LIMIT 1",
    configKey,
    checkpoint,
  );
  if (run === undefined || run.fresh === 1) return 0;
  const { epochs } = JSON.parse(run.losses ?? "{}") as { epochs?: unknown };
  return typeof epochs === "number" && Number.isFinite(epochs) ? Math.max(1, Math.round(epochs)) : 1;
}
