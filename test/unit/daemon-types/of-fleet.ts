/** The daemon types whose work the fleet of rented machines does. */
import { freshMachine } from "../../../src/cluster/fleet/machine.ts";
import { changeMachine, intendMachines, machineCalled, openMachines } from "../../../src/cluster/fleet/machine-rows.ts";
import {
  createFleetServices,
  type FleetServices,
  type FleetSurroundings,
} from "../../../src/cluster/fleet/services.ts";
import { fleetSettings } from "../../../src/cluster/fleet/settings.ts";
import { fleetUnits } from "../../../src/cluster/fleet/units.ts";
import type { DaemonType } from "../../../src/daemons/legacy.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { seededRandom, silentLog } from "../../../src/kernel/index.ts";
import { settingDefaults } from "../../../src/kernel/settings/index.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";
import { simulatedAccount, simulatedOffer } from "../../support/simulated-provider.ts";
import { type Scene, type ShownTypes, supervised, toldIn } from "./scene.ts";

const MINUTE = 60_000;
type Settings = FleetServices["settings"];

/** The units of the fleet beside an account in which machines can be rented. */
async function world(settings: Partial<Settings> = {}, more: Partial<FleetSurroundings> = {}) {
  const w = unitWorld(builtinRows);
  const { clock, store } = w;
  const budget = { usdPerHour: 100, usdPerDay: 1_000 };
  const account = simulatedAccount({ clock, random: seededRandom(1), offers: [simulatedOffer("small", 0.5)] });
  const program = { install: "ringrift-coordination" };
  const services = createFleetServices({
    settings: {
      ...(settingDefaults(fleetSettings) as Settings),
      ...{ budget, max: 20, minCpus: 1, idleAfterMs: 5 * MINUTE, lookMs: 10_000 },
      ...settings,
    },
    ...{ store, clock, random: seededRandom(3), log: silentLog(), providers: [account.provider] },
    nodes: () => [],
    drain: async () => {},
    burden: async () => ({ held: 0, fitting: 0, alone: 0, unsent: 0 }),
    demand: () => ({ waiting: 0, free: 0 }),
    games: async () => 0,
    mix: () => new Map(),
    pace: () => undefined,
    invite: async () => ({ url: "https://home:8770", fingerprint: "00", token: "rrt_0", program, loopback: false }),
    ...more,
  });
  const manager = await supervised(w, fleetUnits(services, 5_000));
  /** A machine of the ledger, as if it had been rented before. */
  const rented = async (label: string, provider: string, node_id: string | null) => {
    const now = clock.now();
    const row = freshMachine(
      {
        ...{ label, provider, offer: "{}", price_usd_hour: 1, billing_step_ms: 1_000 },
        ...{ intended_by: "me", reason: "a test", deadline_at: now + MINUTE },
      },
      now,
    );
    const joined = { state: "active" as const, state_since: now, node_id, joined_at: now };
    await w.driven(store.commit([intendMachines({ rows: [row], budget, maxMachines: 5, maxOfProvider: 5, now })]));
    await w.driven(store.commit([changeMachine({ label, from: "intended", changes: joined })]));
  };
  return { ...w, manager, account, services, rented };
}

/** What the account asks for, and what stands in the ledger. */
async function tooFewMachines(): Promise<Scene> {
  const w = await world();
  return {
    ...w,
    before: () => void Object.assign(w.services.settings, { min: 2 }),
    live: () => w.pass(2 * MINUTE),
    seen: () => w.account.calls.create,
    idle: 0,
    shows: 2,
  };
}

/** More is wanted than the money of an hour pays for. */
async function tooLittleMoney(): Promise<Scene> {
  const w = await world({ budget: { usdPerHour: 0.6, usdPerDay: 10 } });
  return {
    ...w,
    before: () => void Object.assign(w.services.settings, { min: 3 }),
    live: () => w.pass(2 * MINUTE),
    seen: () => ({ made: w.account.calls.create, told: toldIn(w, ["BUDGET_ALERT"], "period")().slice(0, 1) }),
    idle: { made: 0, told: [] },
    shows: { made: 1, told: ["BUDGET_ALERT hour"] },
  };
}

