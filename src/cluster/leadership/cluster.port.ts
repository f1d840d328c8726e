/** What a coordinator that is one of several lets others see and do. */
import type { LeaseTiming } from "./decide.ts";
import type { ClusterView, RowsCheck } from "./members.ts";

/** A copy of the database at one entry of the log, as a file that is gone once it was read. */
export interface ClusterSnapshot {
  readonly cluster: string;
  readonly generation: number;
  readonly seq: number;
  readonly term: number;
  readonly chain: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

export interface ClusterPort {
  view(): ClusterView;
  /** Whether this process may act outside of the database as the leader. */
  isTrusted(): boolean;
  /** For how long it may still do so unless its lease is renewed, in milliseconds; less than 0 once that is over. */
  trustedForMs(): number;
  readonly timing: LeaseTiming;
  /** Hands the lead to this member, or to whoever is first. */
  stepDown(to: string | undefined, reason: string): Promise<void>;
  /** Every replica writes down what its rows come to at one entry; gives what they come to here. */
  verify(): Promise<RowsCheck>;
  snapshot(): Promise<ClusterSnapshot>;
  /** The log need not have entries up to this number any more. */
  forget(upTo: number): Promise<void>;
}
