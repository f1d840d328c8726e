/** The shipped forecast and climb, as a policy of the simulated fleet. */
import {
  beginForecast,
  type ForecastBin,
  type ForecastState,
  forecastErrors,
  forecastOf,
  noteWork,
} from "../../../src/work/load/forecast.ts";
import { wantedMachines } from "../../../src/work/load/wanted.ts";
import { beginClimb, type ClimbState, nextClimb } from "../../../src/work/units/utilization-optimizer/climb.ts";
import type { LoadPolicy, SeenMachine } from "./world.ts";

const SECOND = 1_000;
const SOON_BINS = 4;
/** Of a fleet of which nothing was measured yet. */
const UNKNOWN_RATE = 5;

export function steeredPolicy() {
  const climbs = new Map<number, ClimbState>();
  let forecast: ForecastState = beginForecast(0);
  let ahead: { readonly bin: number; readonly bins: readonly ForecastBin[] } = { bin: -1, bins: [] };
  let lastMs = 0;
  let recentRate = 0;

  const climb = ({ id, cpus, slots, held, doneJobs, doneWork }: SeenMachine, now: number, elapsedMs: number) => {
    const before = climbs.get(id) ?? beginClimb(cpus);
    const sample = { now, elapsedMs, held, max: cpus, doneJobs, doneWork: doneWork * SECOND };
    const next = nextClimb(before, sample, slots);
    climbs.set(id, next);
    return next;
  };

  const policy: LoadPolicy = ({ atSeconds, machines, booting, waiting, waitingWork, addedWork }) => {
    const now = atSeconds * SECOND;
    const elapsedMs = now - lastMs;
    lastMs = now;
    const states = machines.map((machine) => climb(machine, now, elapsedMs));
    forecast = noteWork(forecast, now, addedWork * SECOND);
    // It follows from whole bins alone.
    if (ahead.bin !== forecast.bin) ahead = { bin: forecast.bin, bins: forecastOf(forecast, 0, SOON_BINS) };
    if (elapsedMs > 0) recentRate += 0.04 * ((addedWork * SECOND) / elapsedMs - recentRate);
    const rates = states.flatMap(({ bestRate }) => bestRate ?? []);
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const wanted = wantedMachines({
      now,
      ahead: ahead.bins,
      rate: recentRate,
      waitingWork: waitingWork * SECOND,
      jobs: waiting + machines.reduce((sum, { held }) => sum + held, 0),
      machineRate: rates.length === 0 ? UNKNOWN_RATE : mean(rates),
      machineSlots: mean(states.map(({ best }) => best)),
      machines: machines.length + booting,
      booting,
    });
    return { machines: wanted, slots: new Map(machines.map(({ id }, n) => [id, states[n]!.slots])) };
  };
  return { policy, errors: () => forecastErrors(forecast) };
}
