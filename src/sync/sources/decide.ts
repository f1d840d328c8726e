/** Who gives a file to a node that wants it. Pure: the same facts give the same order. */
import { hash } from "node:crypto";

export interface Giver {
  readonly node_id: string;
  /** Nodes that it sends to now. */
  readonly feeding: number;
  /** Nodes between it and one that has the whole file; 0 for one that has it. Who still fetches passes on what has come. */
  readonly depth: number;
}

/** A second one to feed halves what each of them gets, so an idle one is taken first, however far from the whole it is. */
const FED = 4;
/** One that still fetches may break off; the more nodes in between, the more often. */
const COMING = 0.5;
const FURTHER = 0.1;
/** The coordinator has other things to do, but it has the whole file: it is asked before a long chain grows longer. */
const HOME = 0.75;

export const costOf = ({ feeding, depth }: Omit<Giver, "node_id">): number =>
  FED * feeding + (depth === 0 ? 0 : COMING + FURTHER * depth);

/** Between equals everybody who asks has an order of its own. */
const drawOf = (to: string, from: string): string => hash("sha256", `${to} ${from}`);

/**
 * Givers in the order in which they are asked: the idle ones first. `null` stands for the coordinator's own copy; where others come
 * first it is the last, since it serves everybody.
 */
export function orderGivers(
  to: string,
  peers: readonly Giver[],
  homeFeeding: number | null,
  maxPeers: number,
): (Giver | null)[] {
  const ranked = peers
    .map((giver) => ({ giver, cost: costOf(giver), draw: drawOf(to, giver.node_id) }))
    .sort((a, b) => a.cost - b.cost || (a.draw < b.draw ? -1 : 1));
  const chosen = ranked.slice(0, maxPeers).map(({ giver }) => giver);
  if (homeFeeding === null) return chosen;
  return (ranked[0]?.cost ?? Number.POSITIVE_INFINITY) <= HOME + homeFeeding ? [...chosen, null] : [null, ...chosen];
}
