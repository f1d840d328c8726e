/** A row of the ledger. */
import type { LedgerState } from "./ledger-states.ts";
import type { MachineState } from "./provider.port.ts";

/** A machine as it is stored. Times are milliseconds since the epoch. */
export interface MachineRow {
  readonly label: string;
  readonly provider: string;
  /** The offer, as JSON. */
  readonly offer: string;
  /** The most that it may cost; what it does cost, once its provider says more. */
  readonly price_usd_hour: number;
  readonly billing_step_ms: number;
  readonly state: LedgerState;
  readonly state_since: number;
  readonly intended_at: number;
  readonly intended_by: string;
  readonly reason: string;
  /** Until then it has to be a node. */
  readonly deadline_at: number;
  /** When its provider was asked for it: from here on it is paid for. */
  readonly requested_at: number | null;
  readonly machine_id: string | null;
  readonly address: string | null;
  /** When its provider last showed it, and as what. */
  readonly seen_at: number | null;
  readonly seen_state: MachineState | null;
  /** Since when it is missing from lists in which it should be. */
  readonly missing_since: number | null;
  readonly node_id: string | null;
  readonly joined_at: number | null;
  /** Since when it has nothing to do; null while it has. */
  readonly idle_since: number | null;
  readonly return_reason: string | null;
  readonly return_by: string | null;
  /** 1: it goes without waiting for what lies there alone. */
  readonly forced: number;
  /** When its provider last said that it ends it. */
  readonly terminated_at: number | null;
  /** When it was last told to end, and how often in a row it failed to. */
  readonly tried_at: number | null;
  readonly terminate_tries: number;
  readonly ended_at: number | null;
  readonly error: string | null;
}

export type MachineChanges = Partial<Omit<MachineRow, "label" | "provider" | "intended_at">>;

export const freshMachine = (
  row: Pick<
    MachineRow,
    "label" | "provider" | "offer" | "price_usd_hour" | "billing_step_ms" | "intended_by" | "reason" | "deadline_at"
  >,
  now: number,
): MachineRow => ({
  ...row,
  state: "intended",
  state_since: now,
  intended_at: now,
  requested_at: null,
  machine_id: null,
  address: null,
  seen_at: null,
  seen_state: null,
  missing_since: null,
  node_id: null,
  joined_at: null,
  idle_since: null,
  return_reason: null,
  return_by: null,
  forced: 0,
  terminated_at: null,
  tried_at: null,
  terminate_tries: 0,
  ended_at: null,
  error: null,
});
