import type { Store } from "../../../router/index.ts";
import type { ArtifactRow } from "../../artifact.ts";
import type { Copies } from "../../copies/copies.ts";
import { type Copy, mayGo } from "../../copies/decide.ts";
import { COPY_CLASSES, type CopyPolicy, maxFactorOf, requiredCopies } from "../../copies/policy.ts";
import type { Short, Sums } from "./decide.ts";

type Found = Pick<
  ArtifactRow,
  "seq" | "sha256" | "bytes" | "kind" | "config_key" | "counted" | "created_at" | "state"
> & {
  readonly copies: number;
  readonly rented: number;
  readonly held: string;
  readonly ordered: string;
};

/** Copies of a few artifacts, which an index finds: these first, then who holds them. */
const ofThose = (which: string): string => `SELECT a.seq, sum(h.node_id IN (SELECT value FROM json_each(?1)))
    FROM sync_artifacts a CROSS JOIN sync_held h ON h.seq = a.seq AND h.state = 'held' WHERE ${which} GROUP BY a.seq`;

/**
 * One pass over the copies in the order of the catalog finds those that are few; only these are looked up. Models shall have more
 * than the rest and are few, so they are looked at by themselves, and so is what is damaged here: that is wanted back, however
 * many others have it.
 */
const FEWER = `WITH few AS (
    SELECT seq, sum(node_id IN (SELECT value FROM json_each(?1))) AS copies
    FROM sync_held WHERE state = 'held' GROUP BY seq HAVING copies < ?3
    UNION ${ofThose("a.state = 'quarantined'")}
    UNION ${ofThose("a.kind = 'model' AND a.freed_at IS NULL")}),
  short AS (
    SELECT a.seq, a.sha256, a.bytes, a.kind, a.config_key, a.counted, a.created_at, a.state, few.copies
    FROM few JOIN sync_artifacts a ON a.seq = few.seq
    WHERE a.freed_at IS NULL AND (a.state = 'quarantined' OR (a.state = 'durable' AND a.verified_at IS NOT NULL
      AND few.copies < CASE a.kind WHEN 'games' THEN ?4 WHEN 'model' THEN ?5 WHEN 'samples' THEN ?6 ELSE ?7 END))
    ORDER BY few.copies, a.seq LIMIT ?8)
  SELECT short.*,
    EXISTS (SELECT 1 FROM sync_held h WHERE h.seq = short.seq AND h.state = 'held'
      AND h.node_id IN (SELECT value FROM json_each(?2))) AS rented,
    (SELECT json_group_array(json_object('node_id', h.node_id, 'state', h.state)) FROM sync_held h
      WHERE h.seq = short.seq) AS held,
    (SELECT json_group_array(o.node_id) FROM sync_orders o
      WHERE o.seq = short.seq AND o.state IN ('waiting', 'running')) AS ordered
  FROM short`;

export interface Shortage {
  readonly shorts: readonly Short[];
  /** Of all that were found: without any copy to rely on or not. */
  readonly nowhere: Sums;
  readonly at_risk: Sums;
  /** Too few, and not only just made. */
  readonly short: Sums;
}

const add = ({ files, games }: Sums, { counted }: Found): Sums => ({ files: files + 1, games: games + counted });

/** What has too few copies. It goes through all copies, and so does it on the thread of the readers. */
export async function findShorts(
  store: Pick<Store, "scan">,
  copies: Copies,
  { max, oldBefore }: { readonly max: number; readonly oldBefore: number },
  policy: CopyPolicy,
): Promise<Shortage> {
  const nodes = copies.nodes();
  const counting = copies.counting(nodes);
  const going = [...nodes.values()].filter((node) => mayGo(node) && node.isThere).map((node) => node.node_id);
  const places = counting.length;
  const most = COPY_CLASSES.map((of) => requiredCopies(maxFactorOf(policy, of), places));
  const [games, , ...others] = most as [number, number, ...number[]];
  const params = [JSON.stringify(counting), JSON.stringify(going), Math.max(games, ...others), ...most, max];
  const found = await store.scan<Found>(FEWER, params);
  const nothing: Sums = { files: 0, games: 0 };
  const shorts: Short[] = [];
  let [nowhere, at_risk, short] = [nothing, nothing, nothing];
  for (const row of found) {
    const required = copies.requiredOf(row, places);
    if (row.copies >= required && row.state !== "quarantined") continue;
    const { seq, sha256, bytes } = row;
    const held = JSON.parse(row.held) as Copy[];
    shorts.push({ seq, sha256, bytes, required, copies: held, ordered: JSON.parse(row.ordered) as string[] });
    if (row.copies === 0 && row.rented === 1) at_risk = add(at_risk, row);
    else if (row.copies === 0) nowhere = add(nowhere, row);
    else if (row.copies < required && row.created_at < oldBefore) short = add(short, row);
  }
  return { shorts, nowhere, at_risk, short };
}
