import { expect } from "vitest";
import { simulate } from "./world.ts";

/** `SEEDS=from-to` replays or widens; a single failing seed is replayed by `SEEDS=17-17`. Thousands: `npm run soak -- simulation`. */
const [first, last] = (process.env.SEEDS ?? "1-40").split("-").map(Number) as [number, number];

/** One half of the worlds: each is a file of tests of its own, so that two processors share them. */
export function halfOfWorlds(half: 0 | 1): { readonly from: number; readonly to: number } {
  const middle = Math.floor((first + last) / 2);
  return half === 0 ? { from: first, to: middle } : { from: middle + 1, to: last };
}

export async function expectContractIn({ from, to }: { readonly from: number; readonly to: number }): Promise<void> {
  const broken: string[] = [];
  let crashes = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const report = await simulate({ seed });
    crashes += report.crashes;
    if (report.violations.length > 0) broken.push(`seed ${seed}: ${report.violations.slice(0, 3).join("; ")}`);
  }
  expect(broken).toEqual([]);
  expect(crashes).toBeGreaterThanOrEqual((to - from) / 20);
}
