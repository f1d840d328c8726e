import type { Store } from "../router/index.ts";
import { ACCOUNTS, type Account, addGames, boundedGames } from "./accounts.ts";

/** What the alarm is called when they do not balance; whoever frees files waits for its end. */
export const BOOKS_UNBALANCED = "BOOKS_UNBALANCED";

/** Games of one producer on one account. */
export interface BookLine {
  readonly config_key: string;
  readonly producer: string;
  readonly account: Account;
  /** Of rejected ones. */
  readonly reason: string;
  readonly games: number;
}

/** Games, by what became of them. */
export interface Sums {
  /** As the jobs counted them when they were done. */
  readonly produced: number;
  /** Judged good; those whose file has been given up since are among them, as they were used. */
  readonly durable: number;
  readonly freed: number;
  readonly in_flight: number;
  readonly rejected: number;
  /** Produced less all the rest: nothing, or the books are wrong. */
  readonly imbalance: number;
}

export interface ConfigBooks extends Sums {
  readonly config_key: string;
  readonly balanced: boolean;
  readonly rejected_by_reason: Readonly<Record<string, number>>;
  /** Since when the oldest file in flight waits for its verdict: milliseconds since the epoch. */
  readonly in_flight_since: number | null;
  readonly producers: readonly (Sums & { readonly producer: string })[];
}

/** A job whose count differs from what its files hold. */
export interface BookFault {
  readonly work_id: string;
  readonly config_key: string;
  readonly producer: string;
  readonly produced: number;
  readonly recorded: number;
}

function sumsOf(lines: readonly BookLine[]): Sums {
  const sum = (account: Account) =>
    lines.reduce((total, line) => addGames(total, line.account === account ? line.games : 0), 0);
  const [produced, held, freed, in_flight, rejected] = ACCOUNTS.map(sum) as [number, number, number, number, number];
  const durable = addGames(held, freed);
  const imbalance = [durable, in_flight, rejected].reduce((rest, games) => addGames(rest, -games), produced);
  return { produced, durable, freed, in_flight, rejected, imbalance };
}

const groupBy = (lines: readonly BookLine[], key: "config_key" | "producer" | "reason") =>
  [...Map.groupBy(lines, (line) => line[key])].sort(([a], [b]) => (a < b ? -1 : 1));

/** Adds the lines up, config by config. A config whose producers' faults cancel each other out is not balanced either. */
export function closeBooks(lines: readonly BookLine[], since: ReadonlyMap<string, number> = new Map()): ConfigBooks[] {
  return groupBy(lines, "config_key").map(([config_key, own]) => {
    const producers = groupBy(own, "producer").map(([producer, theirs]) => ({ producer, ...sumsOf(theirs) }));
    const rejected = own.filter(({ account }) => account === "rejected");
    return {
      config_key,
      ...sumsOf(own),
      balanced: producers.every(({ imbalance }) => imbalance === 0),
      rejected_by_reason: Object.fromEntries(
        groupBy(rejected, "reason").map(([reason, some]) => [
          reason,
          some.reduce((total, { games }) => addGames(total, games), 0),
        ]),
      ),
      in_flight_since: since.get(config_key) ?? null,
      producers,
    };
  });
}

const LINES = `SELECT config_key, producer, account, reason, ${boundedGames("games")} AS games FROM sync_books
  WHERE (?1 IS NULL OR config_key = ?1)`;
const OLDEST = `SELECT idle_since AS since FROM sync_artifacts WHERE state = 'in_flight' AND config_key = ?
  ORDER BY idle_since LIMIT 1`;

/** The books of every config, or of one. */
export function readBooks(store: Pick<Store, "read">, configKey?: string): ConfigBooks[] {
  const lines = store.read<BookLine>(LINES, configKey ?? null);
  const since = new Map<string, number>();
  for (const key of new Set(lines.map(({ config_key }) => config_key)))
    for (const row of store.read<{ since: number }>(OLDEST, key)) since.set(key, row.since);
  return closeBooks(lines, since);
}

const FAULTS = `SELECT work_id, min(config_key) AS config_key, min(producer) AS producer,
    total(produced) AS produced, total(recorded) AS recorded FROM (
    SELECT work_id, config_key, producer, games AS produced, 0 AS recorded FROM sync_produced
    UNION ALL SELECT work_id, config_key, producer, 0, counted FROM sync_artifacts WHERE work_id IS NOT NULL AND counted > 0
    UNION ALL SELECT work_id, config_key, producer, 0, counted FROM sync_past
  ) GROUP BY work_id HAVING total(produced) <> total(recorded) ORDER BY work_id LIMIT ?`;

/** The jobs behind an imbalance. This goes through all rows, so ask only when there is one. */
export const bookFaults = (store: Pick<Store, "scan">, max = 100): Promise<readonly BookFault[]> =>
  store.scan<BookFault>(FAULTS, [max]);
