/**
 * The contract over many thousands of simulated worlds, and the whole loop in hundreds; a failing one is replayed by `SEEDS=n-n` or
 * `LIVENESS_SEEDS=n-n npx vitest run --project simulation`.
 */
import { simulateLiveness } from "../simulation/liveness/world.ts";
import { simulate } from "../simulation/world.ts";

export const tiny = { from: 501, to: 510, loops: 1 };

export async function run({
  from = 501,
  to = 22_000,
  loops = 300,
}: {
  from?: number;
  to?: number;
  loops?: number;
} = {}) {
  let crashes = 0;
  for (let seed = from; seed <= to; seed += 1) {
    const report = await simulate({ seed });
    crashes += report.crashes;
    if (report.violations.length > 0) throw new Error(`seed ${seed}: ${report.violations.join("; ")}`);
  }
  const loop = { crashes: 0, verdicts: 0, looks: 0 };
  const broken: string[] = [];
  for (let seed = from; seed < from + loops; seed += 1) {
    const report = await simulateLiveness(seed);
    loop.crashes += report.crashes;
    loop.looks += report.looks.length;
    for (const verdicts of Object.values(report.outcomes)) loop.verdicts += verdicts;
    if (report.violations.length > 0) broken.push(`liveness seed ${seed}: ${report.violations.join("; ")}`);
  }
  if (broken.length > 0) throw new Error(broken.join("\n"));
  return { worlds: to - from + 1, crashes, loops, loop, violations: 0 };
}
