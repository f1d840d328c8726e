/**
 * Where machines come from: processes beside us, hosts of our own, a batch system, a cloud. One provider is one account.
 *
 * A provider makes, lists and ends machines, and judges nothing: what is bought, kept and returned is decided from the ledger
 * (`decide.ts`). It may fail at any moment, also after it did what was asked. So an error says whether something may have been made
 * (`madeNothing`), a list is whole or an error, and what a provider says in words that we do not know is `unknown`, never gone.
 */
import type { NodeStart } from "./node-start.ts";

/** How a machine is, in our words. Whatever is not `gone` may cost money. */
export const MACHINE_STATES = ["starting", "running", "stopped", "ending", "gone", "unknown"] as const;
export type MachineState = (typeof MACHINE_STATES)[number];

/** A machine as its provider shows it. */
export interface Machine {
  /** The provider's own name for it; what `terminate` is asked for. */
  readonly machine_id: string;
  /** The label that it was made with; null for one that has none. */
  readonly label: string | null;
  readonly state: MachineState;
  /** The provider's own word for its state. */
  readonly said: string;
  /** What it costs, where its provider says so. */
  readonly price_usd_hour: number | null;
  readonly address: string | null;
}

/** Something that can be rented now. */
export interface MachineOffer {
  /** What `create` is asked for. */
  readonly offer_id: string;
  readonly region: string | null;
  readonly cpus: number;
  readonly memory_gb: number;
  readonly gpus: number;
  readonly gpu_name: string | null;
  readonly gpu_memory_gb: number;
  readonly price_usd_hour: number;
  /** How many there are; null where the provider does not say. */
  readonly available: number | null;
}

export interface MachineOrder {
  /** The machine bears it from its first moment on: by it, and by it alone, we know it for ours. */
  readonly label: string;
  readonly offer: MachineOffer;
  /** Above it nothing is rented, whatever the offer said before. */
  readonly max_price_usd_hour: number;
  /** How it becomes a node. */
  readonly start: NodeStart;
}

export interface MachineProvider {
  /** Short and stable: it stands in the ledger and in events. */
  readonly name: string;
  /** Its machines reach the coordinator over the network; false for processes beside it. */
  readonly isRemote: boolean;
  /** What is begun of so much time is paid whole: 3,600,000 for a provider that bills by the hour. */
  readonly billingStepMs: number;
  /** Why nothing is rented there, of one that is only shown: its offers can be compared, and are never taken. */
  readonly notRented?: string;
  /** What can be rented now, and for how much. */
  offers(signal: AbortSignal): Promise<readonly MachineOffer[]>;
  /** All machines of the account, also those of others: whole, or an error. */
  list(signal: AbortSignal): Promise<readonly Machine[]>;
  /**
   * Rents one machine, once: whoever has to try again asks `list` first. It is ours as soon as it exists. Where it fails after
   * something was made, and knows what, the error names it (`machineIdOf`).
   */
  create(order: MachineOrder, signal: AbortSignal): Promise<Machine>;
  /** Ends a machine for good, with everything that is paid for it. One that is gone already is no error; twice is once. */
  terminate(machineId: string, signal: AbortSignal): Promise<void>;
  /** Starts it anew; providers that cannot have none. */
  reboot?(machineId: string, signal: AbortSignal): Promise<void>;
  close?(): Promise<void>;
}
