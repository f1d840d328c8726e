/**
 * When a coordinator may believe that it leads, and when another may try to.
 *
 * The lease is in the log itself: every entry renews it. Who leads counts from before it sent the entry, who waits from when it got it,
 * both on clocks that never go back. So a leader stops to believe before anybody else begins, as long as no clock runs faster than
 * another by more than the margin; and if one does, the log still refuses whoever is late. Clocks of the day play no part.
 */

export interface LeaseTiming {
  /** Silence after which others may try to lead. */
  readonly leaseMs: number;
  /** So much earlier the leader stops to believe that it is one. */
  readonly marginMs: number;
  /** A leader without work appends after this time. */
  readonly beatMs: number;
  /** So much longer those wait that give way to a preferred one. */
  readonly headStartMs: number;
}

/** Until when an entry that is in the log lets its writer believe that it leads; `sentAt` is when it was first sent. */
export const trustedUntil = (sentAt: number, { leaseMs, marginMs }: LeaseTiming): number => sentAt + leaseMs - marginMs;

export const isBeatDue = (now: number, appendedAt: number, { beatMs }: LeaseTiming): boolean =>
  now - appendedAt >= beatMs;

/** What a coordinator that does not lead knows of the one that does. */
export interface Silence {
  /** When it last got an entry, or began to listen, or was refused. */
  readonly heardAt: number;
  /** One that is preferred to it is there. */
  readonly givesWay: boolean;
  /** The last entry was a step-down in its favour. */
  readonly isOffered: boolean;
  /** The lease by which the one that leads trusts itself, as it says; as long as one's own where it does not say. */
  readonly leaderLeaseMs?: number | undefined;
}

/** The moment from which it may try to lead: after the longer of both leases, should somebody have set them differently. */
export const campaignAt = (
  { heardAt, givesWay, isOffered, leaderLeaseMs = 0 }: Silence,
  timing: LeaseTiming,
): number =>
  isOffered ? heardAt : heardAt + Math.max(timing.leaseMs, leaderLeaseMs) + (givesWay ? timing.headStartMs : 0);

/** Whether two leases are the same setting: they travel as milliseconds, and are compared as people write them. */
export const isSameLease = (one: number, other: number): boolean => Math.abs(one - other) < 1;

/** Answers of the log about its last number, as somebody at this position saw them. */
export interface SeenLast {
  readonly at: number;
  readonly last: number;
  /** The server that was asked. */
  readonly by: string | undefined;
}

/** So many servers must say the same: of three, one alone may be cut off and not know it. */
const WITNESSES = 2;

/**
 * Whether acknowledged entries are gone: the log says that it ends before this position, through more than one server, and has said nothing
 * else for a whole lease. What one server says proves nothing, however often it says so: cut off from the others, it knows less than they do.
 */
export function hasLostEntries(seq: number, seen: readonly SeenLast[], now: number, { leaseMs }: LeaseTiming): boolean {
  const recent = seen.slice(seen.findLastIndex(({ last }) => last >= seq) + 1);
  const witnesses = new Set(recent.map(({ by }) => by)).size;
  return witnesses >= WITNESSES && now - recent[0]!.at >= leaseMs;
}

/** A coordinator, as far as it still needs the log. */
export interface LogReader {
  readonly seq: number;
  readonly silentMs: number;
}

export interface ForgetLimits {
  /** What all have stays for so long: whoever joins fetches a copy of the database in this time. */
  readonly keepMs: number;
  /** Whoever was silent for so long takes a new copy when it comes back. */
  readonly awayMs: number;
  /** While the log is larger than this, only those who are there are waited for. */
  readonly maxBytes: number;
  readonly presentMs: number;
}

/** An entry that everybody had at some time. */
export interface Mark {
  readonly at: number;
  readonly seq: number;
}

/** The entry up to which all have the log who are waited for. */
export function commonSeq(own: number, others: readonly LogReader[], bytes: number, limits: ForgetLimits): number {
  const patienceMs = bytes > limits.maxBytes ? limits.presentMs : limits.awayMs;
  return Math.min(own, ...others.filter(({ silentMs }) => silentMs <= patienceMs).map(({ seq }) => seq));
}

/** How many marks are kept: one for each part of the time that entries stay. */
const MARKS = 20;

/** Adds a mark when it is time for one, and gives the entry up to which the log may forget: everybody had it long enough ago. */
export function forgettable(
  marks: readonly Mark[],
  now: Mark,
  { keepMs }: Pick<ForgetLimits, "keepMs">,
): { readonly marks: readonly Mark[]; readonly upTo: number } {
  const last = marks.at(-1);
  const all = last === undefined || now.at - last.at >= keepMs / MARKS ? [...marks, now] : marks;
  const old = all.findLast(({ at }) => now.at - at >= keepMs);
  // Somebody who came back may have less than everybody had then.
  return { marks: all.filter((mark) => mark.at >= (old?.at ?? 0)), upTo: Math.min(old?.seq ?? 0, now.seq) };
}
