import type { JobRow } from "./job.ts";
import type { LaneBook } from "./lane-book.ts";
import type { Lane } from "./needs.ts";
import type { Plan } from "./plan.ts";

/** What is not known of every job that waits: the less is read, the more claims go through. */
type Waiting = Pick<
  JobRow,
  "seq" | "rev" | "cost" | "timeout_ms" | "max_attempts" | "attempts" | "returns" | "fence" | "ready_at" | "deadline"
>;
const PENDING = `SELECT seq, rev, cost, timeout_ms, max_attempts, attempts, returns, fence, ready_at, deadline
  FROM work_jobs WHERE state = 'pending' AND lane = ? AND urgency = ? AND seq > ? ORDER BY seq LIMIT ?`;

/** Of the attempt before, if there was one, nothing stays. */
const pendingJob = (row: Waiting, lane: number, urgency: number): JobRow => ({
  seq: row.seq,
  rev: row.rev,
  lane,
  urgency,
  state: "pending",
  cost: row.cost,
  timeout_ms: row.timeout_ms,
  max_attempts: row.max_attempts,
  attempts: row.attempts,
  returns: row.returns,
  fence: row.fence,
  ready_at: row.ready_at,
  deadline: row.deadline,
  node_id: null,
  claimed_at: null,
  started_at: null,
  beat_by: null,
  expires_at: null,
  progress: null,
  stop_reason: null,
  stop_by: null,
  lapsed_attempts: null,
  unheard: null,
});

/** The waiting jobs of one lane and class, oldest first, read a few at a time. */
export class Line {
  readonly lane: Lane;
  readonly #level: number;
  readonly #plan: Plan;
  readonly #lanes: LaneBook;
  readonly #chunk: number;
  #rows: JobRow[] = [];
  #at = 0;
  #after = 0;
  #dry = false;

  constructor(plan: Plan, lanes: LaneBook, lane: Lane, level: number, chunk: number) {
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
        .map((row) => pendingJob(row, this.lane.lane, this.#level));
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
