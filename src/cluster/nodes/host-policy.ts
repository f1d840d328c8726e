/** What the operators of a host allow: kinds of work that it never gets, how many jobs at once, and how far repairs may go. */
import { REPAIRS, type Repair, type Rung } from "../recovery/rungs.ts";

export interface HostPolicy {
  readonly except_kinds: readonly string[];
  /** Null: as many as it has room for. */
  readonly max_jobs: number | null;
  /** The hardest step that may be used on it. */
  readonly repair: Repair;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly by: string;
}

export const hostPolicyIn = (row: { readonly policy: string | null } | undefined): HostPolicy | null =>
  row === undefined || row.policy === null ? null : (JSON.parse(row.policy) as HostPolicy);

const isRepair = (rung: Rung): rung is Rung & Repair => (REPAIRS as readonly string[]).includes(rung);

/** Whether this step may be used on a host; those that end nothing always may. */
export const allowsRung = (repair: Repair, rung: Rung): boolean =>
  !isRepair(rung) || REPAIRS.indexOf(rung) <= REPAIRS.indexOf(repair);
