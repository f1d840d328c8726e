/**
 * Three days of load that were written down before any policy: the shipped forecast and climb beside a fixed policy, on seeds that
 * neither was tried with. It fails unless jobs are done sooner on every trace, on fewer machine-hours in all.
 */
import { steeredPolicy } from "../simulation/load/steered-policy.ts";
import { type DayFigures, fixedPolicy, meanFigures, simulateLoad, TRACES } from "../simulation/load/world.ts";

export interface LoadOptions {
  readonly from?: number;
  readonly seeds?: number;
}
export const tiny: LoadOptions = { seeds: 2 };

/** One day differs from the next by more than policies do: with fewer days the figures are shown, and nothing is judged. */
const MIN_SEEDS = 10;

const shown = ({ meanSeconds, waitP90Seconds, machineHours, rented, regretted, slotChanges }: DayFigures) => ({
  mean_seconds: Math.round(meanSeconds),
  wait_p90_seconds: Math.round(waitP90Seconds),
  machine_hours: Math.round(machineHours * 10) / 10,
  rented: Math.round(rented * 10) / 10,
  regretted: Math.round(regretted * 10) / 10,
  slot_changes_per_machine_hour: Math.round(slotChanges * 100) / 100,
});

export async function run({ from = 101, seeds = 20 }: LoadOptions = {}) {
  const all = Array.from({ length: seeds }, (_, n) => from + n);
  const days = TRACES.map((trace) => {
    let error: number | null = null;
    const steered = all.map((seed) => {
      const { policy, errors } = steeredPolicy();
      const figures = simulateLoad(trace, seed, policy);
      error = errors()[0]!.error;
      return figures;
    });
    const fixed = all.map((seed) => simulateLoad(trace, seed, fixedPolicy()));
    return { trace, fixed: meanFigures(fixed), steered: meanFigures(steered), error };
  });
  const hours = (policy: "fixed" | "steered") => days.reduce((sum, day) => sum + day[policy].machineHours, 0);
  const later = days.filter(({ fixed, steered }) => steered.meanSeconds >= fixed.meanSeconds);
  const isTold = seeds >= MIN_SEEDS;
  if (isTold && later.length > 0) throw new Error(`not sooner: ${later.map(({ trace }) => trace).join(", ")}`);
  if (isTold && hours("steered") >= hours("fixed"))
    throw new Error(`more machine-hours: ${hours("steered")} instead of ${hours("fixed")}`);
  return Object.fromEntries(
    days.map(({ trace, fixed, steered, error }) => [
      trace,
      { fixed: shown(fixed), steered: shown(steered), forecast_error_one_hour: error },
    ]),
  );
}
