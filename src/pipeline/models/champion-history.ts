import type { Json } from "../../kernel/index.ts";
import { insertRow, parseColumns } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store } from "../../router/store.port.ts";

/** How a model came to its place: as the first one, through a gate, by a person's word, or because another was withdrawn. */
export type CrowningCause = "first" | "gate" | "hand" | "rollback";

/** One line of the history: what was champion from when on, and why. Times are milliseconds since the epoch. */
export interface Crowned {
  readonly config_key: string;
  /** Counts the champions of a config, from 1. */
  readonly generation: number;
  readonly model: string;
  readonly previous: string | null;
  readonly iteration: number;
  readonly cause: CrowningCause;
  readonly by: string;
  readonly evidence: { readonly [name: string]: Json };
  readonly at: number;
}

/**
 * What the games after its crowning said of a champion: `cleared` is proven no weaker than the last good one, `passed` gave
 * no sign of weakness, `undecided` is neither, and `regressed` is weaker or broken.
 */
export type CheckOutcome = "cleared" | "passed" | "undecided" | "regressed";

export interface ChampionCheck {
  readonly config_key: string;
  readonly generation: number;
  readonly outcome: CheckOutcome;
  readonly details: { readonly [name: string]: Json };
  readonly at: number;
}

export const championMigrations: readonly Migration[] = [
  {
    id: 1,
    name: "what was champion when, and what became of it",
    sql: `
      CREATE TABLE champion_history (
        config_key TEXT NOT NULL,
        generation INTEGER NOT NULL CHECK (generation > 0),
        model TEXT NOT NULL,
        previous TEXT,
        iteration INTEGER NOT NULL,
        cause TEXT NOT NULL CHECK (cause IN ('first', 'gate', 'hand', 'rollback')),
        by TEXT NOT NULL,
        evidence TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (config_key, generation)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE champion_checks (
        config_key TEXT NOT NULL,
        generation INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('cleared', 'passed', 'undecided', 'regressed')),
        details TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (config_key, generation)
      ) STRICT, WITHOUT ROWID;
    `,
  },
];

/** A second line for one generation would be two champions at a time: the primary key refuses the whole commit. */
export const recordCrowning = defineOperation<Crowned, void>(
  "models.crowned",
  (tx, row) => void insertRow(tx, "champion_history", row),
);

/** The first outcome of a generation stays. */
export const recordCheck = defineOperation<ChampionCheck, void>(
  "models.checked",
  (tx, row) => void insertRow(tx, "champion_checks", row, "ON CONFLICT DO NOTHING"),
);

type Reader = Pick<Store, "read">;

/** The champions of a config, newest first. */
export const championHistory = (store: Reader, configKey: string, limit = 200): Crowned[] =>
  store
    .read("SELECT * FROM champion_history WHERE config_key = ? ORDER BY generation DESC LIMIT ?", configKey, limit)
    .map((row) => parseColumns<Crowned>(row, "evidence"));

/** The model that was made and not earned. */
export const firstChampion = (store: Reader, configKey: string): string | undefined =>
  store.read<{ model: string }>(
    "SELECT model FROM champion_history WHERE config_key = ? AND generation = 1",
    configKey,
  )[0]?.model;

/** What the checks said, by generation. */
export const checkOutcomes = (store: Reader, configKey: string, limit = 200): ReadonlyMap<number, CheckOutcome> =>
  new Map(
    store
      .read<{ generation: number; outcome: CheckOutcome }>(
        "SELECT generation, outcome FROM champion_checks WHERE config_key = ? ORDER BY generation DESC LIMIT ?",
        configKey,
        limit,
      )
      .map(({ generation, outcome }) => [generation, outcome]),
  );

/** What gates had made champion of a config by the end of an iteration, whatever people or rollbacks did: every run of a seed finds the same. */
export const championAfter = (store: Reader, configKey: string, iteration: number): string | undefined =>
  store.read<{ model: string }>(
    `SELECT model FROM champion_history WHERE config_key = ? AND iteration <= ? AND cause IN ('first', 'gate')
     ORDER BY generation DESC LIMIT 1`,
    configKey,
    iteration,
  )[0]?.model;
