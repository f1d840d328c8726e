import { defineOperation, type Transaction } from "../router/store.port.ts";
import { book } from "./accounts.ts";
import { changed, fateOf, lifeOf } from "./artifact-operations.ts";
import { forgetCopies, retireCopies } from "./copies/copy-operations.ts";
import { after } from "./states.ts";

export interface PinArtifacts {
  readonly owner: string;
  readonly sha256s: readonly string[];
  /** Those that were there when their owner looked: if one was given up meanwhile, it looks again. */
  readonly seen: readonly string[];
  readonly at: number;
}

/** What an owner holds from now on, in place of what it held. Grace begins when the last one lets go. */
export const pinArtifacts = defineOperation<PinArtifacts, void>("sync.pin", (tx, { owner, sha256s, seen, at }) => {
  for (const sha256 of seen) if (lifeOf(tx, sha256)?.freed_at !== null) throw changed(`artifact ${sha256}`);
  const wanted = new Set(sha256s);
  const held = tx.all<{ sha256: string }>("SELECT sha256 FROM sync_pins WHERE owner = ?", owner);
  for (const { sha256 } of held) {
    if (wanted.delete(sha256)) continue;
    tx.run("DELETE FROM sync_pins WHERE owner = ? AND sha256 = ?", owner, sha256);
    tx.run(
      `UPDATE sync_artifacts SET idle_since = ?1 WHERE sha256 = ?2
         AND NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = ?2)`,
      at,
      sha256,
    );
  }
  for (const sha256 of wanted) tx.run("INSERT INTO sync_pins (owner, sha256) VALUES (?, ?)", owner, sha256);
});

export interface FreeArtifacts {
  readonly sha256s: readonly string[];
  readonly idleBefore: number;
  readonly at: number;
}

/**
 * Gives up what nothing holds, and with it all its copies. Decided here, where nobody can pin between the look and the deed.
 * Gives those it was.
 */
export const freeArtifacts = defineOperation<FreeArtifacts, { freed: string[] }>(
  "sync.free",
  (tx, { sha256s, idleBefore, at }) => {
    const freed = sha256s.filter((sha256) => {
      const known = lifeOf(tx, sha256);
      if (known === undefined) return false;
      const state = after(known.state, "free") ?? known.state;
      const { changes } = tx.run(
        `UPDATE sync_artifacts SET state = ?1, freed_at = ?2 WHERE sha256 = ?3 AND freed_at IS NULL
             AND state IN ('durable', 'rejected') AND idle_since < ?4
             AND NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = ?3)`,
        state,
        at,
        sha256,
        idleBefore,
      );
      if (changes === 0) return false;
      book(tx, known, fateOf(known), { outcome: state, reason: known.reason });
      retireCopies(tx, known.seq, at);
      return true;
    });
    return { freed };
  },
);

/** A file that nobody recorded, or not again, is given up like others: first the row that says so, then the file. */
export const disownFile = defineOperation<
  { sha256: string; bytes: number; at: number; reason?: string },
  { disowned: boolean }
>("sync.disown", (tx, { sha256, bytes, at, reason = "nobody recorded it" }) => ({
  disowned:
    tx.run(
      `INSERT INTO sync_artifacts (sha256, kind, bytes, rows, games, counted, producer, state, reason, created_at,
           idle_since, freed_at)
         SELECT ?1, 'unknown', ?2, 0, 0, 0, 'unknown', 'freed', ?4, ?3, ?3, ?3
         WHERE NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = ?1)
         ON CONFLICT (sha256) DO UPDATE SET freed_at = ?3, removed_at = NULL WHERE freed_at IS NOT NULL`,
      sha256,
      bytes,
      at,
      reason,
    ).changes > 0,
}));

/** Their files are gone. */
export const noteRemoved = defineOperation<{ sha256s: readonly string[]; at: number }, void>(
  "sync.removed",
  (tx, { sha256s, at }) => {
    for (const sha256 of sha256s)
      tx.run("UPDATE sync_artifacts SET removed_at = ? WHERE sha256 = ? AND freed_at IS NOT NULL", at, sha256);
  },
);

export interface ForgetArtifacts {
  readonly before: number;
  /** Beyond so many rows, those of files that are gone are forgotten sooner. */
  readonly maxRows: number;
  /** In one go, so that nobody waits long for the writer. */
  readonly max: number;
}

const KEEP_NAME = `INSERT INTO sync_past (sha256, work_id, kind, config_key, producer, counted, outcome, reason, at)
  SELECT sha256, work_id, kind, config_key, producer, counted, state, reason, idle_since FROM sync_artifacts
  WHERE sha256 = ? AND work_id IS NOT NULL`;
const IS_LEFT = `SELECT 1 FROM sync_artifacts WHERE work_id = ?1
  UNION ALL SELECT 1 FROM sync_past p JOIN sync_artifacts a ON a.sha256 = p.sha256 WHERE p.work_id = ?1 LIMIT 1`;

/**
 * A job is forgotten with the last of its files: until then it may say them again. One whose count differs from what its files
 * held is a fault, and stays to be seen.
 */
function forgetWork(tx: Transaction, workId: string): void {
  if (tx.get(IS_LEFT, workId) !== undefined) return;
  const sums = tx.get<{ produced: number; recorded: number }>(
    `SELECT (SELECT total(games) FROM sync_produced WHERE work_id = ?1) AS produced,
       (SELECT total(counted) FROM sync_past WHERE work_id = ?1) AS recorded`,
    workId,
  )!;
  if (sums.produced !== sums.recorded) return;
  tx.run("DELETE FROM sync_past WHERE work_id = ?", workId);
  tx.run("DELETE FROM sync_produced WHERE work_id = ?", workId);
}

/**
 * Forgets files that have been gone for long. The books stay as they were; only the history becomes shorter. The newest row
 * stays, so that no place in the catalog is given twice: nodes know their copies by it.
 */
export const forgetArtifacts = defineOperation<ForgetArtifacts, { forgotten: number }>(
  "sync.forget",
  (tx, { before, maxRows, max }) => {
    const gone = tx.all<{ sha256: string }>(
      `SELECT sha256 FROM (
         SELECT sha256, removed_at AS at FROM sync_artifacts WHERE removed_at < ?1
         UNION SELECT sha256, idle_since FROM sync_artifacts WHERE state = 'quarantined' AND idle_since < ?1
         UNION SELECT sha256, removed_at FROM sync_artifacts
           WHERE removed_at IS NOT NULL AND seq <= (SELECT max(seq) FROM sync_artifacts) - ?3) g
       WHERE NOT EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = g.sha256)
         AND sha256 <> (SELECT sha256 FROM sync_artifacts ORDER BY seq DESC LIMIT 1) ORDER BY at LIMIT ?2`,
      before,
      max,
      maxRows,
    );
    for (const { sha256 } of gone) {
      tx.run(KEEP_NAME, sha256);
      forgetCopies(tx, sha256);
      tx.run("DELETE FROM sync_parents WHERE sha256 = ?", sha256);
      tx.run("DELETE FROM sync_artifacts WHERE sha256 = ?", sha256);
      const works = tx.all<{ work_id: string }>("SELECT work_id FROM sync_past WHERE sha256 = ?", sha256);
      for (const { work_id } of works) forgetWork(tx, work_id);
    }
    tx.run("DELETE FROM sync_runs WHERE ended_at < ?", before);
    return { forgotten: gone.length };
  },
);
