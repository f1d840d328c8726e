import { defineOperation, type Store } from "../../router/index.ts";
import type { WatchRow } from "./absence.ts";

interface SaveArgs {
  readonly rows: readonly WatchRow[];
  readonly gone: readonly Pick<WatchRow, "rule" | "subject">[];
}

/** Writes watches down, so that a restart knows who was there. */
export const saveWatches = defineOperation<SaveArgs, void>("alerts.save_watches", (tx, { rows, gone }) => {
  for (const { rule, subject, seen_at, quiet_ms, raised } of rows)
    tx.run(
      "INSERT OR REPLACE INTO alert_watches (rule, subject, seen_at, quiet_ms, raised) VALUES (?, ?, ?, ?, ?)",
      rule,
      subject,
      seen_at,
      quiet_ms,
      raised,
    );
  for (const { rule, subject } of gone)
    tx.run("DELETE FROM alert_watches WHERE rule = ? AND subject = ?", rule, subject);
});

export const storedWatches = (store: Pick<Store, "read">): WatchRow[] =>
  store.read<WatchRow>("SELECT rule, subject, seen_at, quiet_ms, raised FROM alert_watches ORDER BY rule, subject");
