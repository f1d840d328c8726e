import type { JobRow, LeaseRef } from "./job.ts";

/** Why a lease ended without a word of its holder. */
export type LapseReason = "silent" | "stuck" | "expire" | "evict";

/** A lease that lapsed. Its holder may still be at work: if its result is the first, it is the job's. Times are Unix milliseconds. */
export interface EarlierLease {
  readonly fence: number;
  readonly node_id: string;
  readonly attempts: number;
  readonly claimed_at: number | null;
  readonly started_at: number | null;
  /** The attempt may not last longer. */
  readonly expires_at: number | null;
  readonly lapsed_at: number;
  readonly why: LapseReason;
  /** Its result was the first. */
  readonly won?: true;
}

/** So many are remembered; of a job that came back more often, the newest. */
const MAX_EARLIER = 4;

type Row = Pick<JobRow, "earlier">;

export const earlierLeases = ({ earlier }: Row): readonly EarlierLease[] =>
  earlier === null ? [] : (JSON.parse(earlier) as EarlierLease[]);

/** The list with the lease that lapses now. */
export function withLapsed(job: JobRow, why: LapseReason, now: number): string {
  const { fence, node_id, attempts, claimed_at, started_at, expires_at } = job;
  const lapsed = { fence, node_id: node_id!, attempts, claimed_at, started_at, expires_at, lapsed_at: now, why };
  return JSON.stringify([...earlierLeases(job), lapsed satisfies EarlierLease].slice(-MAX_EARLIER));
}

export const earlierLease = (job: Row, ref: LeaseRef): EarlierLease | undefined =>
  job.earlier === null
    ? undefined
    : earlierLeases(job).find(({ fence, node_id }) => fence === ref.fence && node_id === ref.node_id);

/** The list without a lease that is its holder's again. */
export function withoutLease(job: JobRow): string | null {
  const others = earlierLeases(job).filter(({ fence }) => fence !== job.fence);
  return others.length === 0 ? null : JSON.stringify(others);
}

/** The list with the lease whose result was the first. */
export const withWinner = (job: Row, winner: EarlierLease): string =>
  JSON.stringify(earlierLeases(job).map((each) => (each.fence === winner.fence ? { ...each, won: true } : each)));

/** The earlier lease by which a job was completed; undefined where it was the last one, or none. */
export const winnerOf = (job: Row): EarlierLease | undefined => earlierLeases(job).find(({ won }) => won === true);

/** Nodes on which the job made no progress. */
export const stuckOn = (job: Row): string[] =>
  job.earlier === null ? [] : earlierLeases(job).flatMap(({ why, node_id }) => (why === "stuck" ? [node_id] : []));

/** A node that fell silent over a job so often may do such jobs and never bring their results. */
const MAX_SILENCES = 2;

/** Nodes that had the job to no end: it made no progress there, or nothing was heard of it twice. While somebody else could take it, it is theirs no more. */
export function hadInVain(job: Row): string[] {
  const byNode = Map.groupBy(earlierLeases(job), ({ node_id }) => node_id);
  return [...byNode].flatMap(([node, leases]) =>
    leases.some(({ why }) => why === "stuck") || leases.filter(({ why }) => why === "silent").length >= MAX_SILENCES
      ? [node]
      : [],
  );
}
