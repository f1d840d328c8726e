import { type JobRow, NO_ATTEMPT } from "../job/job.ts";
import type { Lane } from "../job/needs.ts";
import type { Lanes } from "./lanes.ts";
import type { Plan } from "./plan.ts";

/** What is not known of every job that waits: the less is read, the more claims go through. */
type Waiting = Omit<JobRow, keyof typeof NO_ATTEMPT | "lane" | "urgency" | "state">;
const PENDING = `SELECT seq, rev, cost, timeout_ms, max_attempts, attempts, returns, fence, ready_at, deadline, earlier
  FROM work_jobs WHERE state = 'pending' AND lane = ? AND urgency = ? AND seq > ? ORDER BY seq LIMIT ?`;

/** The waiting jobs of one lane and class, oldest first, read a few at a time. */
export class Line {
  readonly lane: Lane;
  readonly #level: number;
  readonly #plan: Plan;
  readonly #lanes: Lanes;
  readonly #chunk: number;
  #rows: JobRow[] = [];
  #at = 0;
  #after = 0;
  #dry = false;

  constructor(plan: Plan, lanes: Lanes, lane: Lane, level: number, chunk: number) {
    this.#plan = plan;
    this.#lanes = lanes;
    this.lane = lane;
    this.#level = level;
    this.#chunk = chunk;
  }

  /** The first that this claim may have; those that it passes over stay for others. */
  peek(passesOver: (job: JobRow, lane: Lane) => boolean): JobRow | undefined {
    for (;;) {
      while (this.#at < this.#rows.length) {
        const row = this.#rows[this.#at]!;
        if (this.#plan.found(row) === undefined) this.#at += 1;
        else if (row.earlier !== null && passesOver(row, this.lane)) return this.#behind(passesOver);
        else return row;
      }
      if (!this.#read()) return undefined;
    }
  }

  take(job: JobRow): void {
    if (this.#rows[this.#at]?.seq === job.seq) this.#at += 1;
    else this.#rows = this.#rows.filter(({ seq }) => seq !== job.seq);
  }

  /** The first behind the front one: rows that were read stay where they are, for those who may have the front one. */
  #behind(passesOver: (job: JobRow, lane: Lane) => boolean): JobRow | undefined {
    for (let at = this.#at + 1; ; at += 1) {
      const row = this.#rows[at];
      if (row === undefined) {
        const front = this.#rows.slice(this.#at);
        if (!this.#read()) return undefined;
        this.#rows = [...front, ...this.#rows];
        at = front.length - 1;
      } else if (this.#plan.found(row) !== undefined && (row.earlier === null || !passesOver(row, this.lane)))
        return row;
    }
  }

  /** The next few; false when there are none. */
  #read(): boolean {
    if (this.#dry) return false;
    this.#rows = this.#plan
      .read<Waiting>(PENDING, this.lane.lane, this.#level, this.#after, this.#chunk)
      .map((row) => ({ ...NO_ATTEMPT, ...row, lane: this.lane.lane, urgency: this.#level, state: "pending" }));
    this.#at = 0;
    if (this.#rows.length === 0 && this.#after === 0) this.#lanes.empty(this.lane.lane, this.#level);
    this.#after = this.#rows.at(-1)?.seq ?? this.#after;
    this.#dry = this.#rows.length < this.#chunk;
    return true;
  }
}
