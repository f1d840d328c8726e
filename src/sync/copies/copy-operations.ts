import { defineOperation, type Transaction } from "../../router/store.port.ts";
import { closeOrders, dropOrders } from "../orders/order-operations.ts";
import { believeListing, type Copy, type DropAnswer, mayDrop } from "./decide.ts";
import { settleInvalid } from "./invalid-operations.ts";

type Known = { readonly seq: number; readonly freed_at: number | null };
const knownOf = (tx: Transaction, sha256: string): Known | undefined =>
  tx.get<Known>("SELECT seq, freed_at FROM sync_artifacts WHERE sha256 = ?", sha256);

const HOLD = `INSERT INTO sync_held (node_id, seq, state, verified_at, verified_by) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (node_id, seq) DO UPDATE SET state = excluded.state, verified_at = excluded.verified_at,
    verified_by = excluded.verified_by`;
const unlock = (tx: Transaction, seq: number, forNode: string) =>
  tx.run("DELETE FROM sync_copy_locks WHERE seq = ? AND for_node = ?", seq, forNode);

export interface CopyReceipts {
  readonly node_id: string;
  readonly sha256s: readonly string[];
  /** Who hashed the bytes. */
  readonly by: string;
  /** When they were hashed. */
  readonly at: number;
  /** It is the coordinator's own store. */
  readonly isHome?: boolean;
}

/**
 * A node has hashed these files of its own, and they are flushed. Gives the place of each in the catalog; null for one that
 * the catalog does not have. A copy of what was given up is noted only to be told to go.
 */
export const noteCopies = defineOperation<CopyReceipts, { seqs: (number | null)[] }>(
  "sync.note_copies",
  (tx, { node_id, sha256s, by, at, isHome = false }) => ({
    seqs: sha256s.map((sha256) => {
      const known = knownOf(tx, sha256);
      if (known === undefined) return null;
      tx.run(HOLD, node_id, known.seq, known.freed_at === null ? "held" : "retired", at, by);
      unlock(tx, known.seq, node_id);
      settleInvalid(tx, node_id, known.seq, at);
      closeOrders(tx, node_id, isHome, known.seq, at);
      return known.seq;
    }),
  }),
);

/** These copies are not there any more: they went, or were found damaged. Gives those that counted until now. */
export const noteGone = defineOperation<{ node_id: string; sha256s: readonly string[] }, { gone: string[] }>(
  "sync.note_gone",
  (tx, { node_id, sha256s }) => ({
    gone: sha256s.filter((sha256) => {
      const known = knownOf(tx, sha256);
      if (known === undefined) return false;
      unlock(tx, known.seq, node_id);
      settleInvalid(tx, node_id, known.seq);
      const held = tx.get<Copy>("SELECT * FROM sync_held WHERE node_id = ? AND seq = ?", node_id, known.seq);
      tx.run("DELETE FROM sync_held WHERE node_id = ? AND seq = ?", node_id, known.seq);
      return held?.state === "held";
    }),
  }),
);

export interface AskDrop {
  readonly node_id: string;
  readonly asked: readonly { readonly sha256: string; readonly required: number }[];
  /** Nodes whose copies count now. One that came since is not among them, which errs to the safe side. */
  readonly counting: readonly string[];
  /** All coordinators, where there are several. */
  readonly coordinators?: readonly string[];
  readonly at: number;
  readonly lockedUntil: number;
}

const COPIES = `SELECT h.node_id, h.state, EXISTS (SELECT 1 FROM sync_copy_locks l
    WHERE l.seq = h.seq AND l.node_id = h.node_id AND l.until > ?2 AND l.for_node <> ?3) AS locked
  FROM sync_held h WHERE h.seq = ?1 ORDER BY h.node_id`;

/**
 * A node wants to let go of its copies. Decided here, where nobody can let go of another one between the look and the deed:
 * from this commit on the copy counts no more, and the one it goes against is locked until it has gone.
 */
export const askDrop = defineOperation<AskDrop, { answers: DropAnswer[] }>(
  "sync.ask_drop",
  (tx, { node_id, asked, counting, coordinators = [], at, lockedUntil }) => ({
    answers: asked.map(({ sha256, required }): DropAnswer => {
      const known = knownOf(tx, sha256);
      // What nobody catalogued, or is given up, is nobody's loss.
      if (known === undefined || known.freed_at !== null) return { allowed: true, against: node_id };
      const rows = tx.all<Copy & { locked: number }>(COPIES, known.seq, at, node_id);
      const copies = rows.map(({ locked, ...copy }) => ({ ...copy, isLocked: locked === 1 }));
      const own = copies.find((copy) => copy.node_id === node_id);
      const able = new Set(counting);
      if (own?.state !== "held") able.delete(node_id);
      const answer = mayDrop({ node_id, copies, counting: able, required, coordinators: new Set(coordinators) });
      if (!answer.allowed) return answer;
      tx.run("UPDATE sync_held SET state = 'dropping' WHERE node_id = ? AND seq = ?", node_id, known.seq);
      tx.run(
        `INSERT INTO sync_copy_locks (seq, for_node, node_id, until) VALUES (?, ?, ?, ?)
         ON CONFLICT (seq, for_node) DO UPDATE SET node_id = excluded.node_id, until = excluded.until`,
        known.seq,
        node_id,
        answer.against,
        lockedUntil,
      );
      return answer;
    }),
  }),
);