/** A machine is made with the program that installs and starts a node on it, and is a node when it has joined. */
async function machineThatInstallsItself(): Promise<Scene> {
  const joined = { isThere: false };
  const w: Awaited<ReturnType<typeof world>> = await world(
    {},
    {
      nodes: () =>
        joined.isThere
          ? [...w.account.machines.values()].map(({ id, label }) => ({
              ...{ node_id: `n-${id}`, joined_by: label!, state: "online" as const, state_since: 0, draining: false },
            }))
          : [],
    },
  );
  return {
    ...w,
    before: () => void Object.assign(w.services.settings, { min: 1 }),
    async live() {
      await w.pass(MINUTE);
      joined.isThere = true;
      await w.pass(MINUTE);
    },
    seen: () => ({
      installs: [...w.account.machines.values()].map(({ order }) =>
        JSON.stringify(order).includes("ringrift-coordination"),
      ),
      told: toldIn(w, ["NODE_PROVISIONED"], "node_id")(),
    }),
    idle: { installs: [], told: [] },
    shows: { installs: [true], told: ["NODE_PROVISIONED n-m1"] },
  };
}

/** A machine that bears the name of this fleet, and that the ledger does not know. */
async function machineOfOurs(): Promise<Scene> {
  const w = await world();
  const fleet = await w.driven(w.services.name());
  const label = `rr-${fleet}-${"0".repeat(26)}`;
  return {
    ...w,
    before: () => void w.account.stranger(label),
    live: () => w.pass(12 * MINUTE),
    seen: () => [machineCalled(w.store, label)?.intended_by, w.account.calls.terminate > 0],
    idle: [undefined, false],
    shows: ["multi_provider", true],
  };
}

/** Lists of providers, asked for again and again while a machine is open. */
async function listsOfProviders(): Promise<Scene> {
  const w = await world();
  await w.rented("fleet-1", "simulated", null);
  let asked = 0;
  return {
    ...w,
    async live() {
      const from = w.account.calls.list;
      await w.pass(5 * MINUTE);
      asked = w.account.calls.list - from;
    },
    seen: () => asked > 5,
    idle: false,
    shows: true,
  };
}

/** A machine of this provider that does nothing. */
async function idleMachine(type: DaemonType): Promise<Scene> {
  const provider = type === "LAMBDA_IDLE" ? "lambda" : "vast";
  const drained = new Set<string>();
  const label = `${provider}-1`;
  const node = { node_id: `n-${label}`, joined_by: label, state: "online" as const, state_since: 0 };
  const w = await world(
    {},
    {
      providers: [],
      nodes: () => [{ ...node, draining: drained.has(node.node_id) }],
      drain: async (nodeId) => void drained.add(nodeId),
      // What is drained still holds a file, and so stays where it can be seen.
      burden: async (nodeId) => ({ held: 0, fitting: 0, alone: drained.has(nodeId) ? 1 : 0, unsent: 0 }),
    },
  );
  await w.rented(label, provider, node.node_id);
  return {
    ...w,
    live: () => w.pass(12 * MINUTE),
    seen: () => openMachines(w.store).map((each) => `${each.provider} ${each.state}`),
    idle: [`${provider} active`],
    shows: [`${provider} draining`],
  };
}

export const ofFleet = {
  AVAILABILITY_PROVISIONER: { unit: "provisioner", does: "rents what is missing", open: tooFewMachines },
  AVAILABILITY_CAPACITY_PLANNER: { unit: "provisioner", does: "stops where the money ends", open: tooLittleMoney },
  P2P_AUTO_DEPLOY: {
    unit: "provisioner",
    does: "rents a machine that installs itself",
    open: machineThatInstallsItself,
  },
  MULTI_PROVIDER: {
    unit: "multi_provider",
    does: "finds a machine that the ledger does not know",
    open: machineOfOurs,
  },
  NODE_AVAILABILITY: { unit: "multi_provider", does: "follows what providers show", open: listsOfProviders },
  LAMBDA_IDLE: { unit: "idle_shutdown", does: "gives an idle machine of Lambda back", open: idleMachine },
  VAST_IDLE: { unit: "idle_shutdown", does: "gives an idle machine of Vast back", open: idleMachine },
} satisfies ShownTypes;
