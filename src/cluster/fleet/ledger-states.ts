/**
 * The life of a row in the ledger. Who moves it stands beside it.
 *
 * intended    nobody was asked yet                          provisioner
 * requested   its provider was asked, or is just being asked: there may be a machine    provisioner
 * starting    its provider shows it                         provisioner
 * active      it has joined as a node                       idle_shutdown
 * draining    it gets no work, and sends home what it has   idle_shutdown
 * returning   it is ended until its provider shows it no more    idle_shutdown
 * ended       it was there, and is gone
 * failed      it never was
 */
export const LEDGER_STATES = [
  "intended",
  "requested",
  "starting",
  "active",
  "draining",
  "returning",
  "ended",
  "failed",
] as const;
export type LedgerState = (typeof LEDGER_STATES)[number];

export const OPEN_STATES: readonly LedgerState[] = LEDGER_STATES.filter(
  (state) => state !== "ended" && state !== "failed",
);

export const isOpen = ({ state }: { readonly state: LedgerState }): boolean => OPEN_STATES.includes(state);

/** Machines that are there to stay, or will be: what a minimum counts. */
export const isStaying = ({ state }: { readonly state: LedgerState }): boolean =>
  isOpen({ state }) && state !== "draining" && state !== "returning";
