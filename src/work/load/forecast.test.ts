import { expect, test } from "vitest";
import { BIN_MS, beginForecast, type ForecastState, forecastErrors, forecastOf, noteWork } from "./forecast.ts";
import { wantedMachines } from "./wanted.ts";

const MINUTE = 60_000;
const DAY_MS = 86_400_000;
const START = 20_000 * DAY_MS;

/** What came minute by minute for so long, as `perMinute` says. */
function fed(perMinute: (now: number) => number, fromMs: number, lengthMs: number, before = beginForecast(fromMs)) {
  let state: ForecastState = before;
  for (let now = fromMs; now < fromMs + lengthMs; now += MINUTE) state = noteWork(state, now, perMinute(now));
  return state;
}
const floods = (now: number) => ((now % DAY_MS) % 10_800_000 < 3_600_000 ? 1_000 : 100);

test("a steady stream goes on", () => {
  const state = fed(() => 1_000, START, 6 * 3_600_000);
  for (const { work } of forecastOf(state).slice(0, 8)) expect(work).toBeCloseTo(15_000, 0);
  expect(forecastErrors(state)[0]!.error).toBeLessThan(0.1);
});

test("what comes every day at this time is foreseen before it comes", () => {
  const state = fed(floods, START, 3 * DAY_MS + 10_800_000 - 1_800_000);
  // Half an hour before the next flood: two quarters of little, then four of much.
  const next = forecastOf(state).slice(0, 8);
  const share = (n: number) => next[n]!.work / 15_000;
  expect(share(0)).toBeLessThan(0.3);
  expect(share(3)).toBeGreaterThan(0.6);
  const errors = forecastErrors(state);
  expect(errors[0]!.error).toBeLessThan(0.3);
});

test("its error is what it was off by, and grows when a habit ends", () => {
  const usual = fed(floods, START, 4 * DAY_MS);
  const before = forecastErrors(usual)[0]!.error!;
  const other = fed((now) => floods(now + 5_400_000), START + 4 * DAY_MS, DAY_MS / 2, usual);
  expect(forecastErrors(other)[0]!.error!).toBeGreaterThan(1.5 * before);
});

test("nothing is known at first, and what is planned counts all the same", () => {
  const state = beginForecast(START);
  expect(forecastErrors(state).map(({ error }) => error)).toEqual([null, null]);
  const ahead = forecastOf(state, 8_000);
  expect(ahead.slice(0, 5).map(({ work }) => work)).toEqual([2_000, 2_000, 2_000, 2_000, 0]);
  expect(ahead[0]!.at % BIN_MS).toBe(0);
});

test("a pause longer than all that is remembered, or a clock set far back, begins anew; odd numbers count as nothing", () => {
  const state = fed(() => 1_000, START, DAY_MS);
  expect(noteWork(state, START + 30 * DAY_MS, 5).work).toEqual([5]);
  expect(noteWork(state, START, 5).work).toEqual([5]);
  const now = START + DAY_MS - MINUTE;
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, -1])
    expect(noteWork(state, now, odd).work.at(-1)).toBe(state.work.at(-1));
  expect(fed(() => 1, START, 10 * DAY_MS).work.length).toBeLessThanOrEqual(7 * 96);
});

test("machines are wanted before the flood, kept while it lasts, and not kept for one that is over", () => {
  const quiet = { now: START, rate: 0.1, waitingWork: 0, jobs: 1, machineRate: 5, machineSlots: 6, booting: 0 };
  const bins = (...rates: number[]) => rates.map((rate, n) => ({ at: START + n * BIN_MS, work: rate * BIN_MS }));
  expect(wantedMachines({ ...quiet, ahead: bins(1, 1, 1), machines: 2 })).toBe(1);
  expect(wantedMachines({ ...quiet, now: START + 600_000, ahead: bins(1, 40, 40), machines: 2 })).toBe(9);
  const flood = { ...quiet, rate: 40, jobs: 60 };
  expect(wantedMachines({ ...flood, ahead: bins(40, 40, 40), machines: 9 })).toBe(9);
  // It still looks like one by what came lately; but hardly a job is left of it.
  expect(wantedMachines({ ...flood, jobs: 3, ahead: bins(1, 1, 1), machines: 9 })).toBe(1);
  // Soon needed again: none is given back for a quarter of an hour.
  expect(wantedMachines({ ...quiet, ahead: bins(1, 40, 40), machines: 9 })).toBe(9);
  expect(wantedMachines({ ...quiet, machineRate: 0, ahead: bins(40), machines: 3 })).toBe(3);
});
