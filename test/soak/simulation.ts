/**
 * The contracts over many thousands of simulated worlds, those of `npm test` among them; one that fails is replayed by `SEEDS=n-n`,
 * `WORK_SEEDS=n-n`, `LEARNING_SEEDS=n-n` or `LOOP_SEEDS=n-n npx vitest run --project simulation`.
 */
import { isDeepStrictEqual } from "node:util";
import { CALM, ROUGH, simulateLearning } from "../simulation/learning-world.ts";
import { ALL_AT_ONCE, simulateLoopData } from "../simulation/loop-data-world.ts";
import { superviseUnderFaults } from "../simulation/supervision-world.ts";
import { simulateWork } from "../simulation/work-world.ts";
import { simulate } from "../simulation/world.ts";

export interface SimulationOptions {
  readonly from?: number;
  readonly to?: number;
  /** Worlds of the queue, of data and of learning, from `from` on. */
  readonly work?: number;
  readonly data?: number;
  readonly learning?: number;
  /** Faults over ninety daemons. */
  readonly faults?: number;
}
export const tiny: SimulationOptions = { from: 201, to: 202, work: 1, data: 1, learning: 1, faults: 300 };

export async function run(options: SimulationOptions = {}) {
  const { from = 1, to = 22_000, work = 2_000, data = 200, learning = 200, faults = 10_000 } = options;
  const seeds = (count: number) => Array.from({ length: count }, (_, n) => from + n);
  let crashes = 0;
  const broken: string[] = [];
  const look = (what: string, seed: number, report: { crashes: number; violations: readonly string[] }) => {
    crashes += report.crashes;
    if (report.violations.length > 0) broken.push(`${what} seed ${seed}: ${report.violations.join("; ")}`);
  };
  for (const seed of seeds(to - from + 1)) look("delivery", seed, await simulate({ seed }));
  for (const seed of seeds(work)) look("work", seed, await simulateWork(seed));
  const { made } = await simulateLoopData(0);
  for (const seed of seeds(data)) {
    const rough = await simulateLoopData(seed, ALL_AT_ONCE);
    look("loop", seed, rough);
    if (!isDeepStrictEqual(rough.made, made)) broken.push(`loop seed ${seed}: something else came out`);
  }
  const calm = await simulateLearning(1, CALM);
  for (const seed of seeds(learning)) {
    const rough = await simulateLearning(seed, ROUGH);
    look("learning", seed, rough);
    if (!rough.ended || !isDeepStrictEqual(rough.champions, calm.champions))
      broken.push(`learning seed ${seed}: it came to other champions`);
  }
  const supervised = await superviseUnderFaults({ seed: from, faults });
  look("supervision", from, supervised);
  if (supervised.missing.length > 0) broken.push(`supervision: ${supervised.missing.join(", ")} did not come back`);
  if (broken.length > 0) throw new Error(broken.join("\n"));
  return { worlds: to - from + 1, work, data, learning, faults, crashes, violations: 0 };
}
