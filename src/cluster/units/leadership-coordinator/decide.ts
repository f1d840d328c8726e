/** Whether this coordinator should go on leading, and who would take over. Pure. */

/** How far another coordinator has come, as it said last. */
export interface Mark {
  readonly pending: number;
  readonly at: number;
}

/** How a leadership went. */
export type TermRow = {
  readonly cluster_id: string;
  readonly epoch: number;
  readonly leader: string;
  readonly since: number;
  readonly ended: "lost" | "handed over" | null;
  readonly endedAt: number | null;
  readonly reason: string | null;
};

export interface Limits {
  /** Marks that are older say nothing of now. */
  readonly freshMs: number;
  /** Entries that a successor may still lack: it has them before it leads. */
  readonly maxPending: number;
  /** Somebody handed over for being unfit: for so long nobody else does. */
  readonly restMs: number;
}

/** With these words a coordinator hands over that came up with faults. */
export const UNFIT = "it came up with faults";

/** The others that would take over at once, the one that lacks least first. */
export const successors = (
  marks: ReadonlyMap<string, Mark>,
  { self, offline, now }: { readonly self: string; readonly offline: ReadonlySet<string>; readonly now: number },
  { freshMs, maxPending }: Limits,
): string[] =>
  [...marks]
    .filter(
      ([name, { at, pending }]) => name !== self && !offline.has(name) && now - at <= freshMs && pending <= maxPending,
    )
    .toSorted(([one, a], [other, b]) => a.pending - b.pending || one.localeCompare(other))
    .map(([name]) => name);

/** Whom to hand the lead to; undefined where this one goes on. */
export function handTo(
  unfit: string | null,
  able: readonly string[],
  terms: readonly TermRow[],
  now: number,
  { restMs }: Limits,
): string | undefined {
  if (unfit === null) return undefined;
  const isResting = terms.some(
    ({ reason, endedAt }) => reason?.startsWith(UNFIT) === true && endedAt !== null && now - endedAt < restMs,
  );
  // If the one before had faults as well, they are not this machine's: somebody must lead.
  return isResting ? undefined : able[0];
}
