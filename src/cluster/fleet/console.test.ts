import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../test/fixtures/unit-world.ts";
import { simulatedAccount, simulatedOffer } from "../../../test/support/simulated-provider.ts";
import { builtinRows } from "../../events/index.ts";
import { seededRandom, silentLog } from "../../kernel/index.ts";
import { settingDefaults } from "../../kernel/settings/index.ts";
import { createFleetConsole } from "./console.ts";
import { createFleetServices, type FleetServices } from "./services.ts";
import { fleetSettings } from "./settings.ts";

const { signal } = new AbortController();

function open(budget: { usdPerHour: number; usdPerDay: number }) {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { clock, store } = w;
  const random = seededRandom(3);
  const account = simulatedAccount({ clock, random, offers: [simulatedOffer("small", 0.36, 4)] });
  const services = createFleetServices({
    settings: { ...(settingDefaults(fleetSettings) as FleetServices["settings"]), budget },
    ...{ store, clock, random, log: silentLog(), providers: [account.provider] },
    nodes: () => [],
    drain: async () => undefined,
    burden: async () => ({ held: 0, fitting: 0, alone: 0, unsent: 0 }),
    demand: () => ({ waiting: 0, free: 0 }),
    games: async () => 0,
    mix: () => new Map(),
    pace: () => undefined,
    invite: () => Promise.reject(new Error("nobody joins here")),
  });
  const fleet = createFleetConsole(services);
  const up = (dryRun: boolean) =>
    w.driven(fleet.up({ count: 3, provider: null, reason: "a test", by: "me", dryRun }, signal));
  return { fleet, up };
}

test("a dry run rents as many as would be rented: what the budget refuses is refused there as well", async () => {
  const { fleet, up } = open({ usdPerHour: 1, usdPerDay: 5 });
  const tried = await up(true);
  expect(tried.would).toHaveLength(2);
  expect(tried).toMatchObject({ applied: false, refusal: expect.stringContaining("1.08 USD an hour") });
  expect(fleet.status().machines).toEqual([]);
  const done = await up(false);
  expect(done.machines).toHaveLength(tried.would.length);
  expect(done.refusal).toBe(tried.refusal);
});

test("without a budget a dry run rents nothing, and says so", async () => {
  const { up } = open({ usdPerHour: 0, usdPerDay: 0 });
  expect(await up(true)).toMatchObject({ would: [], refusal: expect.stringContaining("without a budget") });
  await expect(up(false)).rejects.toMatchObject({ code: "BUDGET_NOT_SET" });
});
