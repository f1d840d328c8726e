import { type JobRow, NO_ATTEMPT } from "./job.ts";
import type { Lanes } from "./lanes.ts";
import type { Lane } from "./needs.ts";
import type { Plan } from "./plan.ts";

/** What is not known of every job that waits: the less is read, the more claims go through. */
type Waiting = Omit<JobRow, keyof typeof NO_ATTEMPT | "lane" | "urgency" | "state">;
const PENDING = `SELECT seq, rev, cost, timeout_ms, max_attempts, attempts, returns, fence, ready_at, deadline
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

  peek(): JobRow | undefined {
    for (;;) {
      while (this.#at < this.#rows.length) {
        const row = this.#rows[this.#at]!;
        if (this.#plan.found(row) !== undefined) return row;
        this.#at += 1;
      }
      if (this.#dry) return undefined;
      this.#rows = this.#plan
        .read<Waiting>(PENDING, this.lane.lane, this.#level, this.#after, this.#chunk)
        .map((row) => ({ ...NO_ATTEMPT, ...row, lane: this.lane.lane, urgency: this.#level, state: "pending" }));
      this.#at = 0;
      if (this.#rows.length === 0 && this.#after === 0) this.#lanes.empty(this.lane.lane, this.#level);
      this.#after = this.#rows.at(-1)?.seq ?? this.#after;
      this.#dry = this.#rows.length < this.#chunk;
    }
  }

  take(): void {
    this.#at += 1;
  }
}
