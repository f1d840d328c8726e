/** A thousand kills: at every await of renting and returning, and at random ones while the account fails in every way. */
import { pathToFileURL } from "node:url";
import { simulateFleet } from "../simulation/fleet-world.ts";

const MINUTE = 60_000;

export const about = "a thousand kills while machines are rented and returned: none is lost, none is bought twice";

export const tiny = { runs: 4 };

export async function run({ runs = 1_000 }: { readonly runs?: number } = {}) {
  const base = { up: 2, forMs: 60 * MINUTE, calmAfterMs: 5 * MINUTE, settings: { idleAfterMs: MINUTE } };
  const { awaits } = await simulateFleet({ ...base, seed: 1 });
  const faults = { lostBefore: 0.05, lostAfter: 0.1, busy: 0.05, soldOut: 0.05, failsAndBills: 0.05, twice: 0.03 };
  let kills = 0;
  let machines = 0;
  const violations: string[] = [];
  for (let n = 1; n <= runs; n += 1) {
    const isEach = n <= Math.min(awaits, runs / 2);
    const report = await simulateFleet(
      isEach ? { ...base, seed: 1, killAt: n } : { ...base, seed: 1_000 + n, killChance: 0.01, faults },
    );
    kills += report.kills;
    machines += report.machines;
    violations.push(...report.violations.map((what) => `run ${n}: ${what}`));
    const open = report.rows.filter(({ ended_at }) => ended_at === null).length;
    if (open > 0) violations.push(`run ${n}: ${open} rows are still open`);
  }
  return { ok: violations.length === 0, runs, kills, machines, violations: violations.slice(0, 20) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await run());
