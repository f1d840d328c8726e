/** Files that lie nowhere but on nodes that may be gone tomorrow. */
import type { Store } from "../../router/index.ts";
import type { ArtifactRow } from "../artifact.ts";
import type { Copies } from "./copies.ts";
import { mayGo } from "./decide.ts";

export interface AloneFile extends Pick<ArtifactRow, "seq" | "bytes" | "kind" | "config_key" | "counted"> {
  /** Nodes that may go and hold it, and those that are on their way to a copy or send theirs. */
  readonly holders: readonly string[];
  readonly ordered: readonly string[];
}

const ALONE = `SELECT a.seq, a.bytes, a.kind, a.config_key, a.counted, json_group_array(h.node_id) AS holders,
    (SELECT json_group_array(o.node_id) FROM sync_orders o
      WHERE o.seq = a.seq AND o.state IN ('waiting', 'running')) AS ordered
  FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE h.state = 'held' AND h.node_id IN (SELECT value FROM json_each(?1)) AND h.verified_at <= ?3
    AND a.freed_at IS NULL AND (a.state = 'quarantined'
      OR (a.state IN ('in_flight', 'durable') AND a.verified_at IS NOT NULL))
    AND NOT EXISTS (SELECT 1 FROM sync_held s WHERE s.seq = h.seq AND s.state = 'held'
      AND s.node_id IN (SELECT value FROM json_each(?2)))
  GROUP BY a.seq ORDER BY a.seq LIMIT ?4`;

/**
 * What these nodes alone hold: no copy lies on a node that counts. What home has only just got with a result, and has not looked
 * at yet, is none of it. It goes through all of their copies, and so does it on the
 * thread of the readers.
 */
export async function aloneOn(
  store: Pick<Store, "scan">,
  nodeIds: readonly string[],
  counting: readonly string[],
  { heldBefore, max }: { readonly heldBefore: number; readonly max: number },
): Promise<AloneFile[]> {
  if (nodeIds.length === 0) return [];
  const relied = counting.filter((id) => !nodeIds.includes(id));
  const params = [JSON.stringify(nodeIds), JSON.stringify(relied), heldBefore, max];
  const found = await store.scan<Omit<AloneFile, "holders" | "ordered"> & { holders: string; ordered: string }>(
    ALONE,
    params,
  );
  return found.map((row) => ({
    ...row,
    holders: JSON.parse(row.holders) as string[],
    ordered: JSON.parse(row.ordered) as string[],
  }));
}

/** Nodes that are there and may go: rented ones, and those that are drained. */
export const goingNodes = (copies: Pick<Copies, "nodes">): string[] =>
  [...copies.nodes().values()].filter((node) => mayGo(node) && node.isThere).map(({ node_id }) => node_id);
