/** A time in which nothing is sent, because somebody works on the machines: alerts are recorded, and summed up at its end. */
import { insertRow } from "../../router/sql-rows.ts";
import { defineOperation, type Migration, type Store } from "../../router/store.port.ts";

/** The last such time, over or not. Milliseconds since the epoch. */
export interface Mute {
  readonly since: number;
  readonly until: number;
  readonly actor: string;
  readonly reason: string | null;
}

export const muteMigration = (id: number): Migration => ({
  id,
  name: "a time in which no alerts are sent",
  sql: `
    CREATE TABLE alert_mute (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      since REAL NOT NULL,
      until REAL NOT NULL,
      actor TEXT NOT NULL,
      reason TEXT
    ) STRICT;
  `,
});

export const isMuted = (mute: Mute | undefined, now: number): mute is Mute => mute !== undefined && now < mute.until;

export const lastMute = (store: Pick<Store, "read">): Mute | undefined =>
  store.read<Mute>("SELECT since, until, actor, reason FROM alert_mute")[0];

/** Begins such a time, or sets another end of the one that runs: what waits since its beginning stays one summary. */
export const muteAlerts = defineOperation<Omit<Mute, "since"> & { readonly at: number }, void>(
  "alerts.mute",
  (tx, { at, ...mute }) => {
    const known = tx.get<Mute>("SELECT * FROM alert_mute");
    tx.run("DELETE FROM alert_mute");
    insertRow(tx, "alert_mute", { id: 1, since: isMuted(known, at) ? known.since : at, ...mute });
  },
);

/** Ends it now. */
export const unmuteAlerts = defineOperation<{ readonly at: number }, void>("alerts.unmute", (tx, { at }) => {
  tx.run("UPDATE alert_mute SET until = ?1 WHERE until > ?1", at);
});
