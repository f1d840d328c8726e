import type { UnitContext } from "../../../daemons/index.ts";
import { defineTable } from "../../../router/index.ts";
import { type ArtifactCatalog, BOOKS_UNBALANCED, type BookFault, type ConfigBooks } from "../../../sync/index.ts";
import { BOOKS_AGAIN_MS, BOOKS_JOBS } from "../../limits.ts";
import type { ConfigPlan } from "../../stage/index.ts";

/** Books that do not balance, since when, and what was said of them last. Times are milliseconds since the epoch. */
export type BookAlarm = { readonly since: number; readonly said_at: number; readonly message: string };
/** By config_key. Written by `progress_watchdog`. */
export const bookAlarms = defineTable<BookAlarm>("pipeline_book_alarms");

/** What is wrong with the books of a config, for people; null if nothing is. */
export function booksFault(books: ConfigBooks, faults: readonly BookFault[]): string | null {
  if (books.balanced) return null;
  const { produced, durable, in_flight, rejected, imbalance, config_key } = books;
  const own = faults.filter((fault) => fault.config_key === config_key).slice(0, BOOKS_JOBS);
  const jobs = own.map((fault) => `${fault.work_id} made ${fault.produced} and ${fault.recorded} are in its files`);
  return [
    `the books do not balance: ${produced} games produced, ${durable} durable + ${in_flight} in flight + ${rejected} rejected, off by ${imbalance}`,
    ...(jobs.length === 0 ? [] : [`the jobs behind it: ${jobs.join(", ")}`]),
  ].join("; ");
}

/** Looks at the books of every config; an imbalance is an alert, which ends when they balance again. */
export async function watchBooks(
  { rows, emit, now }: Pick<UnitContext<"DATA_QUALITY_ALERT">, "rows" | "emit" | "now">,
  catalog: Pick<ArtifactCatalog, "books" | "bookFaults">,
): Promise<void> {
  const all = catalog.books();
  // Naming the jobs counts rows: it is asked for only where there is a fault.
  const faults = all.every(({ balanced }) => balanced) ? [] : await catalog.bookFaults();
  for (const books of all) {
    const config_key = books.config_key as ConfigPlan["config_key"];
    const message = booksFault(books, faults);
    const known = rows.get(bookAlarms, config_key);
    const about = { config_key, error_code: BOOKS_UNBALANCED };
    if (message !== null) {
      if (known?.message === message && now - known.said_at < BOOKS_AGAIN_MS) continue;
      rows.put(bookAlarms, config_key, { since: known?.since ?? now, said_at: now, message });
      emit.DATA_QUALITY_ALERT({ ...about, severity: "error", message });
    } else if (known !== undefined) {
      rows.delete(bookAlarms, config_key);
      emit.DATA_QUALITY_ALERT({ ...about, severity: "info", message: "the books balance again" });
    }
  }
}
