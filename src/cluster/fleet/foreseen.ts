/** What a forecast says about the slots that will be wanted, and when it may be believed. Pure. */
import type { MachineRow } from "./machine.ts";
import type { MachineOffer } from "./provider.port.ts";

export interface Foreseen {
  /** Slots that are there now, and those that are wanted when a machine that is ordered now would be there. */
  readonly slots: number;
  readonly wanted: number;
  /** How far such forecasts were off lately, as a share of what came; null while none was judged. */
  readonly error: number | null;
}

/** One that was off by more than this decides nothing. */
const MAX_ERROR = 0.5;

/** Undefined for a forecast that was not judged yet, or that was too far off lately: then only what waits counts. */
export const believed = (foreseen: Foreseen | undefined): Foreseen | undefined =>
  foreseen === undefined || foreseen.error === null || foreseen.error > MAX_ERROR ? undefined : foreseen;

/** Jobs that a machine does at once, as far as its offer says. */
export const slotsOf = ({ offer }: Pick<MachineRow, "offer">): number =>
  Math.max(1, (JSON.parse(offer) as Partial<MachineOffer>).cpus ?? 1);
