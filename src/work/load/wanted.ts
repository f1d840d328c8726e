/** How many machines the work of the next minutes and hours needs: pure, for whoever rents them and gives them back. */
import { BIN_MS, type ForecastBin } from "./forecast.ts";

export const wantedPolicyDefaults = {
  /** What waits should be done within this. */
  drainMs: 600_000,
  /** How long a machine takes from the order to its first job. */
  bootMs: 420_000,
  /** One is given back only if it is not needed again within this. */
  holdMs: 1_800_000,
  /** Share of a machine that is filled: work comes unevenly. */
  fill: 0.95,
  /** So much of a machine is no reason for one more. */
  rounding: 0.1,
};
export type WantedPolicy = typeof wantedPolicyDefaults;

export interface Need {
  readonly now: number;
  readonly ahead: readonly ForecastBin[];
  /** Work that came lately, in milliseconds of work in a millisecond. */
  readonly rate: number;
  readonly waitingWork: number;
  /** Jobs that wait or are under way. */
  readonly jobs: number;
  /** What one machine does, in milliseconds of work in a millisecond, and how many jobs at once. */
  readonly machineRate: number;
  readonly machineSlots: number;
  /** Those that there are, and those of them that are on their way. */
  readonly machines: number;
  readonly booting: number;
}

/** Work in a millisecond that is foreseen for a time. */
const rateAt = (ahead: readonly ForecastBin[], at: number): number =>
  (ahead.find((bin) => at < bin.at + BIN_MS) ?? ahead.at(-1))?.work ?? 0;

/**
 * Those that are needed when one that is ordered now would be there: for what is foreseen, and for what waits. What came lately counts
 * only as far as there are jobs to show for it, so that nothing is kept for a flood that is over.
 */
export function wantedMachines(need: Need, policy: WantedPolicy = wantedPolicyDefaults): number {
  const { now, ahead, rate, waitingWork, jobs, machineRate, machineSlots, machines, booting } = need;
  if (!(machineRate > 0) || !(machineSlots > 0)) return machines;
  const machinesFor = (workRate: number) => workRate / (machineRate * policy.fill);
  const foreseen = (atMs: number) => rateAt(ahead, now + atMs) / BIN_MS;
  // What is left by then of what waits: those that are there do their part until then.
  const spare = Math.max(0, (machines - booting) * machineRate - rate);
  const left = Math.max(0, waitingWork - spare * policy.bootMs);
  const shown = Math.min(machinesFor(rate + left / policy.drainMs), jobs / machineSlots);
  const wanted = Math.ceil(Math.max(machinesFor(foreseen(policy.bootMs)), shown) - policy.rounding);
  if (wanted >= machines) return wanted;
  // Fewer would do: but not if as many are needed again before it was worth it to give them back.
  const again = Math.max(foreseen(policy.holdMs / 2), foreseen(policy.holdMs));
  return Math.min(machines, Math.max(wanted, Math.ceil(machinesFor(again) - policy.rounding)));
}
