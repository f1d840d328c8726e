/**
 * An account somewhere, in memory: machines that take their time, lists that lag behind, answers that are lost after the effect,
 * creates that fail and bill, and machines that vanish. It outlives the process that uses it, and keeps its own books.
 */
import {
  type Machine,
  type MachineOffer,
  type MachineOrder,
  type MachineProvider,
  providerErrors,
} from "../../src/cluster/fleet/index.ts";
import { type Clock, pick, type Random, sleep } from "../../src/kernel/index.ts";

/** A machine as the account knows it. */
export interface SimulatedMachine {
  readonly id: string;
  label: string | null;
  readonly price: number;
  readonly madeAt: number;
  /** Lists show it from here on. */
  readonly shownAt: number;
  readonly runsAt: number;
  goneAt: number | null;
  state: string | null;
  readonly order: MachineOrder | null;
}

export interface SimulatedFaults {
  /** Chances of each call: no answer before the effect, no answer after it, too many requests, none left. */
  readonly lostBefore?: number;
  readonly lostAfter?: number;
  readonly busy?: number;
  readonly soldOut?: number;
  /** A create fails, names a machine, and bills for it. */
  readonly failsAndBills?: number;
  /** One create makes two. */
  readonly twice?: number;
}

export interface SimulatedOptions {
  readonly name?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly offers: readonly MachineOffer[];
  readonly faults?: SimulatedFaults;
  readonly latencyMs?: number;
  readonly bootMs?: number;
  readonly listLagMs?: number;
  readonly billingStepMs?: number;
}

export function simulatedAccount(options: SimulatedOptions) {
  const { clock, random, latencyMs = 200, bootMs = 30_000, listLagMs = 0, billingStepMs = 1_000 } = options;
  const machines = new Map<string, SimulatedMachine>();
  const calls = { create: 0, terminate: 0, list: 0 };
  let faults = options.faults ?? {};
  /** Set by tests: what happens to the next call alone. */
  const next = { failAfterEffect: false, sellOut: false, lockedOut: false, breakList: false };
  let made = 0;

  const isThere = ({ goneAt }: SimulatedMachine) => goneAt === null || goneAt > clock.now();
  const shown = (one: SimulatedMachine): Machine => ({
    machine_id: one.id,
    label: one.label,
    state: one.state !== null ? "unknown" : clock.now() >= one.runsAt ? "running" : "starting",
    said: one.state ?? "",
    price_usd_hour: one.price,
    address: "198.51.100.1",
  });
  const make = (label: string | null, price: number, order: MachineOrder | null): SimulatedMachine => {
    made += 1;
    const now = clock.now();
    const lag = listLagMs === 0 ? 0 : pick(random, listLagMs);
    const one = { id: `m${made}`, label, price, madeAt: now, shownAt: now + lag, runsAt: now + bootMs };
    const machine = { ...one, goneAt: null, state: null, order };
    machines.set(machine.id, machine);
    return machine;
  };
  const luck = (chance = 0) => chance > 0 && random.next() < chance;
  const way = (signal: AbortSignal) => sleep(clock, latencyMs * (0.5 + random.next()), signal);
  const lost = () => providerErrors.unavailable(name, "no answer");

  const name = options.name ?? "simulated";
  const provider: MachineProvider = {
    name,
    isRemote: true,
    billingStepMs,
    async offers(signal) {
      await way(signal);
      if (next.lockedOut) throw providerErrors.denied(name, "the key opens nothing");
      return options.offers;
    },
    async list(signal) {
      calls.list += 1;
      await way(signal);
      if (next.lockedOut) throw providerErrors.denied(name, "the key opens nothing");
      if (next.breakList || luck(faults.lostBefore)) {
        next.breakList = false;
        throw lost();
      }
      // What is listed is what was true when the request arrived.
      const found = [...machines.values()].filter((one) => isThere(one) && clock.now() >= one.shownAt).map(shown);
      await way(signal);
      return found;
    },
    async create(order, signal) {
      calls.create += 1;
      await way(signal);
      const { label, offer, max_price_usd_hour } = order;
      if (next.sellOut || luck(faults.soldOut)) {
        next.sellOut = false;
        throw providerErrors.soldOut(name, "none left");
      }
      if (luck(faults.busy)) throw providerErrors.busy(name, "too many requests");
      if (offer.price_usd_hour > max_price_usd_hour) throw providerErrors.refused(name, "it costs more by now");
      if (luck(faults.lostBefore)) throw lost();
      const fails = luck(faults.failsAndBills);
      // Its label is part of the request: what is made bears it, also where the answer says that it failed.
      const machine = make(label, offer.price_usd_hour, order);
      if (luck(faults.twice)) make(label, offer.price_usd_hour, order);
      if (fails) throw providerErrors.unavailable(name, "it failed, and bills", { machineId: machine.id });
      await way(signal);
      if (next.failAfterEffect || luck(faults.lostAfter)) {
        next.failAfterEffect = false;
        throw lost();
      }
      return shown(machine);
    },
    async terminate(machineId, signal) {
      calls.terminate += 1;
      await way(signal);
      if (next.lockedOut) throw providerErrors.denied(name, "the key opens nothing");
      if (luck(faults.lostBefore)) throw lost();
      const machine = machines.get(machineId);
      if (machine !== undefined && isThere(machine) && machine.goneAt === null)
        machine.goneAt = clock.now() + pick(random, 2_000);
      await way(signal);
      if (luck(faults.lostAfter)) throw lost();
    },
  };
  return {
    provider,
    machines,
    calls,
    next,
    isThere,
    /** From now on. */
    setFaults(news: SimulatedFaults) {
      faults = news;
    },
    /** Somebody else's. */
    stranger: (label: string | null = null) => make(label, 1, null),
    /** What the account asks for: from the moment of each machine on until it is gone. */
    billed(until: number) {
      let usd = 0;
      for (const { madeAt, goneAt, price, order } of machines.values()) {
        if (order === null) continue;
        const lasted = Math.max(0, Math.min(goneAt ?? until, until) - madeAt);
        usd += (price * Math.ceil(lasted / billingStepMs) * billingStepMs) / 3_600_000;
      }
      return usd;
    },
  };
}

export const simulatedOffer = (offer_id: string, price_usd_hour: number, cpus = 8, gpus = 0): MachineOffer => ({
  offer_id,
  region: "here",
  cpus,
  memory_gb: cpus * 4,
  gpus,
  gpu_name: gpus === 0 ? null : "SIM 4090",
  gpu_memory_gb: gpus === 0 ? 0 : 24,
  price_usd_hour,
  available: null,
});
