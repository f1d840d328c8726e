/** What the watcher knows of the one it watches. Times are milliseconds on one clock. */
export interface Silence {
  readonly beatAt: number;
  readonly lookedAt: number;
  /** How long nothing was heard while the watcher itself was awake. */
  readonly silentMs: number;
  readonly isAlarmed: boolean;
}

export type Turn =
  /** Silent for too long, seen for the first time. */
  | { readonly kind: "alarm"; readonly silentMs: number }
  /** It beats again after an alarm. */
  | { readonly kind: "answers"; readonly blockedMs: number };

export const quiet = (beatAt: number, now: number): Silence => ({
  beatAt,
  lookedAt: now,
  silentMs: 0,
  isAlarmed: false,
});

/**
 * One look. A watcher that was stopped together with the one it watches (SIGSTOP, a sleeping laptop, a machine with too few
 * cores) saw nothing in that time: only time in which it looked regularly counts as silence.
 */
export function look(
  before: Silence,
  { beatAt, now }: { readonly beatAt: number; readonly now: number },
  { everyMs, blockedAfterMs }: { readonly everyMs: number; readonly blockedAfterMs: number },
): { readonly next: Silence; readonly turn: Turn | null } {
  if (beatAt !== before.beatAt) {
    const turn: Turn | null = before.isAlarmed ? { kind: "answers", blockedMs: beatAt - before.beatAt } : null;
    return { next: quiet(beatAt, now), turn };
  }
  const silentMs = before.silentMs + Math.min(now - before.lookedAt, 2 * everyMs);
  const turn: Turn | null = !before.isAlarmed && silentMs >= blockedAfterMs ? { kind: "alarm", silentMs } : null;
  return { next: { ...before, lookedAt: now, silentMs, isAlarmed: before.isAlarmed || turn !== null }, turn };
}
