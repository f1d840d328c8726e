import type { Edges } from "../../kernel/index.ts";
import type { Admission } from "./admission.ts";
import type { ArtifactPort, ExecutorPort, QueuePort } from "./ports.ts";
import type { Spool } from "./spool.ts";

export interface WorkerOptions extends Edges {
  readonly queue: QueuePort;
  readonly executor: ExecutorPort;
  readonly artifacts: ArtifactPort;
  readonly admission: Admission;
  readonly spool: Spool;
  readonly timing: WorkerTiming;
  /** Results that may wait to be taken; while there are more, nothing new is claimed. */
  readonly maxWaiting?: number;
}

export const workerTimingDefaults = {
  /** Between two beats at most; a short lease is beaten more often. */
  beatMs: 10_000,
  /** How long a claim may be kept open. */
  waitSeconds: 20,
  /** Between two claims that brought nothing. */
  idleMs: 1_000,
  /** What running jobs have at a shutdown; after it they are given back. */
  graceMs: 60_000,
  /** After the jobs have ended: for results to be taken before the process goes. */
  flushMs: 10_000,
};
export type WorkerTiming = typeof workerTimingDefaults;

export interface WorkerCounts {
  claimed: number;
  completed: number;
  failed: number;
  released: number;
  /** Leases that somebody else has by now, and results that were refused. */
  lost: number;
  cancelled: number;
}
