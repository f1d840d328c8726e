/** Who gives a file to a node that wants it, and why others do not. Pure: the same facts give the same order. */
import { hash } from "node:crypto";

export interface Giver {
  readonly node_id: string;
  /** Nodes that it sends to now. */
  readonly feeding: number;
  /** Nodes between it and one that has the whole file; 0 for one that has it. Who still fetches passes on what has come. */
  readonly depth: number;
  /** Its own transfers fail again and again. */
  readonly isTroubled?: boolean | undefined;
}

/** A second one to feed halves what each of them gets, so an idle one is taken first, however far from the whole it is. */
const FED = 4;
/**
 * One that still fetches may break off; the more nodes in between, the more often. A chunk takes a fraction of a second from one to the
 * next, so a chain of some sixty is better than two that share the line of the coordinator.
 */
const COMING = 0.5;
const FURTHER = 0.02;
/** One that cannot fetch can hardly give: the coordinator is asked before it, unless that one is busy. */
const TROUBLED = 2;
/** The coordinator has other things to do, but it has the whole file: it is asked before a long chain grows longer. */
const HOME = 0.75;

export const costOf = ({ feeding, depth, isTroubled = false }: Omit<Giver, "node_id">): number =>
  FED * feeding + (depth === 0 ? 0 : COMING + FURTHER * depth) + (isTroubled ? TROUBLED : 0);

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

/** Somebody who has the file, or gets it, as far as it is known. */
export interface Candidate extends Giver {
  readonly isHome: boolean;
  readonly isThere: boolean;
  readonly isLate: boolean;
  readonly isConfirmed: boolean;
  readonly isServing: boolean;
  /** What it gets of the file comes through the one that asks. */
  readonly isBehind: boolean;
  /** What went wrong when it was asked for this transfer before; null if it was not, or gave it. */
  readonly failed: string | null;
}

/** One who is not asked, with what is and what must be. */
export interface PassedOver {
  readonly node_id: string;
  readonly why: string;
  readonly actual: string;
  readonly required: string;
}

/** Why somebody cannot be asked by anybody; null if it can. */
function whyNot(one: Candidate): Omit<PassedOver, "node_id"> | null {
  if (one.isHome) return null;
  if (!one.isThere) return { why: "it is away", actual: "away", required: "online" };
  if (one.isLate) return { why: "its beats are late", actual: "late", required: "in time" };
  if (!one.isConfirmed) return { why: "it has not said what it holds", actual: "unconfirmed", required: "confirmed" };
  if (!one.isServing)
    return { why: "it serves nobody", actual: "no address and no relay", required: "an address or the relay" };
  if (one.isBehind) return { why: "it waits for this very transfer", actual: "behind", required: "ahead" };
  return null;
}

/** Who of all that have a file is asked, before their order is made. */
export interface Judged {
  readonly asked: readonly Candidate[];
  /** The coordinator has failed too, and stays behind all others. */
  readonly isHomeLast: boolean;
  readonly passedOver: readonly PassedOver[];
  /** Everybody who could give it has failed for this transfer: all are asked again, since nobody else is there. */
  readonly isExhausted: boolean;
}

/**
 * Who failed for this transfer before is passed over while another is there; the coordinator stays the last resort. When all have
 * failed, all are asked again.
 */
export function judgeCandidates(candidates: readonly Candidate[]): Judged {
  const judged = candidates.map((one) => ({ one, not: whyNot(one) }));
  const able = judged.filter(({ not }) => not === null).map(({ one }) => one);
  const fresh = able.filter(({ failed }) => failed === null);
  const isExhausted = able.length > 0 && fresh.length === 0;
  return {
    asked: isExhausted ? able : fresh,
    isHomeLast: !isExhausted && able.some(({ isHome, failed }) => isHome && failed !== null),
    isExhausted,
    passedOver: judged.flatMap(({ one: { node_id, failed }, not }) => {
      if (not !== null) return [{ node_id, ...not }];
      if (failed === null || isExhausted) return [];
      return [{ node_id, why: "it failed for this transfer", actual: failed, required: "no failure" }];
    }),
  };
}

/** In the order in which they are asked; `null` is the coordinator. */
export function rankGivers(to: string, { asked, isHomeLast }: Judged, maxPeers: number): readonly (Giver | null)[] {
  const home = asked.find(({ isHome }) => isHome);
  const peers = asked.filter(({ isHome }) => !isHome);
  const givers = orderGivers(to, peers, home === undefined ? null : home.feeding, maxPeers);
  return isHomeLast ? [...givers, null] : givers;
}
