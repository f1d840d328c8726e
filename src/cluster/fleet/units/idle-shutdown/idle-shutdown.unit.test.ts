import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../../events/index.ts";
import { seededRandom, silentLog } from "../../../../kernel/index.ts";
import { settingDefaults } from "../../../../kernel/settings/index.ts";
import { freshMachine } from "../../machine.ts";
import { changeMachine, intendMachines, openMachines } from "../../machine-rows.ts";
import { createFleetServices, type FleetServices } from "../../services.ts";
import { fleetSettings } from "../../settings.ts";
import { fleetUnits } from "../../units.ts";

const MINUTE = 60_000;
const BUDGET = { usdPerHour: 100, usdPerDay: 1_000 };

/** Two rented machines that have joined and hold nothing whenever somebody looks. */
async function world() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { clock, store } = w;
  const labels = ["quiet", "short-jobs"];
  const drained = new Set<string>();
  const never = () => Promise.reject(new Error("nothing is rented here"));
  const services = createFleetServices({
    settings: { ...(settingDefaults(fleetSettings) as FleetServices["settings"]), idleAfterMs: 5 * MINUTE },
    ...{ store, clock, random: seededRandom(3), log: silentLog(), providers: [] },
    nodes: () =>
      labels.map((label) => ({
        ...{ node_id: `n-${label}`, joined_by: label, state: "online", state_since: 0, draining: false },
      })),
    drain: async (nodeId) => void drained.add(nodeId),
    // What is drained still holds a file, and so stays where it can be seen.
    burden: async (nodeId) => ({ held: 0, fitting: 0, alone: drained.has(nodeId) ? 1 : 0, unsent: 0 }),
    demand: () => ({ waiting: 0, free: 0 }),
    games: async () => 0,
    mix: () => new Map(),
    pace: () => undefined,
    invite: never,
  });
  const now = clock.now();
  const rows = labels.map((label) =>
    freshMachine(
      {
        ...{ label, provider: "somewhere", offer: "{}", price_usd_hour: 1, billing_step_ms: 1_000 },
        ...{ intended_by: "me", reason: "a test", deadline_at: now + MINUTE },
      },
      now,
    ),
  );
  await w.driven(store.commit([intendMachines({ rows, budget: BUDGET, maxMachines: 2, maxOfProvider: 2, now })]));
  for (const label of labels)
    await w.driven(
      store.commit([
        changeMachine({
          label,
          from: "intended",
          changes: { state: "active", state_since: now, node_id: `n-${label}`, joined_at: now },
        }),
      ]),
    );
  await w.driven(w.runtime(fleetUnits(services, 30_000)).start());
  return { w, stateOf: () => Object.fromEntries(openMachines(store).map(({ label, state }) => [label, state])) };
}

test("a machine that claims work is kept, also where it is done with each job before anybody looks", async () => {
  const { w, stateOf } = await world();
  const claim = (n: number) =>
    w.driven(
      w.router.publish(
        "WORK_CLAIMED",
        {
          ...{ work_id: `j-${n}`, work_type: "selfplay", config_key: "hex8_2p", node_id: "n-short-jobs" },
          ...{ attempts: 1, fence: n, expires_at: 2_000_000_000 },
        } as never,
        { source: "test" },
      ),
    );
  for (let n = 1; n <= 4; n += 1) {
    await w.pass(2 * MINUTE);
    await claim(n);
  }
  expect(stateOf()).toEqual({ quiet: "draining", "short-jobs": "active" });
  await w.pass(6 * MINUTE);
  expect(stateOf()).toEqual({ quiet: "draining", "short-jobs": "draining" });
});
