/** The contract over many thousands of simulated worlds; a failing one is replayed by `SEEDS=n-n npx vitest run --project simulation`. */
import { simulate } from "../simulation/world.ts";

export const tiny = { from: 501, to: 510 };

export async function run({ from = 501, to = 22_000 }: { from?: number; to?: number } = {}) {
  let crashes = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const report = await simulate({ seed });
    crashes += report.crashes;
    if (report.violations.length > 0) throw new Error(`seed ${seed}: ${report.violations.join("; ")}`);
  }
  return { worlds: to - from + 1, crashes, violations: 0 };
}
