/** What is kept instead of counted stays what a count would say: from the first migration on, and through any change of rows. */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { storeModules } from "../../src/app/store-modules.ts";

const KEPT = [
  {
    kept: "SELECT consumer, event_type, status, letters AS n FROM dead_letter_counts WHERE letters <> 0 ORDER BY 1, 2, 3",
    counted: "SELECT consumer, event_type, status, count(*) AS n FROM dead_letters GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
  },
  {
    kept: "SELECT consumer, deliveries AS n FROM waiting_counts WHERE deliveries <> 0 ORDER BY 1",
    counted:
      "SELECT consumer, count(*) AS n FROM deliveries WHERE state IN ('parked', 'retrying') GROUP BY 1 ORDER BY 1",
  },
  {
    kept: "SELECT severity, status, alerts AS n FROM alert_counts WHERE alerts <> 0 ORDER BY 1, 2",
    counted: "SELECT severity, status, count(*) AS n FROM alerts GROUP BY 1, 2 ORDER BY 1, 2",
  },
  {
    kept: "SELECT config_key, alpha, gates, promotions AS n FROM gate_tallies ORDER BY 1, 2",
    counted: `SELECT config_key, alpha, count(*) AS gates, sum(verdict = 'promote') AS n FROM gate_verdicts
      GROUP BY 1, 2 ORDER BY 1, 2`,
  },
];

const LETTER = ["pending", "retrying", "recovered", "discarded"];
const DELIVERY = ["done", "parked", "retrying", "expired"];
const ALERT = ["open", "acknowledged", "closed"];
const VERDICT = ["promote", "reject", "inconclusive"];
const SEVERITY = ["info", "critical"];
const of = (names: readonly string[], n: number) => names[n % names.length]!;

/** A change of any of the four tables: a row is written, moved or removed. A verdict is only ever written. */
function change(db: DatabaseSync, [what, id, to]: readonly [number, number, number]): void {
  const consumer = `c${id % 3}`;
  if (what === 0)
    db.prepare(
      `INSERT INTO dead_letters (consumer, seq, event_id, event_type, lane, error, fingerprint, attempts, first_failed_at,
         last_failed_at, handler_version, status) VALUES (?, ?, 'e', ?, '', '', '', 1, 1, 1, '1', ?)
       ON CONFLICT (consumer, seq) DO UPDATE SET status = excluded.status`,
    ).run(consumer, id, `T${id % 2}`, of(LETTER, to));
  else if (what === 1) db.prepare("UPDATE dead_letters SET status = ? WHERE seq = ?").run(of(LETTER, to), id);
  else if (what === 2) db.prepare("DELETE FROM dead_letters WHERE seq = ?").run(id);
  else if (what === 3)
    db.prepare(
      `INSERT INTO deliveries (consumer, seq, state, lane) VALUES (?, ?, ?, '')
       ON CONFLICT (consumer, seq) DO UPDATE SET state = excluded.state`,
    ).run(consumer, id, of(DELIVERY, to));
  else if (what === 4) db.prepare("UPDATE deliveries SET state = ? WHERE seq = ?").run(of(DELIVERY, to), id);
  else if (what === 5) db.prepare("DELETE FROM deliveries WHERE seq >= ?").run(id);
  else if (what === 6) {
    db.prepare("DELETE FROM alerts WHERE id = ?").run(String(id));
    db.prepare(
      `INSERT INTO alerts (id, key, severity, status, title, message, count, opened_at, last_seen_at, severe_since, alarmed,
         reminders, messages, policy) VALUES (?, 'k', ?, ?, '', '', 1, 1, 1, 1, 0, 0, 0, '{}')`,
    ).run(String(id), of(SEVERITY, to), of(ALERT, to));
  } else if (what === 7)
    db.prepare("UPDATE alerts SET severity = ?, status = ? WHERE id = ?").run(
      of(SEVERITY, id),
      of(ALERT, to),
      String(id),
    );
  else if (what === 8) db.prepare("DELETE FROM alerts WHERE id = ?").run(String(id));
  else
    db.prepare(
      `INSERT INTO gate_verdicts VALUES (?, ?, 1, 'c', 'o', 'b', ?, 'r', 1, 2, 0.5, '[]', 0, 0, 10, ?, 0.05, 1, 0, -10, 10, 0, 1)
       ON CONFLICT DO NOTHING`,
    ).run(`config${id % 2}`, id, of(VERDICT, to), of(["0.05", "0.01"], to));
}

const changes = fc.array(fc.tuple(fc.nat(9), fc.nat(6), fc.nat(11)), { minLength: 1, maxLength: 60 });
/** With so many of its migrations a module has the rows that are counted, and not yet the counts. */
const BEFORE: Readonly<Record<string, number>> = { journal: 1, cluster: 1, evaluation: 2 };
const steps = storeModules.flatMap(({ name, migrations }) => {
  const old = BEFORE[name];
  return old === undefined ? [] : [{ old: migrations.slice(0, old), young: migrations.slice(old) }];
});

test("letters, waiting deliveries, alerts and gates have the counts that a look at all rows gives, from a folder of any age on", () => {
  fc.assert(
    fc.property(changes, changes, (before, after) => {
      const db = new DatabaseSync(":memory:");
      const counts = () => KEPT.map(({ kept }) => db.prepare(kept).all());
      const expected = () => KEPT.map(({ counted }) => db.prepare(counted).all());
      for (const { old } of steps) for (const { sql } of old) db.exec(sql);
      for (const n of [0, 1, 2]) db.exec(`INSERT INTO consumers VALUES ('c${n}', 'unit', 0, '1', NULL, 1, 1, NULL)`);
      for (const each of before) change(db, each);
      for (const { young } of steps) for (const { sql } of young) db.exec(sql);
      expect(counts()).toEqual(expected());
      for (const each of after) change(db, each);
      expect(counts()).toEqual(expected());
      db.close();
    }),
  );
});
