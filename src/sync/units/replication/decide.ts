/** Which copies to make so that everything has as many as there must be, and when to call a person. */
import { type Copy, type CopyNode, counts, mayGo } from "../../copies/decide.ts";
import type { NewOrder } from "../../orders/order.ts";

/** An artifact with too few copies. */
export interface Short {
  readonly seq: number;
  readonly sha256: string;
  readonly bytes: number;
  readonly required: number;
  readonly copies: readonly Copy[];
  /** Nodes that are on their way to a copy. */
  readonly ordered: readonly string[];
}

export interface RepairNode extends CopyNode {
  /** Null for one that did not say. */
  readonly freeBytes: number | null;
  readonly isHome: boolean;
}

export interface RepairLimits {
  /** What a node's disk must have left beyond a copy. */
  readonly reserveBytes: number;
  readonly maxOrders: number;
}

export interface RepairPlan {
  readonly orders: readonly NewOrder[];
  /** Why nothing is done about some, by how many. */
  readonly stuck: Readonly<Record<string, number>>;
}

/** Whether copies were there and are not to be relied on now: then one more is a repair, else it is the first time. */
const wasMore = ({ copies }: Short, nodes: ReadonlyMap<string, RepairNode>): boolean =>
  copies.some(({ node_id }) => {
    const node = nodes.get(node_id);
    return node === undefined || (!mayGo(node) && !counts(node));
  });

const REPAIR = "repair";
const SPREAD = "spread";

/**
 * What to order. Nodes fetch from home; what home itself lacks is sent there first by any node that has it. Among nodes with
 * room the one with the most gets it, so that disks fill evenly.
 */
export function planRepairs(
  shorts: readonly Short[],
  nodes: ReadonlyMap<string, RepairNode>,
  { reserveBytes, maxOrders }: RepairLimits,
): RepairPlan {
  const orders: NewOrder[] = [];
  const stuck: Record<string, number> = {};
  const giveUp = (why: string) => {
    stuck[why] = (stuck[why] ?? 0) + 1;
  };
  const room = new Map([...nodes.values()].map((node) => [node.node_id, node.freeBytes ?? 0]));
  const holders = ({ copies }: Short) =>
    copies.filter(({ state }) => state === "held").flatMap(({ node_id }) => nodes.get(node_id) ?? []);
  for (const short of shorts) {
    if (orders.length >= maxOrders) break;
    const { seq, bytes, required, ordered } = short;
    const held = holders(short);
    const order = { seq, bytes, max_rate: null, urgency: 2 };
    if (!held.some(({ isHome }) => isHome)) {
      const there = held.filter(({ isThere, isConfirmed }) => isThere && isConfirmed);
      // What another coordinator has is fetched from there without an order.
      if (there.some(({ isCoordinator }) => isCoordinator === true)) continue;
      const [from] = there.sort(byTrust);
      if (from === undefined) giveUp("no node that is online holds it");
      else if (ordered.length === 0) orders.push({ ...order, node_id: from.node_id, action: "send", reason: REPAIR });
      continue;
    }
    const having = new Set([...held.map(({ node_id }) => node_id), ...ordered]);
    const wanted = required - held.filter(counts).length - ordered.length;
    if (wanted <= 0) continue;
    const able = [...nodes.values()]
      .filter((node) => counts(node) && node.barred === undefined && !node.isHome && !having.has(node.node_id))
      .filter(({ node_id }) => room.get(node_id)! - bytes > reserveBytes)
      .sort((a, b) => room.get(b.node_id)! - room.get(a.node_id)!)
      .slice(0, wanted);
    if (able.length === 0) giveUp("no node has room for it");
    const reason = wasMore(short, nodes) ? REPAIR : SPREAD;
    for (const { node_id } of able) {
      room.set(node_id, room.get(node_id)! - bytes);
      orders.push({ ...order, urgency: reason === REPAIR ? 2 : 1, node_id, action: "fetch", reason });
    }
  }
  return { orders: orders.slice(0, maxOrders), stuck };
}

const byTrust = (a: RepairNode, b: RepairNode): number =>
  Number(counts(b)) - Number(counts(a)) || (a.node_id < b.node_id ? -1 : 1);

export interface Sums {
  readonly files: number;
  readonly games: number;
}

/** How things stand, worst first: lost for now, on rented nodes alone, too few for long. */
export const TROUBLE_LEVELS = ["critical", "error", "warning"] as const;
export type TroubleLevel = (typeof TROUBLE_LEVELS)[number];

export interface CopyTrouble extends Sums {
  readonly level: TroubleLevel;
  readonly what: string;
}

/** What a person should know. Files that are short for a moment are none of it: copies take their time. */
export function troubleOf(found: {
  readonly nowhere: Sums;
  readonly at_risk: Sums;
  readonly short: Sums;
}): CopyTrouble | null {
  const { nowhere, at_risk, short } = found;
  if (nowhere.files > 0) return { level: "critical", what: "no copy on a node that is online", ...nowhere };
  if (at_risk.files > 0)
    return { level: "error", what: "copies only on nodes that are rented or being drained", ...at_risk };
  if (short.files > 0) return { level: "warning", what: "too few copies for 15 minutes", ...short };
  return null;
}

/** What was told of it. */
export type Alarm = {
  readonly level: TroubleLevel | "none";
  readonly since: number;
  readonly told_at: number | null;
  /** A person was told, and not yet that it is over. */
  readonly is_open: boolean;
};

export interface AlarmLimits {
  readonly patienceMs: Readonly<Record<TroubleLevel, number>>;
  readonly remindMs: number;
}

/** Whether to say something now: when a trouble has lasted, now and then while it lasts, and once when it is over. */
export function nextAlarm(
  known: Alarm | undefined,
  level: Alarm["level"],
  now: number,
  { patienceMs, remindMs }: AlarmLimits,
): { readonly alarm: Alarm; readonly isDue: boolean } {
  const { since, told_at } = known?.level === level ? known : { since: now, told_at: null };
  const wasOpen = known?.is_open === true;
  if (level === "none") return { alarm: { level, since, told_at: null, is_open: false }, isDue: wasOpen };
  const isDue = told_at === null ? now - since >= patienceMs[level] : now - told_at >= remindMs;
  return { alarm: { level, since, told_at: isDue ? now : told_at, is_open: isDue || wasOpen }, isDue };
}

/** How the copies stand, in a few words for whoever asks how the whole is. */
export function standing(
  { places, short }: { readonly places: number; readonly short: number },
  wished: number,
  isTrouble: boolean,
): string {
  if (isTrouble) return "files have too few copies";
  if (short > 0) return `${short} files get more copies`;
  if (places >= wished) return "as many as there must be";
  return places === 1 ? "one of each file: there is one node" : `as many as ${places} nodes can hold`;
}
