/** What the watcher knows of the one it watches. Times are milliseconds on one clock. */
export interface Silence {
  readonly beatAt: number;
  readonly lookedAt: number;
  /** What it had waited for a processor by then, since it began. */
  readonly waitedMs: number;
  /** The same, at the look that heard its last beat. */
  readonly waitedAtBeatMs: number;
  /** How long nothing was heard while the watcher itself was awake, and the watched one had a processor or slept. */
  readonly silentMs: number;
  readonly isAlarmed: boolean;
}

export type Turn =
  /** Silent for too long, seen for the first time. */
  | { readonly kind: "alarm"; readonly silentMs: number }
  /** It beats again after an alarm. */
  | { readonly kind: "answers"; readonly blockedMs: number };

export const quiet = (beatAt: number, now: number, waitedMs = 0): Silence => ({
  beatAt,
  lookedAt: now,
  waitedMs,
  waitedAtBeatMs: waitedMs,
  silentMs: 0,
  isAlarmed: false,
});

/**
 * One look. A watcher that was stopped together with the one it watches (SIGSTOP, a sleeping laptop, a machine with too few
 * cores) saw nothing in that time: only time in which it looked regularly counts as silence. Nor does time in which the watched
 * one was ready and other programs had the processors: nothing of ours blocked it then.
 */
export function look(
  before: Silence,
  { beatAt, now, waitedMs = 0 }: { readonly beatAt: number; readonly now: number; readonly waitedMs?: number },
  { everyMs, blockedAfterMs }: { readonly everyMs: number; readonly blockedAfterMs: number },
): { readonly next: Silence; readonly turn: Turn | null } {
  if (beatAt !== before.beatAt) {
    const blockedMs = Math.max(before.silentMs, beatAt - before.beatAt - (waitedMs - before.waitedAtBeatMs));
    const turn: Turn | null = before.isAlarmed ? { kind: "answers", blockedMs } : null;
    return { next: quiet(beatAt, now, waitedMs), turn };
  }
  const passedMs = Math.min(now - before.lookedAt, 2 * everyMs);
  const silentMs = before.silentMs + Math.max(0, passedMs - (waitedMs - before.waitedMs));
  const turn: Turn | null = !before.isAlarmed && silentMs >= blockedAfterMs ? { kind: "alarm", silentMs } : null;
  return { next: { ...before, lookedAt: now, waitedMs, silentMs, isAlarmed: before.isAlarmed || turn !== null }, turn };
}
