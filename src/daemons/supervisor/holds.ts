/** One reason that keeps a daemon from running. Several may hold one daemon; it runs again when the last is lifted. */
export type Hold = {
  /** Names the reason among those of the daemon: `operator`, `backpressure:selfplay`. */
  readonly hold: string;
  /** A sentence that shows in the daemon's status. */
  readonly reason: string;
  readonly actor: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
};

/** The hold of whoever names none. */
export const OPERATOR_HOLD = "operator";

/** The list with this hold in it, oldest first; the same list when it says nothing new. Its time is that of its first word. */
export function withHold(holds: readonly Hold[], next: Hold): readonly Hold[] {
  const before = holds.find(({ hold }) => hold === next.hold);
  if (before === undefined) return [...holds, next];
  if (before.reason === next.reason) return holds;
  return holds.map((each) => (each === before ? { ...next, since: before.since } : each));
}

/** The list without the named hold, or without any; the same list when there was none to lift. */
export function withoutHold(holds: readonly Hold[], lifted: string | null): readonly Hold[] {
  const left = lifted === null ? [] : holds.filter(({ hold }) => hold !== lifted);
  return left.length === holds.length ? holds : left;
}

/** All reasons in one sentence; null when nothing holds. */
export const heldBecause = (holds: readonly Hold[]): string | null =>
  holds.length === 0 ? null : holds.map(({ reason }) => reason).join("; ");
