import fc from "fast-check";
import { expect, test } from "vitest";
import { type Budget, costBetween, dayStart, HOUR_MS, judgeSpending, refusalOf, spentBetween } from "./budget.ts";
import { freshMachine, type MachineRow } from "./machine.ts";

const NOON = Date.UTC(2026, 0, 5, 12);
const machine = (label: string, price: number, changes: Partial<MachineRow> = {}): MachineRow => ({
  ...freshMachine(
    {
      label,
      provider: "somewhere",
      offer: "{}",
      price_usd_hour: price,
      billing_step_ms: 1_000,
      intended_by: "me",
      reason: "",
      deadline_at: NOON + HOUR_MS,
    },
    NOON,
  ),
  state: "active",
  requested_at: NOON,
  machine_id: label,
  ...changes,
});
const budget: Budget = { usdPerHour: 5, usdPerDay: 20 };

test("what is begun of a billing step is paid whole, from the request until it is gone", () => {
  const exact = machine("a", 3.6);
  expect(costBetween(exact, NOON, NOON + 1_500)).toBeCloseTo(0.002, 6);
  const hourly = machine("b", 2, { billing_step_ms: HOUR_MS });
  expect(costBetween(hourly, NOON - HOUR_MS, NOON + 1)).toBe(2);
  expect(costBetween(hourly, NOON - HOUR_MS, NOON + HOUR_MS)).toBe(2);
  expect(costBetween(hourly, NOON - HOUR_MS, NOON + HOUR_MS + 1)).toBe(4);
  expect(costBetween({ ...hourly, ended_at: NOON + 10 }, NOON, NOON + 9 * HOUR_MS)).toBe(2);
});

test("one that was never asked for, or never was, costs nothing", () => {
  expect(costBetween(machine("a", 3, { requested_at: null, state: "intended" }), NOON, NOON + HOUR_MS)).toBe(0);
  const failed = machine("a", 3, { state: "failed", machine_id: null, ended_at: NOON + HOUR_MS });
  expect(costBetween(failed, NOON, NOON + HOUR_MS)).toBe(0);
});

test("what a day cost is the sum of its parts, whatever the steps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4 * HOUR_MS }),
      fc.integer({ min: 0, max: 30 * HOUR_MS }),
      fc.integer({ min: 0, max: 30 * HOUR_MS }),
      (step, cut, lasted) => {
        const row = machine("a", 2, { billing_step_ms: step, ended_at: NOON + lasted });
        const end = NOON + 40 * HOUR_MS;
        const parts = costBetween(row, 0, NOON + cut) + costBetween(row, NOON + cut, end);
        expect(parts).toBeCloseTo(costBetween(row, 0, end), 6);
      },
    ),
  );
});

test("nothing that costs money is rented without a budget, and what is free always may be", () => {
  for (const none of [
    { usdPerHour: 0, usdPerDay: 20 },
    { usdPerHour: 5, usdPerDay: 0 },
  ]) {
    expect(refusalOf([], 0.01, none, NOON)).toMatchObject({ code: "BUDGET_NOT_SET" });
    expect(refusalOf([], 0, none, NOON)).toBeUndefined();
  }
});

test("the rate counts machines that are only wanted, and those on the way out", () => {
  const rows = [machine("a", 2, { state: "intended", requested_at: null }), machine("b", 2, { state: "returning" })];
  expect(refusalOf(rows, 1, budget, NOON)).toBeUndefined();
  expect(refusalOf(rows, 1.01, budget, NOON)).toMatchObject({ code: "BUDGET_HOUR" });
});

test("the day must have money for an hour of everything", () => {
  const rows = [machine("a", 4, { requested_at: NOON - 3 * HOUR_MS })];
  expect(refusalOf(rows, 1, budget, NOON)).toBeUndefined();
  expect(refusalOf(rows, 1, budget, NOON + HOUR_MS)).toMatchObject({ code: "BUDGET_DAY" });
  expect(refusalOf([{ ...rows[0]!, ended_at: NOON, state: "ended" }], 1, budget, NOON)).toBeUndefined();
});

test("when the day's money comes to its end, the dearest go first and the rest stays as long as it lasts", () => {
  const rows = [machine("a", 1), machine("b", 4), machine("c", 0)];
  const after = (hours: number) => judgeSpending(rows, budget, NOON + hours * HOUR_MS);
  expect(after(1)).toMatchObject({ spentUsd: 5, rateUsdHour: 5, isClose: false, mustGo: [] });
  expect(after(3.5)).toMatchObject({ isClose: true, mustGo: [] });
  expect(after(3.76).mustGo.map(({ label }) => label)).toEqual(["b"]);
  expect(after(3.96).mustGo.map(({ label }) => label)).toEqual(["b", "a"]);
});

test("a machine whose next hour falls into the reserve must go before it begins", () => {
  const rows = [machine("a", 15, { billing_step_ms: HOUR_MS })];
  const at = (minutes: number) => judgeSpending(rows, budget, NOON + minutes * 60_000).mustGo.length;
  expect([at(10), at(44), at(46)]).toEqual([0, 0, 1]);
});

test("a new day has its own money", () => {
  const rows = [machine("a", 5, { requested_at: NOON })];
  const midnight = dayStart(NOON) + 24 * HOUR_MS;
  expect(spentBetween(rows, midnight, midnight + HOUR_MS)).toBe(5);
  expect(judgeSpending(rows, budget, midnight + HOUR_MS).mustGo).toEqual([]);
});
