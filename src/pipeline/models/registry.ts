import { canonicalJson, type Json } from "../../kernel/index.ts";
import { defineOperation, type Migration, type Store } from "../../router/index.ts";
import type { TrainingRun } from "./training-runs.ts";

/** Where a model is in its life. The words are those of REGISTRY_UPDATED. */
export const MODEL_STATES = ["training", "evaluating", "staging", "production", "rolled_back", "archived"] as const;
export type ModelState = (typeof MODEL_STATES)[number];

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
  readonly created_at: number;
  readonly updated_at: number;
}

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

/** Enters a model, in the state that it comes out of training with. Known ones stay as they are. */
export const registerModel = defineOperation<{ readonly run: TrainingRun; readonly now: number }, void>(
  "models.register",
  (tx, { run, now }) => {
    tx.run(
      `INSERT INTO model_registry (config_key, model, state, iteration, job_id, work_id, bytes, checkpoint, base_checkpoint,
         inputs, losses, created_at, updated_at)
       VALUES (?, ?, 'training', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      run.config_key,
      run.model,
      run.iteration,
      run.job_id,
      run.work_id,
      run.model_bytes,
      run.checkpoint,
      run.base_checkpoint,
      canonicalJson(run.inputs),
      canonicalJson(run.losses),
      run.ended_at,
      now,
    );
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
}

export const changeModel = defineOperation<ModelChange, void>("models.change", (tx, change) => {
  const text = (value: Json | undefined) => (value === undefined || value === null ? null : canonicalJson(value));
  const sets: [string, string | number | null][] = [["updated_at", change.now]];
  if (change.state !== undefined) sets.push(["state", change.state]);
  if (change.verdict !== undefined) sets.push(["verdict", text(change.verdict)]);
  if (change.regression !== undefined) sets.push(["regression", change.regression]);
  if (change.corrupted !== undefined) sets.push(["corrupted", text(change.corrupted)]);
  tx.run(
    `UPDATE model_registry SET ${sets.map(([column]) => `${column} = ?`).join(", ")} WHERE config_key = ? AND model = ?`,
    ...sets.map(([, value]) => value),
    change.config_key,
    change.model,
  );
});

type Reader = Pick<Store, "read">;
type Stored = {
  readonly [K in keyof ModelEntry]: ModelEntry[K] extends string | number | null ? ModelEntry[K] : string;
};

const entryOf = (row: Stored): ModelEntry => {
  const parsed = <T>(text: string | null): T => (text === null ? (null as T) : (JSON.parse(text) as T));
  return {
    ...(row as unknown as ModelEntry),
    inputs: parsed(row.inputs),
    losses: parsed(row.losses),
    verdict: parsed(row.verdict as string | null),
    corrupted: parsed(row.corrupted as string | null),
  };
};

export interface ModelFilter {
  readonly configKey?: string;
  readonly state?: ModelState;
  readonly limit?: number;
}

/** Models, newest first. */
export function modelEntries(store: Reader, filter: ModelFilter = {}): ModelEntry[] {
  const conditions: [string, string][] = [];
  if (filter.configKey !== undefined) conditions.push(["config_key = ?", filter.configKey]);
  if (filter.state !== undefined) conditions.push(["state = ?", filter.state]);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
  return store
    .read<Stored>(
      `SELECT * FROM model_registry ${where} ORDER BY iteration DESC, created_at DESC LIMIT ?`,
      ...conditions.map(([, value]) => value),
      Math.min(filter.limit ?? 100, 1_000),
    )
    .map(entryOf);
}

/** Those whose life is not over. They are few. */
export const livingModels = (store: Reader, configKey: string): ModelEntry[] =>
  store
    .read<Stored>(
      `SELECT * FROM model_registry INDEXED BY model_registry_living
       WHERE config_key = ? AND state NOT IN ('archived', 'rolled_back')`,
      configKey,
    )
    .map(entryOf);

export const modelEntry = (store: Reader, configKey: string, model: string): ModelEntry | undefined =>
  store
    .read<Stored>("SELECT * FROM model_registry WHERE config_key = ? AND model = ?", configKey, model)
    .map(entryOf)[0];

/** The configs that have a model of this hash. */
export const configsOfModel = (store: Reader, model: string): string[] =>
  store
    .read<{ config_key: string }>("SELECT config_key FROM model_registry WHERE model = ? ORDER BY config_key", model)
    .map(({ config_key }) => config_key);
