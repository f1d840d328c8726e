import { expect, test } from "vitest";
import { costLines } from "./view.ts";
import type { FleetCost } from "./wire.ts";

test("what was spent is told by days of UTC, as the budget counts them", () => {
  const today = Date.UTC(2026, 10, 18);
  const money = { budget_usd_hour: 1, budget_usd_day: 10, rate_usd_hour: 0.5, spent_today_usd: 3 };
  const days = [
    { day: today, usd: 3 },
    { day: today - 86_400_000, usd: 12 },
  ];
  const cost = { ...money, from: today, days, providers: [], machines: [] } as unknown as FleetCost;
  const plain = (text: string) => text;
  const look = { paint: { bold: plain, dim: plain }, clock: { now: () => today + 3_600_000 }, width: 80 } as never;
  expect(costLines(cost, look).join("\n")).toMatch(/days \(UTC\)\n +2026-11-18 +3\.00 USD\n +2026-11-17 +12\.00 USD/);
});
