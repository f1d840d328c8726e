import { defineOperation } from "../store.port.ts";

/** Changes a row, so that it fails exactly when a commit would. */
export const probeStore = defineOperation<{ at: number }, void>("store.probe", (tx, { at }) => {
  tx.run("INSERT INTO store_probe (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at", at);
});
