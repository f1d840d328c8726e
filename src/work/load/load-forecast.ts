/** What the queue has had to do and will have to do, as it is kept and as it is shown. */
import { defineTable, type Store } from "../../router/index.ts";
import type { Lanes } from "../queue/lanes.ts";
import { BIN_MS, type ForecastState, forecastErrors, forecastOf } from "./forecast.ts";
import { wantedMachines } from "./wanted.ts";

/** Up to which job what came is counted, and what came; one row, kept by `utilization_optimizer`. */
export type LoadForecastRow = { readonly seq: number; readonly state: ForecastState };
export const loadForecasts = defineTable<LoadForecastRow>("work_load_forecast");

export interface JobsOfSort {
  readonly workType: string;
  readonly configKey: string | null;
  readonly jobs: number;
}

/** Jobs that were added after one, by kind and config; none, before the first look. Read on another thread. */
export async function jobsAfter(
  store: Pick<Store, "scan">,
  lanes: Lanes,
  seq: number | null,
  newest: number,
  signal?: AbortSignal,
): Promise<{ readonly seq: number; readonly sorts: readonly JobsOfSort[] }> {
  if (seq === null || seq >= newest) return { seq: newest, sorts: [] };
  const rows = await store.scan<{ lane: number; jobs: number }>(
    "SELECT lane, count(*) AS jobs FROM work_jobs WHERE seq > ? AND seq <= ? GROUP BY lane",
    [seq, newest],
    signal,
  );
  const sorts = rows.map(({ lane, jobs }) => {
    const { workType, configKey } = lanes.get(lane);
    return { workType, configKey, jobs };
  });
  return { seq: newest, sorts };
}

/** Their work, in milliseconds that such jobs usually take. */
export const addedWork = (sorts: readonly JobsOfSort[], usualMs: (sort: JobsOfSort) => number): number =>
  sorts.reduce((sum, sort) => sum + sort.jobs * usualMs(sort), 0);

/** Slots that the work of a time fills. */
const HOUR_BINS = 3_600_000 / BIN_MS;

export interface LoadForecast {
  /** Slots that are filled on average in each hour from now on. */
  readonly hours: readonly { readonly at: number; readonly slots: number }[];
  /** How far forecasts were off lately, as a share of what came. */
  readonly errors: readonly { readonly ahead_seconds: number; readonly error: number | null }[];
  /** Slots that what waits now would fill for an hour. */
  readonly waiting_slots: number;
  readonly planned_slots: number;
  /** Slots that are there, and those that are wanted when a machine that is ordered now would be there. */
  readonly slots: number;
  readonly wanted_slots: number;
}

const HOUR_MS = 3_600_000;

export function loadForecastOf(
  state: ForecastState | undefined,
  facts: {
    readonly waitingWork: number;
    readonly plannedWork: number;
    readonly slots: number;
    readonly jobs: number;
    readonly now: number;
  },
): LoadForecast {
  const bins = state === undefined ? [] : forecastOf(state, facts.plannedWork);
  const hours = Array.from({ length: Math.floor(bins.length / HOUR_BINS) }, (_, hour) => {
    const within = bins.slice(hour * HOUR_BINS, (hour + 1) * HOUR_BINS);
    return { at: within[0]!.at, slots: within.reduce((sum, { work }) => sum + work, 0) / HOUR_MS };
  });
  return {
    hours,
    errors: state === undefined ? [] : forecastErrors(state),
    waiting_slots: facts.waitingWork / HOUR_MS,
    planned_slots: facts.plannedWork / HOUR_MS,
    slots: facts.slots,
    wanted_slots: wantedMachines({
      ...{ now: facts.now, ahead: bins, waitingWork: facts.waitingWork, jobs: facts.jobs },
      // A slot is a machine that does one job at a time, as fast as usual.
      ...{ machineRate: 1, machineSlots: 1, machines: facts.slots, booting: 0 },
      rate: (state?.work.at(-2) ?? 0) / BIN_MS,
    }),
  };
}

export const storedForecast = (store: Pick<Store, "read">): ForecastState | undefined => {
  const [row] = store.read<{ value: string }>(
    "SELECT value FROM state_rows WHERE table_name = ? AND key = 'all'",
    loadForecasts.table,
  );
  return row === undefined ? undefined : (JSON.parse(row.value) as LoadForecastRow).state;
};
