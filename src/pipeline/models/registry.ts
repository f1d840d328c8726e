import { canonicalJson, type Json } from "../../kernel/index.ts";
import { insertRow, parseColumns } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type SqlRow, type Store } from "../../router/store.port.ts";
import type { TrainingRun } from "./training-runs.ts";

/** Where a model is in its life. The words are those of REGISTRY_UPDATED. */
export type ModelState = "training" | "evaluating" | "staging" | "production" | "rolled_back" | "archived";

/** A model of the registry: what it is, what it came from, and what is known of it. */
export interface ModelEntry {
  readonly config_key: string;
  /** SHA-256 of its file. */
  readonly model: string;
  readonly state: ModelState;
  readonly iteration: number;
  readonly job_id: string;
  readonly work_id: string;
  readonly bytes: number;
  readonly checkpoint: string | null;
  readonly base_checkpoint: string | null;
  readonly inputs: readonly string[];
  readonly losses: { readonly [name: string]: Json };
  /** What the gate said, with its numbers; null before. */
  readonly verdict: { readonly [name: string]: Json } | null;
  /** The last word on its strength beside the last good champion; null while there is none. */
  readonly regression: string | null;
  /** What is wrong with its file, and how to make it anew; null while nothing is. */
  readonly corrupted: { readonly [name: string]: Json } | null;
  /** How far it got: the tier that it rose to, the configs that began with it. Times are milliseconds since the epoch. */
  readonly standing: Standing | null;
  /** Why it was made beside the line of training; null for a model of the line. */
  readonly derived: DerivedModel | null;
  readonly created_at: number;
  readonly updated_at: number;
}

export type Standing = {
  readonly tier?: { readonly name: string; readonly at: number };
  readonly boards?: { readonly config_keys: readonly string[]; readonly at: number };
};

/** A model that was made beside the line of training: what for, from whom, and what games said of it. */
export type DerivedModel = {
  readonly kind: "nas" | "distillation" | "nnue" | "cascade";
  readonly architecture: string;
  /** The model that it was measured against, and learned from where it has a teacher. */
  readonly teacher: string | null;
  /** Against that model: its score, and Elo with its 95 % interval where they are known. */
  readonly score: number;
  readonly elo?: number;
  readonly low?: number;
  readonly high?: number;
  readonly games?: number;
};

export const registryMigration = (id: number): Migration => ({
  id,
  name: "the registry of models",
  sql: `
    CREATE TABLE model_registry (
      config_key TEXT NOT NULL,
      model TEXT NOT NULL,
      state TEXT NOT NULL
        CHECK (state IN ('training', 'evaluating', 'staging', 'production', 'rolled_back', 'archived')),
      iteration INTEGER NOT NULL,
      job_id TEXT NOT NULL,
      work_id TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      checkpoint TEXT,
      base_checkpoint TEXT,
      inputs TEXT NOT NULL,
      losses TEXT NOT NULL,
      verdict TEXT,
      regression TEXT,
      corrupted TEXT,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (config_key, model)
    ) STRICT;
    CREATE INDEX model_registry_by_iteration ON model_registry (config_key, iteration);
    CREATE INDEX model_registry_living ON model_registry (config_key)
      WHERE state NOT IN ('archived', 'rolled_back');
  `,
});

/** All of them, newest first, without looking through those that are older. */
export const registryOrderMigration = (id: number): Migration => ({
  id,
  name: "models in the order of their making",
  sql: "CREATE INDEX model_registry_by_age ON model_registry (iteration, created_at);",
});

/** How far models got. */
export const registryStandingMigration = (id: number): Migration => ({
  id,
  name: "how far models got",
  sql: "ALTER TABLE model_registry ADD COLUMN standing TEXT;",
});

export const derivedMigration = (id: number): Migration => ({
  id,
  name: "models beside the line of training",
  sql: `
    ALTER TABLE model_registry ADD COLUMN derived TEXT;
    CREATE INDEX model_registry_derived ON model_registry (config_key) WHERE derived IS NOT NULL;
  `,
});

/** Enters a model that was made beside the line. Known ones stay as they are. */
export const registerDerived = defineOperation<Student, void>("models.derived", (tx, entry) => {
  insertRow(
    tx,
    "model_registry",
    { ...entry, state: "staging", updated_at: entry.created_at },
    "ON CONFLICT DO NOTHING",
  );
});

