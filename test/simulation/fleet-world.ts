/**
 * A seeded world around the shipped fleet: ledger in SQLite that survives crashes, an account that outlives everybody and keeps its own
 * books, machines that boot and join, load that changes, and a process that is killed at any await of its calls and commits. One
 * seed, and one place of the kill, is one history.
 */
import { inThreadStore, memoryWriter } from "../../src/adapters/sqlite/in-thread-store.ts";
import type { SqliteWriter } from "../../src/adapters/sqlite/writer.ts";
import { storeModules } from "../../src/app/store-modules.ts";
import type { FleetNode } from "../../src/cluster/fleet/decide.ts";
import type { MachineOffer, MachineProvider } from "../../src/cluster/fleet/index.ts";
import { isOpen, isStaying } from "../../src/cluster/fleet/ledger-states.ts";
import type { MachineRow } from "../../src/cluster/fleet/machine.ts";
import { createFleetServices, type FleetServices } from "../../src/cluster/fleet/services.ts";
import { fleetSettings } from "../../src/cluster/fleet/settings.ts";
import { fleetUnits } from "../../src/cluster/fleet/units.ts";
import { createUnitRuntime, DaemonManager } from "../../src/daemons/index.ts";
import { builtinRows, createCatalog } from "../../src/events/index.ts";
import { type Clock, pick, type Random, seededRandom, silentLog, virtualClock } from "../../src/kernel/index.ts";
import { settingDefaults } from "../../src/kernel/settings/index.ts";
import { EventRouter } from "../../src/router/index.ts";
import { type SimulatedFaults, simulatedAccount, simulatedOffer } from "../support/simulated-provider.ts";
import { breathe } from "../support/virtual-time.ts";

/** Bugs that the checks must find. */
export type FleetPlant = "none" | "no-label" | "row-after-create" | "asked-again" | "blind-terminate";

const PLANTED_ROWS: Partial<Record<FleetPlant, string>> = {
  // Whoever forgets that a provider was asked asks it again.
  "asked-again": `CREATE TRIGGER planted AFTER UPDATE OF state ON fleet_machines WHEN NEW.state = 'requested'
    BEGIN UPDATE fleet_machines SET state = 'intended' WHERE label = NEW.label; END`,
  // The row says that it ended as soon as its provider was told.
  "blind-terminate": `CREATE TRIGGER planted AFTER UPDATE OF state ON fleet_machines WHEN NEW.state = 'returning'
    BEGIN UPDATE fleet_machines SET state = 'ended', ended_at = NEW.state_since WHERE label = NEW.label; END`,
};

type Settings = FleetServices["settings"];
const defaults = settingDefaults(fleetSettings) as Settings;

export interface FleetWorldOptions {
  readonly seed: number;
  readonly plant?: FleetPlant;
  readonly settings?: Partial<Settings>;
  readonly offers?: readonly MachineOffer[];
  readonly faults?: SimulatedFaults;
  readonly billingStepMs?: number;
  /** The await at which the process is killed, counted from its first one; none unless given. */
  readonly killAt?: number;
  /** Chance of a kill at each further await. */
  readonly killChance?: number;
  /** Jobs that come in an hour, at each moment since the start. */
  readonly load?: (atMs: number) => number;
  /** Machines that a person asks for at the start. */
  readonly up?: number;
  readonly forMs: number;
  /** How often the units look. */
  readonly everyMs?: number;
  /** From here on nothing fails and nothing comes any more: what was rented has to go. */
  readonly calmAfterMs?: number;
}

export interface FleetReport {
  readonly violations: readonly string[];
  readonly awaits: number;
  readonly kills: number;
  readonly machines: number;
  readonly billedUsd: number;
  readonly ledgerUsd: number;
  readonly rows: readonly MachineRow[];
  /** When machines were wanted and returned, in ms since the start, with the label. */
  readonly log: readonly { readonly at: number; readonly what: string; readonly label: string }[];
  /** The fewest machines that were there or came, once the minimum was reached. */
  readonly leastStaying: number;
  readonly done: number;
}

const JOIN_MS = 20_000;
const DEAD_MS = 120_000;
const JOBS_AN_HOUR = 120;
const STEP_MS = 20_000;

/** Load on the nodes that are there, as a fluid: jobs come, and each node does so many an hour. */
function createLoad(nodes: () => readonly FleetNode[], load: (atMs: number) => number) {
  let waiting = 0;
  let done = 0;
  let busy = new Set<string>();
  return {
    step(atMs: number) {
      waiting += (load(atMs) * STEP_MS) / 3_600_000;
      busy = new Set();
      for (const { node_id, state, draining } of nodes()) {
        if (state !== "online" || draining || waiting < 1e-9) continue;
        const share = Math.min(waiting, (JOBS_AN_HOUR * STEP_MS) / 3_600_000);
        waiting -= share;
        done += share;
        busy.add(node_id);
      }
    },
    waiting: () => Math.floor(waiting),
    isBusy: (nodeId: string) => busy.has(nodeId),
    done: () => done,
  };
}

