/** What fails, by kind and cause: a hundred jobs that fail alike are one line to read. Pure. */
import { fingerprintOf } from "../router/index.ts";
import type { JobView } from "./views.ts";

/** Nodes that are named of one cause. */
const MAX_NODES = 20;

/** Jobs that failed alike. Times are milliseconds since the epoch. */
export interface FailureGroup {
  readonly work_type: string;
  readonly error_code: string | null;
  /** Of the newest. */
  readonly error: string;
  readonly jobs: number;
  readonly first_at: number;
  readonly last_at: number;
  /** Where they failed, by id. */
  readonly nodes: readonly string[];
  /** The newest: its standard error tells most. */
  readonly work_id: string;
}

const failedAt = ({ finished_at, claimed_at, queued_at }: JobView): number => finished_at ?? claimed_at ?? queued_at;

/** Most jobs first. */
export function failureGroups(jobs: readonly JobView[]): FailureGroup[] {
  const failed = jobs.flatMap((job) => (job.failure === null ? [] : [{ job, failure: job.failure }]));
  const alike = Map.groupBy(
    failed,
    ({ job, failure }) => `${job.work_type} ${failure.error_code ?? ""} ${fingerprintOf(failure.error)}`,
  );
  return [...alike.values()]
    .map((group): FailureGroup => {
      const times = group.map(({ job }) => failedAt(job));
      const newest = group.reduce((a, b) => (failedAt(b.job) > failedAt(a.job) ? b : a));
      const nodes = new Set(group.flatMap(({ job }) => job.node_id ?? []));
      return {
        work_type: newest.job.work_type,
        error_code: newest.failure.error_code,
        error: newest.failure.error,
        jobs: group.length,
        first_at: Math.min(...times),
        last_at: Math.max(...times),
        nodes: [...nodes].sort().slice(0, MAX_NODES),
        work_id: newest.job.work_id,
      };
    })
    .sort((a, b) => b.jobs - a.jobs || b.last_at - a.last_at);
}
