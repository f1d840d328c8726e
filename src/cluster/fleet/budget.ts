/** Money: what was spent, what runs, and whether one more machine may be rented. Pure. */
import { sumOf } from "../../kernel/index.ts";
import { isOpen } from "./ledger-states.ts";
import { budgetLimits } from "./limits.ts";
import type { MachineRow } from "./machine.ts";

/** What a person allowed, in US dollars. 0 allows nothing that costs money. */
export interface Budget {
  readonly usdPerHour: number;
  readonly usdPerDay: number;
}

export const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The day of the budget begins at midnight UTC. */
export const dayStart = (now: number): number => Math.floor(now / DAY_MS) * DAY_MS;

type Billed = Pick<
  MachineRow,
  "price_usd_hour" | "billing_step_ms" | "requested_at" | "machine_id" | "state" | "ended_at"
>;

/** What a machine has cost until then: from the moment at which its provider was asked, what is begun of a step counts whole. */
function costUntil(row: Billed, until: number): number {
  const { requested_at: from, ended_at, machine_id, state, billing_step_ms: step, price_usd_hour } = row;
  if (from === null) return 0;
  // It never was; what comes to light later opens its row again.
  if (state === "failed" && machine_id === null) return 0;
  const lastedMs = Math.min(until, ended_at ?? until) - from;
  if (lastedMs <= 0) return 0;
  return (price_usd_hour * Math.ceil(lastedMs / step) * step) / HOUR_MS;
}

export const costBetween = (row: Billed, from: number, to: number): number => costUntil(row, to) - costUntil(row, from);

export const spentBetween = (rows: readonly Billed[], from: number, to: number): number =>
  sumOf(rows, (row) => costBetween(row, from, to));

/** What an open machine will cost from now until then, if it stays. One that was only wanted so far begins now. */
const toCome = (row: Billed, now: number, until: number): number =>
  isOpen(row) ? costBetween(row.requested_at === null ? { ...row, requested_at: now } : row, now, until) : 0;

/** What all machines that are open cost in an hour, those that are only wanted as well. */
export const rateOf = (rows: readonly Billed[]): number => sumOf(rows, (row) => (isOpen(row) ? row.price_usd_hour : 0));

export interface BudgetRefusal {
  readonly code: "BUDGET_NOT_SET" | "BUDGET_HOUR" | "BUDGET_DAY";
  readonly message: string;
  readonly hint: string;
  readonly details: Readonly<Record<string, number>>;
}

const usd = (amount: number): string => `${amount.toFixed(2)} USD`;

/** Why nothing of this price may be rented now; undefined if it may. What costs nothing always may. */
export function refusalOf(
  rows: readonly Billed[],
  priceUsdHour: number,
  { usdPerHour, usdPerDay }: Budget,
  now: number,
): BudgetRefusal | undefined {
  if (priceUsdHour === 0) return undefined;
  const rate = rateOf(rows) + priceUsdHour;
  const spent = spentBetween(rows, dayStart(now), now);
  const details = { price_usd_hour: priceUsdHour, rate_usd_hour: rate, spent_usd: spent, usdPerHour, usdPerDay };
  const hint = "Set fleet.budget_per_hour and fleet.budget_per_day, in US dollars.";
  if (usdPerHour <= 0 || usdPerDay <= 0)
    return {
      code: "BUDGET_NOT_SET",
      message: "nothing is rented without a budget for an hour and for a day",
      hint,
      details,
    };
  if (rate > usdPerHour)
    return {
      code: "BUDGET_HOUR",
      message: `with it the fleet would cost ${usd(rate)} an hour, and ${usd(usdPerHour)} are allowed`,
      hint,
      details,
    };
  const until = now + budgetLimits.roomMs;
  const needed = spent + sumOf(rows, (row) => toCome(row, now, until)) + (priceUsdHour * budgetLimits.roomMs) / HOUR_MS;
  if (needed > usdPerDay)
    return {
      code: "BUDGET_DAY",
      message: `${usd(spent)} are spent today; with it an hour more comes to ${usd(needed)}, and ${usd(usdPerDay)} are allowed a day`,
      hint,
      details,
    };
  return undefined;
}

export interface Spending {
  readonly spentUsd: number;
  readonly rateUsdHour: number;
  /** Most of the day's money is spent: somebody is told. */
  readonly isClose: boolean;
  /** Machines that must go, dearest first, so that the rest stays within the day's money. */
  readonly mustGo: readonly MachineRow[];
}

/** How the money stands, and who must go so that it lasts. */
export function judgeSpending(rows: readonly MachineRow[], { usdPerDay }: Budget, now: number): Spending {
  const spentUsd = spentBetween(rows, dayStart(now), now);
  // The reserve is what it costs to bring everything home and to end it.
  const until = Math.min(now + budgetLimits.reserveMs, dayStart(now) + DAY_MS);
  const coming = rows
    .map((row) => ({ row, usd: toCome(row, now, until) }))
    .filter(({ usd }) => usd > 0)
    .toSorted((a, b) => b.row.price_usd_hour - a.row.price_usd_hour || (a.row.label < b.row.label ? -1 : 1));
  const mustGo: MachineRow[] = [];
  let comes = sumOf(coming, ({ usd }) => usd);
  for (const { row, usd } of coming) {
    if (usdPerDay <= 0 || spentUsd + comes < usdPerDay) break;
    mustGo.push(row);
    comes -= usd;
  }
  return {
    spentUsd,
    rateUsdHour: rateOf(rows),
    isClose: usdPerDay > 0 && spentUsd >= usdPerDay * budgetLimits.alertShare,
    mustGo,
  };
}