export interface ConfirmCopies {
  readonly node_id: string;
  readonly incarnation: number;
  /** The node was told of its copies up to here. */
  readonly upto: number;
  /** Those that are there. */
  readonly present: readonly number[];
  readonly at: number;
}

/**
 * What a node says after its start: which of its copies are there. The others are lost, unless nothing at all is there: then
 * it is not believed, and its copies count nothing until it has shown them.
 */
export const confirmCopies = defineOperation<ConfirmCopies, { believed: boolean; lost: string[] }>(
  "sync.confirm_copies",
  (tx, { node_id, incarnation, upto, present, at }) => {
    const rows = tx.all<{ seq: number; sha256: string; state: string }>(
      `SELECT h.seq, a.sha256, h.state FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
       WHERE h.node_id = ? AND h.seq <= ?`,
      node_id,
      upto,
    );
    const there = new Set(present);
    const lost = rows.filter(({ seq }) => !there.has(seq));
    if (!believeListing(rows.length, rows.length - lost.length)) return { believed: false, lost: [] };
    for (const { seq } of lost) {
      tx.run("DELETE FROM sync_held WHERE node_id = ? AND seq = ?", node_id, seq);
      unlock(tx, seq, node_id);
      settleInvalid(tx, node_id, seq);
    }
    // What it was allowed to let go in its last life, and did not.
    tx.run("UPDATE sync_held SET state = 'held' WHERE node_id = ? AND seq <= ? AND state = 'dropping'", node_id, upto);
    tx.run(
      `INSERT INTO sync_storage (node_id, incarnation, confirmed_at) VALUES (?, ?, ?)
       ON CONFLICT (node_id) DO UPDATE SET incarnation = excluded.incarnation, confirmed_at = excluded.confirmed_at`,
      node_id,
      incarnation,
      at,
    );
    return { believed: true, lost: lost.filter(({ state }) => state === "held").map(({ sha256 }) => sha256) };
  },
);

/** Nodes that are gone for good hold nothing. Some rows at a time, so that nobody waits long for the writer. */
export const forgetHolder = defineOperation<{ node_id: string; max: number }, { more: boolean }>(
  "sync.forget_holder",
  (tx, { node_id, max }) => {
    const { changes } = tx.run(
      `DELETE FROM sync_held WHERE node_id = ?1
         AND seq IN (SELECT seq FROM sync_held WHERE node_id = ?1 ORDER BY seq LIMIT ?2)`,
      node_id,
      max,
    );
    if (changes < max)
      for (const table of ["sync_storage", "sync_invalid"]) tx.run(`DELETE FROM ${table} WHERE node_id = ?`, node_id);
    return { more: changes >= max };
  },
);

/** Copies of this process's own store that were verified before copies were counted, or under another name of its node. */
export const claimOwnCopies = defineOperation<{ node_id: string; after: number; max: number }, { upto: number | null }>(
  "sync.claim_own",
  (tx, { node_id, after, max }) => {
    const rows = tx.all<{ seq: number; verified_at: number | null; there: number }>(
      `SELECT seq, verified_at, freed_at IS NULL AND state IN ('in_flight', 'durable', 'rejected') AS there
       FROM sync_artifacts WHERE seq > ? ORDER BY seq LIMIT ?`,
      after,
      max,
    );
    for (const { seq, verified_at, there } of rows)
      if (there === 1 && verified_at !== null)
        tx.run(
          `INSERT INTO sync_held (node_id, seq, state, verified_at, verified_by) VALUES (?1, ?2, 'held', ?3, ?1)
           ON CONFLICT DO NOTHING`,
          node_id,
          seq,
          verified_at,
        );
    return { upto: rows.length < max ? null : rows.at(-1)!.seq };
  },
);

/** An artifact is given up: all its copies shall go, whatever their number. */
export const retireCopies = (tx: Transaction, seq: number, at: number): void => {
  dropOrders(tx, seq, at);
  tx.run("UPDATE sync_held SET state = 'retired' WHERE seq = ?", seq);
  for (const table of ["sync_copy_locks", "sync_invalid"]) tx.run(`DELETE FROM ${table} WHERE seq = ?`, seq);
};

/** One that was given up has come again: copies that were told to go count once they are shown anew. */
export const doubtCopies = (tx: Transaction, seq: number): void => {
  tx.run("UPDATE sync_held SET state = 'dropping' WHERE seq = ? AND state = 'retired'", seq);
};

/** The row of an artifact goes, and what was known of its copies with it. */
export const forgetCopies = (tx: Transaction, sha256: string): void => {
  const ofFile = "SELECT seq FROM sync_artifacts WHERE sha256 = ?";
  tx.run(`DELETE FROM sync_tries WHERE order_id IN (SELECT order_id FROM sync_orders WHERE seq = (${ofFile}))`, sha256);
  for (const table of ["sync_held", "sync_copy_locks", "sync_orders", "sync_invalid"])
    tx.run(`DELETE FROM ${table} WHERE seq = (${ofFile})`, sha256);
};
