/** Ten thousand random faults over the shipped decisions about nodes: nobody busy, alone with files or healthy is touched. */
import { PLANTS, recoveryWorld } from "../simulation/recovery-world.ts";

export const about = "random faults over the decisions about ill nodes: who is touched, and who must not be";

export const tiny = { faults: 120, seeds: 2 };

export function run({
  faults = 10_000,
  seeds = 50,
  seed = 1_000,
}: {
  faults?: number;
  seeds?: number;
  seed?: number;
} = {}) {
  const each = Math.ceil(faults / seeds);
  const reports = Array.from({ length: seeds }, (_, n) => recoveryWorld({ seed: seed + n, faults: each }));
  const violations = reports.flatMap((report) => report.violations);
  const sum = (of: (report: (typeof reports)[number]) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const findsIt = (plant: (typeof PLANTS)[number]) =>
    Array.from({ length: 8 }, (_, n) => seed + n).some(
      (one) => recoveryWorld({ seed: one, faults: 60, plant }).violations.length > 0,
    );
  const missed = PLANTS.filter((plant) => plant !== "none" && !findsIt(plant));
  return {
    ok: violations.length === 0 && missed.length === 0,
    faults: each * seeds,
    violations: violations.slice(0, 10),
    plantsMissed: missed,
    illnesses: sum(({ found }) => found),
    recovered: sum(({ recovered }) => recovered),
    handedOver: sum(({ handedOver }) => handedOver),
    acts: Object.fromEntries(
      ["drain", "restart", "reboot", "replace", "person"].map((rung) => [rung, sum(({ acts }) => acts[rung] ?? 0)]),
    ),
  };
}