/** A model to enter, made beside the line. */
export type Student = Pick<
  ModelEntry,
  | "config_key"
  | "model"
  | "iteration"
  | "job_id"
  | "work_id"
  | "bytes"
  | "checkpoint"
  | "base_checkpoint"
  | "inputs"
  | "losses"
  | "derived"
  | "created_at"
>;

/** Of each kind the newest model that was made beside the line: it is kept. */
export function derivedModels(store: Reader, configKey: string): ModelEntry[] {
  const newest = new Map<string, ModelEntry>();
  for (const entry of store
    .read(
      `SELECT * FROM model_registry INDEXED BY model_registry_derived
       WHERE config_key = ? AND derived IS NOT NULL ORDER BY created_at, rowid`,
      configKey,
    )
    .map(entryOf))
    newest.set(entry.derived!.kind, entry);
  return [...newest.values()];
}

/** Enters a model, in the state that it comes out of training with. Known ones stay as they are. */
export const registerModel = defineOperation<{ readonly run: TrainingRun; readonly now: number }, void>(
  "models.register",
  (tx, { run, now }) => {
    const { config_key, model, iteration, job_id, work_id, checkpoint, base_checkpoint, inputs, losses } = run;
    const made = { config_key, model, iteration, job_id, work_id, checkpoint, base_checkpoint, inputs, losses };
    const entered = { state: "training", bytes: run.model_bytes, created_at: run.ended_at, updated_at: now };
    insertRow(tx, "model_registry", { ...made, ...entered }, "ON CONFLICT DO NOTHING");
  },
);

export interface ModelChange {
  readonly config_key: string;
  readonly model: string;
  readonly now: number;
  readonly state?: ModelState;
  readonly verdict?: { readonly [name: string]: Json };
  readonly regression?: string | null;
  readonly corrupted?: { readonly [name: string]: Json } | null;
  readonly standing?: Standing;
}

export const changeModel = defineOperation<ModelChange, void>("models.change", (tx, change) => {
  const text = (value: Json | undefined) => (value === undefined || value === null ? null : canonicalJson(value));
  const sets: [string, string | number | null][] = [["updated_at", change.now]];
  if (change.state !== undefined) sets.push(["state", change.state]);
  if (change.verdict !== undefined) sets.push(["verdict", text(change.verdict)]);
  if (change.regression !== undefined) sets.push(["regression", change.regression]);
  if (change.standing !== undefined) sets.push(["standing", text(change.standing)]);
  if (change.corrupted !== undefined) sets.push(["corrupted", text(change.corrupted)]);
  tx.run(
    `UPDATE model_registry SET ${sets.map(([column]) => `${column} = ?`).join(", ")} WHERE config_key = ? AND model = ?`,
    ...sets.map(([, value]) => value),
    change.config_key,
    change.model,
  );
});

type Reader = Pick<Store, "read">;

const entryOf = (row: SqlRow): ModelEntry =>
  parseColumns(row, "inputs", "losses", "verdict", "corrupted", "standing", "derived");

/** Models, newest first. */
export const modelEntries = (store: Reader): ModelEntry[] =>
  store.read(`SELECT * FROM model_registry ORDER BY iteration DESC, created_at DESC LIMIT 1000`).map(entryOf);

/** Those whose life is not over. They are few. */
export const livingModels = (store: Reader, configKey: string): ModelEntry[] =>
  store
    .read(
      `SELECT * FROM model_registry INDEXED BY model_registry_living
       WHERE config_key = ? AND state NOT IN ('archived', 'rolled_back')`,
      configKey,
    )
    .map(entryOf);

export const modelEntry = (store: Reader, configKey: string, model: string): ModelEntry | undefined =>
  store.read("SELECT * FROM model_registry WHERE config_key = ? AND model = ?", configKey, model).map(entryOf)[0];

/** The configs that have a model of this hash. */
export const configsOfModel = (store: Reader, model: string): string[] =>
  store
    .read<{ config_key: string }>("SELECT config_key FROM model_registry WHERE model = ? ORDER BY config_key", model)
    .map(({ config_key }) => config_key);
