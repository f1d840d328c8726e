import type { Transaction } from "../router/index.ts";
import type { ArtifactState } from "./states.ts";

/** Where games stand in the books. */
export const ACCOUNTS = ["produced", "durable", "freed", "in_flight", "rejected"] as const;
export type Account = (typeof ACCOUNTS)[number];

/** How games fared: the state of their file, or that they were there already. */
export interface Fate {
  readonly outcome: ArtifactState | "duplicate" | "produced";
  readonly reason: string | null;
}

/** Damaged files and repeats are lost or no gain: the books call them rejected, with their reason. */
function accountOf({ outcome, reason }: Fate): { account: Account; reason: string } {
  if (outcome === "duplicate") return { account: "rejected", reason: "duplicate" };
  if (outcome === "rejected" || outcome === "quarantined")
    return { account: "rejected", reason: reason ?? "no reason given" };
  return { account: outcome, reason: "" };
}

/** Whose games, and how many. */
export interface Counted {
  readonly config_key: string | null;
  readonly producer: string;
  readonly counted: number;
}

/** No sum grows beyond what can be read: one that did would end every process that reads the books. */
const MAX_GAMES = Number.MAX_SAFE_INTEGER;

/** The sum of games as it is written and read, whatever is added up. */
export const boundedGames = (sum: string): string => `max(-${MAX_GAMES}, min(${MAX_GAMES}, ${sum}))`;
export const addGames = (a: number, b: number): number => Math.max(-MAX_GAMES, Math.min(MAX_GAMES, a + b));

function add(tx: Transaction, { config_key, producer }: Counted, fate: Fate, games: number): void {
  const { account, reason } = accountOf(fate);
  tx.run(
    `INSERT INTO sync_books (config_key, producer, account, reason, games) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (config_key, producer, account, reason) DO UPDATE
       SET games = ${boundedGames("games + excluded.games")}`,
    config_key,
    producer,
    account,
    reason,
    games,
  );
  if (games < 0)
    tx.run(
      "DELETE FROM sync_books WHERE config_key = ? AND producer = ? AND account = ? AND reason = ? AND games = 0",
      config_key,
      producer,
      account,
      reason,
    );
}

/**
 * Moves games from one account to another, in the commit that moves their file. The books are running sums: reading them costs
 * the same after ten jobs and after ten million, and files may be forgotten without touching them.
 */
export function book(tx: Transaction, whose: Counted, from: Fate | null, to: Fate | null): void {
  if (whose.counted === 0 || whose.config_key === null) return;
  if (from !== null) add(tx, whose, from, -whose.counted);
  if (to !== null) add(tx, whose, to, whose.counted);
}
