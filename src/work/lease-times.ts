import type { JobRow } from "./job.ts";

/** The clocks of one lease, in milliseconds that the queue listened. */
interface LeaseTime {
  readonly fence: number;
  heardAt: number;
  expiresAt: number;
  stopBy: number | null;
}

/** What is read of a held job when the process begins. */
export type HeldLease = Pick<JobRow, "seq" | "fence" | "beat_by" | "expires_at" | "stop_by">;

/**
 * When the leases end. The rows say it in instants of the wall clock, for people; what is decided on is counted here, in time
 * that the queue listened. A clock that is set, a machine that slept or a process that was stopped ends no lease, and after a
 * start every holder has its whole silence before it, and what was left of its time when it was last heard.
 */
export class LeaseTimes {
  readonly #listened: () => number;
  readonly #silentMs: number;
  readonly #times = new Map<number, LeaseTime>();

  constructor(listened: () => number, silentMs: number) {
    this.#listened = listened;
    this.#silentMs = silentMs;
  }

  /** A lease that is on disk and not known here. */
  adopt({ seq, fence, beat_by, expires_at, stop_by }: HeldLease): void {
    if (this.#times.get(seq)?.fence === fence) return;
    const now = this.#listened();
    const seenAt = (beat_by ?? 0) - this.#silentMs;
    // What it did while nobody listened may be on its way here: as long as a silence may last, it has that long to come.
    const leftMs = Math.max(this.#silentMs, (expires_at ?? 0) - seenAt);
    this.#times.set(seq, {
      fence,
      heardAt: now,
      expiresAt: now + leftMs,
      stopBy: stop_by === null ? null : now + Math.max(0, stop_by - seenAt),
    });
  }

  /** It was claimed, or begins: its time runs from here. */
  begin({ seq, fence }: Pick<JobRow, "seq" | "fence">, limitMs: number): void {
    const now = this.#listened();
    this.#times.set(seq, { fence, heardAt: now, expiresAt: now + limitMs, stopBy: null });
  }

  /** It lapsed, and its holder is heard again: it goes on with what it had left. */
  resume(job: HeldLease): void {
    this.forget(job.seq);
    this.adopt(job);
  }

  heard(job: HeldLease): void {
    this.#of(job).heardAt = this.#listened();
  }

  /** It shall stop within so long. */
  stop(job: HeldLease, graceMs: number): void {
    this.#of(job).stopBy = this.#listened() + graceMs;
  }

  /** How long the attempt may still last, and how long it has to stop if it shall: whole milliseconds, as the rows hold them. */
  left(job: HeldLease): { readonly expiresMs: number; readonly stopMs: number | null } {
    const { expiresAt, stopBy } = this.#of(job);
    const now = this.#listened();
    return { expiresMs: Math.round(expiresAt - now), stopMs: stopBy === null ? null : Math.round(stopBy - now) };
  }

  silentMs(job: HeldLease): number {
    return this.#listened() - this.#of(job).heardAt;
  }

  /** The attempt's own time comes first: it is known, and a silent holder is only supposed to be gone. */
  whyOver(job: HeldLease): "expired" | "stopped" | "silent" | undefined {
    return this.#whyOver(this.#of(job));
  }

  /** Jobs whose lease is over, and those that nobody holds any more. */
  overdue(): number[] {
    return [...this.#times].flatMap(([seq, time]) => (this.#whyOver(time) === undefined ? [] : [seq]));
  }

  forget(seq: number): void {
    this.#times.delete(seq);
  }

  #of(job: HeldLease): LeaseTime {
    this.adopt(job);
    return this.#times.get(job.seq)!;
  }

  #whyOver({ heardAt, expiresAt, stopBy }: LeaseTime): "expired" | "stopped" | "silent" | undefined {
    const now = this.#listened();
    if (expiresAt <= now) return "expired";
    if (stopBy !== null && stopBy <= now) return "stopped";
    return now - heardAt >= this.#silentMs ? "silent" : undefined;
  }
}