export async function simulateFleet(options: FleetWorldOptions): Promise<FleetReport> {
  const { seed, plant = "none", killAt, killChance = 0, load = () => 0, up = 0, forMs, calmAfterMs = forMs } = options;
  const { everyMs = 5_000 } = options;
  const random: Random = seededRandom(seed);
  const clock = virtualClock();
  const startedAt = clock.now();
  const writer: SqliteWriter = memoryWriter(storeModules);
  const planted = PLANTED_ROWS[plant];
  if (planted !== undefined) writer.db.exec(planted);
  const settings: Settings = {
    ...defaults,
    budget: { usdPerHour: 100, usdPerDay: 1_000 },
    max: 20,
    jobsPerMachine: 0,
    idleAfterMs: 300_000,
    lookMs: 10_000,
    minCpus: 1,
    ...options.settings,
  };
  const violations: string[] = [];
  const log: { at: number; what: string; label: string }[] = [];
  const account = simulatedAccount({
    clock,
    random: seededRandom(seed + 1),
    offers: options.offers ?? [simulatedOffer("small", 0.5), simulatedOffer("large", 2, 32)],
    faults: options.faults ?? {},
    listLagMs: 20_000,
    billingStepMs: options.billingStepMs ?? 1_000,
  });
  const stranger = account.stranger("web-1");
  const rowOf = writer.db.prepare("SELECT * FROM fleet_machines WHERE label = ?");
  const allRows = writer.db.prepare("SELECT * FROM fleet_machines ORDER BY label");
  const rowsNow = () => allRows.all() as unknown as MachineRow[];
  const asked = new Map<string, number>();
  const drained = new Set<string>();
  let awaits = 0;
  let kills = 0;
  let isCalm = false;

  const nodes = (): FleetNode[] =>
    [...account.machines.values()].flatMap((machine) => {
      const { order, runsAt, goneAt, id, label } = machine;
      const joinsAt = runsAt + JOIN_MS;
      if (order === null || label === null || clock.now() < joinsAt || (goneAt !== null && goneAt < joinsAt)) return [];
      const silentMs = goneAt === null ? 0 : clock.now() - goneAt;
      const state = silentMs > DEAD_MS ? "dead" : silentMs > 45_000 ? "suspect" : "online";
      const node_id = `n-${id}`;
      return [{ node_id, joined_by: order.label, state, state_since: joinsAt, draining: drained.has(node_id) }];
    });
  const jobs = createLoad(nodes, (atMs) => (isCalm ? 0 : load(atMs)));

  class Incarnation {
    alive = true;
    readonly services: FleetServices;
    readonly #runtime: ReturnType<typeof createUnitRuntime>;

    constructor() {
      const mine: Clock = {
        now: clock.now,
        monotonic: clock.monotonic,
        after: (delayMs, run) => clock.after(delayMs, () => (this.alive ? run() : undefined)),
      };
      // A batch arrives, and is answered, after the one before it.
      let arrives = 0;
      let answers = 0;
      const inOrder = (after: number, delayMs: number) => Math.max(after, clock.monotonic() + delayMs);
      const store = inThreadStore(writer, {
        clock: mine,
        carry: (apply) => {
          arrives = inOrder(arrives, pick(random, 5));
          clock.after(arrives - clock.monotonic(), () => {
            if (this.point()) return;
            const answer = apply();
            if (this.point()) return;
            answers = inOrder(answers, pick(random, 3));
            clock.after(answers - clock.monotonic(), () => (this.alive ? answer() : undefined));
          });
        },
      });
      const router = new EventRouter({
        catalog: createCatalog(builtinRows),
        store,
        clock: mine,
        random,
        log: silentLog(),
        nodeId: "home",
        settings: {},
      });
      this.services = createFleetServices({
        settings,
        store,
        clock: mine,
        random,
        log: silentLog(),
        providers: [this.#provider()],
        nodes,
        drain: async (nodeId) => void drained.add(nodeId),
        burden: async (nodeId) => ({
          held: jobs.isBusy(nodeId) ? 1 : 0,
          fitting: drained.has(nodeId) ? 0 : jobs.waiting(),
          alone: 0,
          unsent: 0,
        }),
        demand: () => ({ waiting: jobs.waiting(), free: 0 }),
        games: async () => 0,
        mix: () => new Map(),
        pace: () => undefined,
        invite: async () => ({
          url: "https://home:8770",
          fingerprint: "00",
          token: "rrt_0",
          program: { install: "ringrift-coordination" },
          loopback: false,
        }),
      });
      const units = fleetUnits(this.services, everyMs);
      const manager = new DaemonManager({ clock: mine, random, log: silentLog(), nodeId: "home", pid: 1 });
      const registry = { catalog: router.catalog, units, parts: [], ingress: [], excused: {}, delegations: [] };
      this.#runtime = createUnitRuntime({
        registry: registry as never,
        router: router as never,
        clock: mine,
        log: silentLog(),
        manager,
      });
    }

    start(): void {
      void this.#runtime.start().catch(() => undefined);
    }

    /** One more await; true if the process died at it. */
    point(): boolean {
      if (!this.alive) return true;
      awaits += 1;
      if (isCalm || (awaits !== killAt && random.next() >= killChance)) return false;
      this.alive = false;
      kills += 1;
      clock.after(1_000 + pick(random, 5_000), boot);
      return true;
    }

    /** What a dead process asked for happens all the same; nobody hears the answer. */
    #provider(): MachineProvider {
      const { provider } = account;
      const over = () => new Promise<never>(() => {});
      const guarded =
        <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (this.point()) return over();
          try {
            const answer = await call(...args);
            return this.point() ? over() : answer;
          } catch (thrown) {
            if (this.point()) return over();
            throw thrown;
          }
        };
      return {
        ...provider,
        offers: guarded((signal) => provider.offers(signal)),
        list: guarded((signal) => provider.list(signal)),
        create: guarded((order, signal) => {
          const times = (asked.get(order.label) ?? 0) + 1;
          asked.set(order.label, times);
          if (times === 2) violations.push(`${order.label} was asked for again`);
          const row = rowOf.get(order.label) as unknown as MachineRow | undefined;
          if (row === undefined) violations.push(`${order.label} was asked for before its row was written`);
          log.push({ at: clock.now() - startedAt, what: "create", label: order.label });
          // The planted bug: the machine does not bear its name.
          return provider.create(plant === "no-label" ? { ...order, label: null as never } : order, signal);
        }),
        terminate: guarded((id, signal) => {
          const label = account.machines.get(id)?.order?.label;
          if (label === undefined) violations.push(`${id} is not ours, and was ended`);
          log.push({ at: clock.now() - startedAt, what: "terminate", label: label ?? id });
          return provider.terminate(id, signal);
        }),
      };
    }
  }

  let incarnation: Incarnation;
  const boot = () => {
    incarnation = new Incarnation();
    incarnation.start();
  };
  boot();

  /** A person asks for machines, until it is on record that they did. */
  const ask = async () => {
    while (rowsNow().length < up) {
      const mine = incarnation;
      const { services } = mine;
      const buy = async () => {
        const offers = await services.choose(up - rowsNow().length, {}, new AbortController().signal);
        if (plant === "row-after-create") {
          const start = { label: "", tags: [], deadManMs: 1, ...(await services.invite("", 1)) };
          for (const offer of offers)
            await services.inventory
              .provider(offer.provider)
              .create(
                { label: `rr-plantedx-${"0".repeat(26)}`, offer, max_price_usd_hour: 10, start },
                new AbortController().signal,
              );
        }
        await services.intend(offers, "a person", "asked for");
      };
      await Promise.race([
        buy().catch(() => undefined),
        new Promise<void>((resolve) => void clock.after(30_000, resolve)),
      ]);
      await new Promise<void>((resolve) => void clock.after(1_000, resolve));
    }
  };
  if (up > 0) void ask();

  let leastStaying = Number.POSITIVE_INFINITY;
  let isReached = false;
  const look = () => {
    const atMs = clock.now() - startedAt;
    if (atMs >= calmAfterMs && !isCalm) {
      isCalm = true;
      account.setFaults({});
    }
    jobs.step(atMs);
    const staying = rowsNow().filter(isStaying).length;
    isReached ||= staying >= settings.min;
    if (isReached) leastStaying = Math.min(leastStaying, staying);
    clock.after(STEP_MS, look);
  };
  look();

  /** Nothing is wanted any more, and nothing is left. */
  const isOver = () =>
    isCalm &&
    rowsNow().length >= up &&
    rowsNow().every((row) => !isOpen(row)) &&
    [...account.machines.values()].every((one) => one.order === null || !account.isThere(one));
  for (let steps = 0; clock.now() - startedAt < forMs; steps += 1) {
    await breathe();
    // What comes after a fault only repeats it.
    if (violations.length > 0 || !clock.step() || (up > 0 && steps % 256 === 0 && isOver())) break;
  }

  const rows = rowsNow();
  const byLabel = new Map(rows.map((row) => [row.label, row]));
  for (const machine of account.machines.values()) {
    if (machine.order === null || !account.isThere(machine)) continue;
    const row = byLabel.get(machine.order.label);
    if (row === undefined || !isOpen(row)) violations.push(`${machine.id} is there and paid for, and nobody knows`);
  }
  if (!account.isThere(stranger)) violations.push("a stranger's machine was ended");
  const ledgerUsd = rows.reduce((sum, row) => {
    if (row.requested_at === null || (row.state === "failed" && row.machine_id === null)) return sum;
    const step = row.billing_step_ms;
    const lasted = (row.ended_at ?? clock.now()) - row.requested_at;
    return sum + (row.price_usd_hour * Math.ceil(lasted / step) * step) / 3_600_000;
  }, 0);
  const billedUsd = account.billed(clock.now());
  incarnation!.alive = false;
  writer.close();
  return {
    violations,
    awaits,
    kills,
    machines: [...account.machines.values()].filter(({ order }) => order !== null).length,
    billedUsd,
    ledgerUsd,
    rows,
    log,
    leastStaying,
    done: jobs.done(),
  };
}
