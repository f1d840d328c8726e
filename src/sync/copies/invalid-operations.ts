/** Copies that must not be used as they are: their node drops them, or hashes them anew where the cluster needs them. */
import { defineOperation, type Transaction } from "../../router/store.port.ts";

export interface InvalidateCopies {
  readonly sha256: string;
  readonly reason: string;
  readonly at: number;
  /** One that is left out: it looks after its own files. */
  readonly except: string;
  /** Only the copy of this node; of all nodes unless said. */
  readonly node_id?: string | undefined;
}

/** Declares copies invalid. Each node is told until it has let go of its copy or has shown it anew. Gives whose copies they are. */
export const invalidateCopies = defineOperation<InvalidateCopies, { nodes: string[] }>(
  "sync.invalidate_copies",
  (tx, { sha256, reason, at, except, node_id = null }) => {
    const found = tx.all<{ node_id: string; seq: number }>(
      `SELECT h.node_id, h.seq FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
       WHERE a.sha256 = ?1 AND h.state = 'held' AND h.node_id <> ?2 AND (?3 IS NULL OR h.node_id = ?3) ORDER BY h.node_id`,
      sha256,
      except,
      node_id,
    );
    for (const copy of found)
      tx.run(
        `INSERT INTO sync_invalid (node_id, seq, reason, at) VALUES (?, ?, ?, ?)
         ON CONFLICT (node_id, seq) DO UPDATE SET reason = excluded.reason, at = excluded.at`,
        copy.node_id,
        copy.seq,
        reason,
        at,
      );
    return { nodes: found.map((copy) => copy.node_id) };
  },
);

/** The copy has gone, or its bytes were hashed after it was declared invalid. */
export const settleInvalid = (tx: Transaction, nodeId: string, seq: number, hashedAt?: number): void => {
  tx.run(
    "DELETE FROM sync_invalid WHERE node_id = ?1 AND seq = ?2 AND (?3 IS NULL OR at <= ?3)",
    nodeId,
    seq,
    hashedAt ?? null,
  );
};
