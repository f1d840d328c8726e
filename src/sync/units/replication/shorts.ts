import type { Store } from "../../../router/index.ts";
import type { ArtifactRow } from "../../artifact.ts";
import type { Copies } from "../../copies/copies.ts";
import { type Copy, mayGo } from "../../copies/decide.ts";
import type { Short, Sums } from "./decide.ts";

type Found = Pick<
  ArtifactRow,
  "seq" | "sha256" | "bytes" | "kind" | "config_key" | "counted" | "created_at" | "state"
> & {
  readonly copies: number;
  readonly rented: number;
  readonly held: string | null;
  readonly ordered: string | null;
};

/** Judged good, or damaged here while somebody else may have it. Those of few copies first. */
const FEWER = `SELECT * FROM (
    SELECT a.seq, a.sha256, a.bytes, a.kind, a.config_key, a.counted, a.created_at, a.state,
      (SELECT count(*) FROM sync_held h WHERE h.seq = a.seq AND h.state = 'held'
        AND h.node_id IN (SELECT value FROM json_each(?1))) AS copies,
      EXISTS (SELECT 1 FROM sync_held h WHERE h.seq = a.seq AND h.state = 'held'
        AND h.node_id IN (SELECT value FROM json_each(?2))) AS rented,
      (SELECT json_group_array(json_object('node_id', h.node_id, 'state', h.state)) FROM sync_held h
        WHERE h.seq = a.seq) AS held,
      (SELECT json_group_array(o.node_id) FROM sync_orders o
        WHERE o.seq = a.seq AND o.state IN ('waiting', 'running')) AS ordered
    FROM sync_artifacts a WHERE a.freed_at IS NULL
      AND ((a.state = 'durable' AND a.verified_at IS NOT NULL) OR a.state = 'quarantined'))
  WHERE copies < ?3 OR (state = 'quarantined' AND held <> '[]') ORDER BY copies, seq LIMIT ?4`;

export interface Shortage {
  readonly shorts: readonly Short[];
  /** Of all that were found: without any copy to rely on or not. */
  readonly nowhere: Sums;
  readonly at_risk: Sums;
  /** Too few, and not only just made. */
  readonly short: Sums;
}

const add = ({ files, games }: Sums, { counted }: Found): Sums => ({ files: files + 1, games: games + counted });

/** What has too few copies. It goes through all rows, and so does it on the thread of the readers. */
export async function findShorts(
  store: Pick<Store, "scan">,
  copies: Copies,
  { max, oldBefore }: { readonly max: number; readonly oldBefore: number },
  maxFactor: number,
): Promise<Shortage> {
  const nodes = copies.nodes();
  const counting = copies.counting(nodes);
  const rented = [...nodes.values()].filter((node) => mayGo(node) && node.isThere).map((node) => node.node_id);
  const places = counting.length;
  const below = Math.max(1, Math.min(maxFactor, places));
  const found = await store.scan<Found>(FEWER, [JSON.stringify(counting), JSON.stringify(rented), below, max]);
  const nothing: Sums = { files: 0, games: 0 };
  const shorts: Short[] = [];
  let [nowhere, at_risk, short] = [nothing, nothing, nothing];
  for (const row of found) {
    const required = copies.requiredOf(row, places);
    // What is damaged here is wanted back, however many others have it.
    if (row.copies >= required && row.state !== "quarantined") continue;
    const { seq, sha256, bytes } = row;
    const held = JSON.parse(row.held ?? "[]") as Copy[];
    shorts.push({ seq, sha256, bytes, required, copies: held, ordered: JSON.parse(row.ordered ?? "[]") as string[] });
    if (row.copies === 0 && row.rented === 1) at_risk = add(at_risk, row);
    // One that was damaged here and lies nowhere else is made again by its job; that is told elsewhere.
    else if (row.copies === 0 && held.length > 0) nowhere = add(nowhere, row);
    else if (row.copies > 0 && row.created_at < oldBefore) short = add(short, row);
  }
  return { shorts, nowhere, at_risk, short };
}
