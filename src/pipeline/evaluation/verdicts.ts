import { insertRow, parseColumns } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store } from "../../router/store.port.ts";

export type GateVerdictWord = "promote" | "reject" | "inconclusive";

/** What a gate came to, with the numbers behind it. Kept for ever. Times are milliseconds since the epoch. */
export interface GateVerdict {
  readonly config_key: string;
  readonly iteration: number;
  readonly attempt: number;
  readonly candidate: string;
  readonly opponent: string;
  readonly budget: string;
  readonly verdict: GateVerdictWord;
  readonly reason: string;
  readonly blocks: number;
  readonly games: number;
  /** Mean score of a game, from 0 to 1. */
  readonly score: number;
  /** Blocks by score cell. */
  readonly counts: readonly number[];
  readonly llr: number;
  readonly elo0: number;
  readonly elo1: number;
  readonly alpha: number;
  readonly beta: number;
  readonly redundancy: number;
  /** Elo after stopping, median-unbiased, with its 95 % interval. */
  readonly elo: number;
  readonly elo_low: number;
  readonly elo_high: number;
  readonly normalized_elo: number;
  readonly at: number;
}

export const verdictMigration = (id: number): Migration => ({
  id,
  name: "what gates came to",
  sql: `
    CREATE TABLE gate_verdicts (
      config_key TEXT NOT NULL,
      iteration INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      candidate TEXT NOT NULL,
      opponent TEXT NOT NULL,
      budget TEXT NOT NULL,
      verdict TEXT NOT NULL CHECK (verdict IN ('promote', 'reject', 'inconclusive')),
      reason TEXT NOT NULL,
      blocks INTEGER NOT NULL,
      games INTEGER NOT NULL CHECK (games > 0),
      score REAL NOT NULL,
      counts TEXT NOT NULL,
      llr REAL NOT NULL,
      elo0 REAL NOT NULL,
      elo1 REAL NOT NULL,
      alpha REAL NOT NULL,
      beta REAL NOT NULL,
      redundancy REAL NOT NULL,
      elo REAL NOT NULL,
      elo_low REAL NOT NULL,
      elo_high REAL NOT NULL,
      normalized_elo REAL NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (config_key, iteration, attempt)
    ) STRICT, WITHOUT ROWID;
  `,
});

/** Verdicts are kept for ever and never change: a trigger adds each to the sums, so that no look has to count them all. */
export const verdictCountMigration = (id: number): Migration => ({
  id,
  name: "how many gates ended",
  sql: `
    CREATE TABLE gate_tallies (
      config_key TEXT NOT NULL,
      alpha REAL NOT NULL,
      beta REAL NOT NULL,
      gates INTEGER NOT NULL,
      promotions INTEGER NOT NULL,
      PRIMARY KEY (config_key, alpha, beta)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO gate_tallies SELECT config_key, alpha, beta, count(*), sum(verdict = 'promote')
      FROM gate_verdicts GROUP BY config_key, alpha, beta;
    CREATE TRIGGER gate_tallies_add AFTER INSERT ON gate_verdicts BEGIN
      INSERT INTO gate_tallies VALUES (NEW.config_key, NEW.alpha, NEW.beta, 1, NEW.verdict = 'promote')
        ON CONFLICT (config_key, alpha, beta)
        DO UPDATE SET gates = gates + 1, promotions = promotions + excluded.promotions;
    END;
  `,
});

/** The first word of an attempt stays. */
export const recordVerdict = defineOperation<GateVerdict, void>(
  "evaluation.verdict",
  (tx, verdict) => void insertRow(tx, "gate_verdicts", verdict, "ON CONFLICT DO NOTHING"),
);

/** The gates of a config, newest first. */
export const gateVerdicts = (store: Pick<Store, "read">, configKey: string, limit = 100): GateVerdict[] =>
  store
    .read(
      "SELECT * FROM gate_verdicts WHERE config_key = ? ORDER BY iteration DESC, attempt DESC LIMIT ?",
      configKey,
      limit,
    )
    .map((row) => parseColumns<GateVerdict>(row, "counts"));

/** How many gates of a config ended, and how many promoted, for each pair of error rates that they ran with. */
export const gateTallies = (
  store: Pick<Store, "read">,
  configKey: string,
): { readonly alpha: number; readonly beta: number; readonly gates: number; readonly promotions: number }[] =>
  store.read(
    "SELECT alpha, beta, gates, promotions FROM gate_tallies WHERE config_key = ? ORDER BY alpha, beta",
    configKey,
  );
