/**
 * The match ledger: every block that was played and counted, once, for ever. Ratings and verdicts follow from it. Beside the
 * blocks stand their sums for each pair of players, so that nobody reads a long ledger to look at one pair.
 */
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store } from "../../router/store.port.ts";

/** What a match was played for. Only rating games make ratings: gates stop on lucky streaks. */
export type MatchPurpose = "gate" | "rating" | "regression";

/** One block: one opening, the candidate once in every seat. */
export interface LedgerBlock {
  /** Its place in the job. */
  readonly block: number;
  readonly opening: string;
  /** The candidate's score in each seat. */
  readonly scores: readonly number[];
}

export interface LedgerEntry {
  readonly config_key: string;
  /** The search budget that both sides had. */
  readonly budget: string;
  readonly purpose: MatchPurpose;
  readonly work_id: string;
  readonly candidate: string;
  readonly opponent: string;
  readonly blocks: readonly LedgerBlock[];
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export const ledgerMigration = (id: number): Migration => ({
  id,
  name: "the match ledger",
  sql: `
    CREATE TABLE match_ledger (
      work_id TEXT NOT NULL,
      block INTEGER NOT NULL,
      config_key TEXT NOT NULL,
      budget TEXT NOT NULL,
      purpose TEXT NOT NULL CHECK (purpose IN ('gate', 'rating', 'regression')),
      candidate TEXT NOT NULL,
      opponent TEXT NOT NULL,
      opening TEXT NOT NULL,
      scores TEXT NOT NULL,
      at INTEGER NOT NULL,
      PRIMARY KEY (work_id, block)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE match_tallies (
      config_key TEXT NOT NULL,
      budget TEXT NOT NULL,
      purpose TEXT NOT NULL,
      candidate TEXT NOT NULL,
      opponent TEXT NOT NULL,
      blocks INTEGER NOT NULL,
      games INTEGER NOT NULL,
      wins INTEGER NOT NULL,
      draws INTEGER NOT NULL,
      losses INTEGER NOT NULL,
      PRIMARY KEY (config_key, purpose, budget, candidate, opponent)
    ) STRICT, WITHOUT ROWID;
  `,
});

/** Appends blocks and adds them to the sums of their pair; a block that is there already counts no second time. */
export const appendMatches = defineOperation<LedgerEntry, { appended: number }>(
  "evaluation.append",
  (tx, { blocks, ...match }) => {
    const counted = blocks.filter(
      (block) => insertRow(tx, "match_ledger", { ...match, ...block }, "ON CONFLICT DO NOTHING").changes > 0,
    );
    const appended = counted.length;
    if (appended === 0) return { appended };
    const { config_key, budget, purpose, candidate, opponent } = match;
    const scores = counted.flatMap((block) => block.scores);
    const games = scores.length;
    const wins = scores.filter((score) => score === 1).length;
    const losses = scores.filter((score) => score === 0).length;
    insertRow(
      tx,
      "match_tallies",
      {
        ...{ config_key, budget, purpose, candidate, opponent },
        ...{ blocks: appended, games, wins, draws: games - wins - losses, losses },
      },
      `ON CONFLICT (config_key, purpose, budget, candidate, opponent) DO UPDATE SET
         blocks = blocks + excluded.blocks, games = games + excluded.games, wins = wins + excluded.wins,
         draws = draws + excluded.draws, losses = losses + excluded.losses`,
    );
    return { appended };
  },
);

/** The sums of one pair: the candidate's games against the opponent. */
export interface PairTally {
  readonly candidate: string;
  readonly opponent: string;
  readonly blocks: number;
  readonly games: number;
  readonly wins: number;
  readonly draws: number;
  readonly losses: number;
}

type Reader = Pick<Store, "read">;

/** Pairs of one config and one search budget, in an order that depends on nothing but their names. */
export const pairTallies = (store: Reader, configKey: string, budget: string, purpose: MatchPurpose): PairTally[] =>
  store.read<PairTally>(
    `SELECT candidate, opponent, blocks, games, wins, draws, losses FROM match_tallies
     WHERE config_key = ? AND purpose = ? AND budget = ? ORDER BY candidate, opponent`,
    configKey,
    purpose,
    budget,
  );

/** Games in the ledger, by what they were played for; over all budgets. */
export function gamesByPurpose(store: Reader, configKey: string): Record<MatchPurpose, number> {
  const sums = { gate: 0, rating: 0, regression: 0 };
  for (const { purpose, games } of store.read<{ purpose: MatchPurpose; games: number }>(
    "SELECT purpose, sum(games) AS games FROM match_tallies WHERE config_key = ? GROUP BY purpose",
    configKey,
  ))
    sums[purpose] = games;
  return sums;
}

/** Openings of the counted blocks of some jobs. */
export function openingsOf(store: Reader, workIds: readonly string[]): string[] {
  if (workIds.length === 0) return [];
  const marks = workIds.map(() => "?").join(", ");
  return store
    .read<{ opening: string }>(`SELECT opening FROM match_ledger WHERE work_id IN (${marks})`, ...workIds)
    .map(({ opening }) => opening);
}
