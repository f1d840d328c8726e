/** The fleet in simulation: killed at every await, with an account that fails in every way, and through a day of changing load. */
import { describe, expect, test } from "vitest";
import { simulatedOffer } from "../support/simulated-provider.ts";
import { type FleetWorldOptions, simulateFleet } from "./fleet-world.ts";

/** So many of the awaits, and so many seeds; `npm run soak -- fleet-ledger` takes all of them. */
const EACH = 60;
const SEEDS = 20;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Two machines are rented, become nodes, have nothing to do, and go. */
const twoMachines: Omit<FleetWorldOptions, "seed"> = {
  up: 2,
  forMs: 60 * MINUTE,
  calmAfterMs: 5 * MINUTE,
  settings: { idleAfterMs: MINUTE },
};
const allFaults = { lostBefore: 0.05, lostAfter: 0.1, busy: 0.05, soldOut: 0.05, failsAndBills: 0.05, twice: 0.03 };

const expectSound = ({ violations, rows, billedUsd, ledgerUsd }: Awaited<ReturnType<typeof simulateFleet>>) => {
  expect(violations).toEqual([]);
  expect(rows.filter(({ ended_at }) => ended_at === null)).toEqual([]);
  // The ledger never says less than the bill, as far as it goes by labels and ids.
  expect(billedUsd).toBeLessThanOrEqual(ledgerUsd + 0.05);
};

describe("a process that is killed", () => {
  test("at each await of renting and returning leaves no machine behind, and buys none twice", async () => {
    const { awaits } = await simulateFleet({ ...twoMachines, seed: 1 });
    expect(awaits).toBeGreaterThan(60);
    // The first awaits are those of the intents, the creates and the joins; the last those of the returns.
    const step = Math.max(1, Math.floor(awaits / EACH));
    let kills = 0;
    for (let killAt = 1; killAt <= awaits; killAt += step) {
      const report = await simulateFleet({ ...twoMachines, seed: 1, killAt });
      expectSound(report);
      kills += report.kills;
    }
    expect(kills).toBeGreaterThan(EACH / 2);
  });

  test("again and again, while its account fails in every way, accounts for every machine", async () => {
    for (let seed = 100; seed < 100 + SEEDS; seed += 1) {
      const report = await simulateFleet({ ...twoMachines, seed, killChance: 0.01, faults: allFaults });
      expectSound({ ...report, billedUsd: 0 });
    }
  });

  test("plays the same history from the same seed", async () => {
    const options = { ...twoMachines, seed: 7, killChance: 0.01, faults: allFaults };
    expect(await simulateFleet(options)).toEqual(await simulateFleet(options));
  });
});

describe("what the checks find", () => {
  test.each(["no-label", "row-after-create", "asked-again", "blind-terminate"] as const)("%s", async (plant) => {
    let found = 0;
    for (let seed = 1; seed <= 8 && found === 0; seed += 1) {
      const { violations } = await simulateFleet({
        ...twoMachines,
        seed,
        plant,
        faults: { lostAfter: 0.3 },
        killChance: 0.02,
        forMs: 40 * MINUTE,
        calmAfterMs: 20 * MINUTE,
      });
      found += violations.length;
    }
    expect(found).toBeGreaterThan(0);
  });
});

test("a create that fails after its effect, or fails and bills, is adopted or ended within two looks", async () => {
  for (const faults of [{ lostAfter: 1 }, { failsAndBills: 1 }]) {
    const report = await simulateFleet({
      ...twoMachines,
      seed: 3,
      up: 1,
      faults,
      calmAfterMs: MINUTE,
      forMs: 40 * MINUTE,
    });
    expect(report.violations).toEqual([]);
    expect(report.machines).toBe(1);
    const [row] = report.rows;
    // Seen within two looks of ten seconds each, and the lag of the account's lists.
    expect(row!.machine_id).not.toBeNull();
    expect(row!.state).toBe("ended");
  }
});

/** Jobs an hour: phases of two hours each, from nothing to far more than the minimum does. */
const PHASES = [0, 600, 100, 2_400, 0, 1_200, 240, 0, 1_800, 60, 900, 0];
const phaseOf = (atMs: number) => Math.floor(atMs / (2 * HOUR));

describe("a day of changing load, with a minimum of two and five minutes of idleness", () => {
  const day = (seed: number, more: Partial<FleetWorldOptions> = {}) =>
    simulateFleet({
      seed,
      forMs: 24 * HOUR,
      everyMs: 30_000,
      load: (atMs) => PHASES[phaseOf(atMs)] ?? 0,
      settings: {
        min: 2,
        max: 20,
        idleAfterMs: 5 * MINUTE,
        growAfterMs: 2 * MINUTE,
        jobsPerMachine: 20,
        lookMs: 30_000,
      },
      ...more,
    });

  test("machines come with the load and go with it; none goes only to be rented again", async () => {
    const { violations, log, leastStaying, machines, done } = await day(5);
    expect(violations).toEqual([]);
    expect(leastStaying).toBeGreaterThanOrEqual(2);
    expect(machines).toBeGreaterThan(4);
    expect(done).toBeGreaterThan(0.9 * PHASES.reduce((sum, jobs) => sum + 2 * jobs, 0));
    for (const phase of PHASES.keys()) {
      // Once a phase has settled, nothing is both rented and returned in it.
      const settled = log.filter(({ at }) => phaseOf(at) === phase && at % (2 * HOUR) > 40 * MINUTE);
      const created = settled.filter(({ what }) => what === "create").length;
      const ended = settled.filter(({ what }) => what === "terminate").length;
      expect(Math.min(created, ended), `phase ${phase}: ${created} rented, ${ended} returned`).toBe(0);
    }
  });

  test("spending stays within the day's budget and one machine-hour, whatever waits", async () => {
    for (const billingStepMs of [HOUR]) {
      const usdPerDay = 12;
      const report = await day(6, {
        load: () => 5_000,
        forMs: 23 * HOUR,
        everyMs: MINUTE,
        billingStepMs,
        offers: [simulatedOffer("small", 0.5, 4), simulatedOffer("large", 2, 32)],
        settings: {
          min: 2,
          idleAfterMs: 5 * MINUTE,
          jobsPerMachine: 20,
          lookMs: MINUTE,
          budget: { usdPerHour: 6, usdPerDay },
        },
      });
      expect(report.violations).toEqual([]);
      // The world begins at 22:13 UTC: it sees the money of two days.
      expect(report.billedUsd).toBeLessThanOrEqual(2 * (usdPerDay + 2));
      expect(report.billedUsd).toBeGreaterThan(usdPerDay * 0.8);
    }
  });
});
