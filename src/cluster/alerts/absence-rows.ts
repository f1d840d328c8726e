import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Store } from "../../router/store.port.ts";
import type { WatchChanges, WatchRow } from "./absence.ts";

/** Writes watches down, so that a restart knows who was there. */
export const saveWatches = defineOperation<WatchChanges, void>("alerts.save_watches", (tx, { rows, gone }) => {
  for (const { rule, subject } of [...rows, ...gone])
    tx.run("DELETE FROM alert_watches WHERE rule = ? AND subject = ?", rule, subject);
  for (const row of rows) insertRow(tx, "alert_watches", row);
});

export const storedWatches = (store: Pick<Store, "read">): WatchRow[] =>
  store.read<WatchRow>("SELECT * FROM alert_watches ORDER BY rule, subject");
