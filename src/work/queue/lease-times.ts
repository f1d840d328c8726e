import type { ProgressLimit } from "../job/durations.ts";
import { stuckOn } from "../job/earlier-leases.ts";
import type { JobRow } from "../job/job.ts";

/** The clocks of one lease, in milliseconds that the queue listened. */
interface LeaseTime {
  readonly fence: number;
  readonly lane: number;
  /** When the attempt began; null for one that began before this process. */
  readonly beganAt: number | null;
  heardAt: number;
  /** When it last went on, as far as its holder tells; when it began until then. */
  progressAt: number;
  /** What its holder told last of how far it is. */
  told: string | undefined;
  /** Times as long as usual that it has to show that it goes on. */
  readonly patience: number;
  expiresAt: number;
  stopBy: number | null;
}

/** What is read of a held job when the process begins. */
export type HeldLease = Pick<JobRow, "seq" | "fence" | "lane" | "beat_by" | "expires_at" | "stop_by" | "earlier">;
export const HELD_COLUMNS = "seq, fence, lane, beat_by, expires_at, stop_by, earlier";

/** For how long a job has not gone on, and how long that may be; no limit where none was given. */
export interface Idle {
  readonly ms: number;
  readonly limitMs: number | undefined;
  /** Too little is known of such jobs: it keeps its holder unless somebody else could take it. */
  readonly isGuess: boolean;
}

export type WhyOver = "expired" | "stopped" | "silent" | "stuck";

/** A job that was taken from so many holders may simply be long: each time it has twice as long. */
const patienceOf = (job: Pick<JobRow, "earlier">): number => 2 ** stuckOn(job).length;

/**
 * When the leases end. The rows say it in instants of the wall clock, for people; what is decided on is counted here, in time
 * that the queue listened. A clock that is set, a machine that slept or a process that was stopped ends no lease, and after a
 * start every holder has its whole silence before it, and what was left of its time when it was last heard.
 */
export class LeaseTimes {
  readonly #listened: () => number;
  readonly #silentMs: number;
  readonly #progress: (lane: number) => ProgressLimit | undefined;
  readonly #times = new Map<number, LeaseTime>();

  /** `progress`: within how long jobs of a lane must go on; no limit unless said. */
  constructor(
    listened: () => number,
    silentMs: number,
    progress: (lane: number) => ProgressLimit | undefined = () => undefined,
  ) {
    this.#listened = listened;
    this.#silentMs = silentMs;
    this.#progress = progress;
  }

  /** A lease that is on disk and not known here. */
  adopt(job: HeldLease): void {
    const { seq, fence, lane, beat_by, expires_at, stop_by } = job;
    if (this.#times.get(seq)?.fence === fence) return;
    const now = this.#listened();
    const seenAt = (beat_by ?? 0) - this.#silentMs;
    // What it did while nobody listened may be on its way here: as long as a silence may last, it has that long to come.
    const leftMs = Math.max(this.#silentMs, (expires_at ?? 0) - seenAt);
    this.#times.set(seq, {
      fence,
      lane,
      beganAt: null,
      heardAt: now,
      progressAt: now,
      told: undefined,
      patience: patienceOf(job),
      expiresAt: now + leftMs,
      stopBy: stop_by === null ? null : now + Math.max(0, stop_by - seenAt),
    });
  }

  /** It was claimed, or begins: its time runs from here. */
  begin(job: HeldLease, limitMs: number): void {
    const { seq, fence, lane } = job;
    const now = this.#listened();
    this.#times.set(seq, {
      fence,
      lane,
      beganAt: now,
      heardAt: now,
      progressAt: now,
      told: undefined,
      patience: patienceOf(job),
      expiresAt: now + limitMs,
      stopBy: null,
    });
  }

  /** It lapsed, and its holder is heard again: it goes on with what it had left. */
  resume(job: HeldLease): void {
    this.forget(job.seq);
    this.adopt(job);
  }

  /** `told`: how far it is; what differs from the last time is progress. */
  heard(job: HeldLease, told?: string): void {
    const time = this.#of(job);
    time.heardAt = this.#listened();
    if (told === undefined || told === time.told) return;
    time.told = told;
    time.progressAt = time.heardAt;
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

  idle(job: HeldLease): Idle {
    const time = this.#of(job);
    const isGuess = this.#progress(time.lane)?.isGuess ?? false;
    return { ms: this.#listened() - time.progressAt, limitMs: this.#limitOf(time), isGuess };
  }

  /** How long the attempt has lasted; undefined where that was not seen from its beginning. */
  ranMs({ seq, fence }: Pick<JobRow, "seq" | "fence">): number | undefined {
    const time = this.#times.get(seq);
    return time?.fence !== fence || time.beganAt === null ? undefined : this.#listened() - time.beganAt;
  }

  /** The attempt's own time comes first: it is known, and a silent holder is only supposed to be gone. */
  whyOver(job: HeldLease): WhyOver | undefined {
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

  #limitOf({ lane, patience }: LeaseTime): number | undefined {
    const usual = this.#progress(lane);
    return usual === undefined ? undefined : usual.ms * patience;
  }

  #whyOver(time: LeaseTime): WhyOver | undefined {
    const { heardAt, progressAt, expiresAt, stopBy } = time;
    const now = this.#listened();
    if (expiresAt <= now) return "expired";
    if (stopBy !== null) return stopBy <= now ? "stopped" : now - heardAt >= this.#silentMs ? "silent" : undefined;
    if (now - heardAt >= this.#silentMs) return "silent";
    return now - progressAt >= (this.#limitOf(time) ?? Number.POSITIVE_INFINITY) ? "stuck" : undefined;
  }
}
