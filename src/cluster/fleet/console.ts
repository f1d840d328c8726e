/** What people see of the fleet and tell it. Whatever is decided here is a row; the units do it. */
import { OperatingError, sumOf } from "../../kernel/index.ts";
import { createWriteSet } from "../../router/index.ts";
import { costBetween, dayStart, HOUR_MS, rateOf, refusalOf, spentBetween } from "./budget.ts";
import { whyNotOffer } from "./choose.ts";
import type { Priced } from "./inventory.ts";
import { isOurs } from "./label.ts";
import { isOpen, isStaying, type LedgerState } from "./ledger-states.ts";
import { machineLimits } from "./limits.ts";
import { freshMachine, type MachineChanges, type MachineRow } from "./machine.ts";
import { changeMachine, machineCalled, machinesSince, openMachines, storedFleetName } from "./machine-rows.ts";
import type { MachineOffer } from "./provider.port.ts";
import type { FleetServices } from "./services.ts";
import { fleetPlans } from "./state.ts";
import { idleGates } from "./units/idle-shutdown/decide.ts";

const MAX_SHOWN = 1_000;
const DAY_MS = 24 * HOUR_MS;

/** A machine for people. Times are milliseconds since the epoch. */
const machineView = (row: MachineRow, now: number) => {
  const { offer, forced, terminate_tries, missing_since, terminated_at, tried_at, billing_step_ms, ...shown } = row;
  const { offer_id, region = null, cpus = 0, gpus = 0, gpu_name = null } = JSON.parse(offer) as Partial<MachineOffer>;
  return {
    ...shown,
    offer_id: offer_id ?? "unknown",
    region,
    cpus,
    gpus,
    gpu_name,
    cost_usd: costBetween(row, 0, now),
  };
};

/** A row that nobody writes, to see what it would do to the money. */
const planned = ({ provider, price_usd_hour }: Priced, now: number): MachineRow =>
  freshMachine(
    {
      label: "planned",
      provider,
      offer: "{}",
      price_usd_hour,
      billing_step_ms: 1_000,
      intended_by: "",
      reason: "",
      deadline_at: now,
    },
    now,
  );

interface DownOrder {
  /** Labels, or the nodes of machines. */
  readonly machines: readonly string[];
  readonly all: boolean;
  readonly force: boolean;
  readonly reason: string;
  readonly by: string;
  readonly dryRun: boolean;
}

/** What a return means for a row in this state. */
function returnOf(row: MachineRow, order: DownOrder, now: number): MachineChanges | undefined {
  const base = { state_since: now, return_reason: order.reason, return_by: order.by, forced: order.force ? 1 : 0 };
  const to = (state: LedgerState): MachineChanges => ({ ...base, state });
  if (row.state === "intended") return { ...to("failed"), ended_at: now, error: order.reason };
  if (row.state === "active") return to(order.force ? "returning" : "draining");
  if (row.state === "draining") return order.force ? to("returning") : undefined;
  return row.state === "requested" || row.state === "starting" ? { ...to("returning"), forced: 1 } : undefined;
}

/** How the money stands. */
function moneyOf({ store, clock, settings }: FleetServices) {
  const now = clock.now();
  const billed = machinesSince(store, now - machineLimits.billedBackMs, MAX_SHOWN);
  return {
    budget_usd_hour: settings.budget.usdPerHour,
    budget_usd_day: settings.budget.usdPerDay,
    rate_usd_hour: rateOf(billed),
    spent_today_usd: spentBetween(billed, dayStart(now), now),
  };
}

/** What the ledger and the last lists disagree about. */
function differencesOf({ store, inventory }: FleetServices) {
  const fleet = storedFleetName(store);
  const rows = new Map(openMachines(store).map((row) => [row.label, row]));
  const found: { provider: string; machine_id: string | null; label: string | null; what: string }[] = [];
  for (const provider of inventory.names()) {
    const listing = inventory.listing(provider);
    if (listing === undefined) continue;
    const there = listing.machines.filter(({ state }) => state !== "gone");
    for (const { label, machine_id, state } of there) {
      if (fleet === undefined || !isOurs(fleet, label)) continue;
      const row = rows.get(label);
      if (row === undefined)
        found.push({ provider, machine_id, label, what: "it is there, and its row is not open: it is ended" });
      else if (row.machine_id !== null && row.machine_id !== machine_id)
        found.push({ provider, machine_id, label, what: "it was made twice: this one is ended" });
      else if (state === "unknown")
        found.push({ provider, machine_id, label, what: "its state is unknown: it is left alone" });
      else if (state === "stopped")
        found.push({ provider, machine_id, label, what: "it is stopped, and may still be billed" });
    }
    for (const row of rows.values()) {
      const isThere = there.some(({ label, machine_id }) => label === row.label || machine_id === row.machine_id);
      if (row.provider === provider && row.requested_at !== null && !isThere && row.requested_at < listing.askedAt)
        found.push({ provider, machine_id: row.machine_id, label: row.label, what: "its provider does not show it" });
    }
  }
  return found;
}

/** Offers in the order in which they would be rented, each with why it would not be; null if it would. */
function takesOf({ store, clock, settings }: FleetServices, chosen: readonly Priced[]) {
  const now = clock.now();
  let rows = machinesSince(store, now - machineLimits.billedBackMs, MAX_SHOWN);
  return chosen.map((offer) => {
    const refusal =
      refusalOf(rows, offer.price_usd_hour, settings.budget, now)?.message ??
      (rows.filter(isOpen).length >= settings.max
        ? `there are ${rows.filter(isOpen).length} machines, and ${settings.max} are allowed (fleet.max)`
        : null);
    // What is wanted before it counts for the next one.
    if (refusal === null) rows = [...rows, planned(offer, now)];
    return { ...offer, refusal };
  });
}

/** What can be rented, what would be, and why not the others. Nobody is asked for a machine. */
async function planOf(
  services: FleetServices,
  { count, provider }: { count: number; provider: string | null },
  signal: AbortSignal,
) {
  const { clock, inventory } = services;
  const chosen = await services.choose(count, { provider }, signal);
  const offers = await inventory.offers(signal);
  const now = clock.now();
  const takes = takesOf(services, chosen);
  const wish = services.wishOf({ provider });
  const records = services.records();
  return {
    ...moneyOf(services),
    takes,
    offers: offers
      .toSorted((a, b) => a.price_usd_hour - b.price_usd_hour)
      .slice(0, 50)
      .map((offer) => ({ ...offer, refusal: whyNotOffer(offer, wish, records.get(offer.provider), now) ?? null })),
    trouble: inventory.names().flatMap((name) => {
      const trouble = inventory.trouble(name);
      return trouble === undefined ? [] : [{ provider: name, message: trouble.message }];
    }),
  };
}

/** What the fleet cost, by day, provider and machine. */
async function costsOf(services: FleetServices, days: number) {
  const { store, clock } = services;
  const now = clock.now();
  const from = dayStart(now) - (days - 1) * DAY_MS;
  const rows = machinesSince(store, from, MAX_SHOWN);
  const machines = [];
  for (const row of rows) {
    const usd = costBetween(row, from, now);
    const games = row.node_id === null ? null : await services.games(row.node_id);
    const last_day_usd = costBetween(row, now - DAY_MS, now);
    machines.push({
      label: row.label,
      provider: row.provider,
      node_id: row.node_id,
      state: row.state,
      price_usd_hour: row.price_usd_hour,
      usd,
      games_last_day: games,
      usd_per_1000_games: games === null || games === 0 ? null : (last_day_usd / games) * 1_000,
    });
  }
  const byDay = Array.from({ length: days }, (_, n) => {
    const day = dayStart(now) - n * DAY_MS;
    return { day, usd: spentBetween(rows, day, Math.min(now, day + DAY_MS)) };
  });
  const byProvider = [...Map.groupBy(machines, ({ provider }) => provider)].map(([provider, own]) => ({
    provider,
    machines: own.length,
    usd: sumOf(own, ({ usd }) => usd),
  }));
  return { ...moneyOf(services), from, days: byDay, providers: byProvider, machines };
}

export function createFleetConsole(services: FleetServices) {
  const { store, clock, settings, inventory } = services;

  const rowNamed = (name: string): MachineRow => {
    const open = openMachines(store);
    const found = open.filter(
      ({ label, node_id, machine_id }) => label === name || node_id === name || machine_id === name,
    );
    const begun = found.length > 0 ? found : open.filter(({ label }) => label.endsWith(name) && name.length >= 4);
    if (begun.length === 1) return begun[0]!;
    const known = machineCalled(store, name);
    if (known !== undefined) return known;
    throw OperatingError.notFound("MACHINE_NOT_FOUND", `there is no rented machine '${name}'`, {
      hint: "'ringrift fleet status' lists them.",
    });
  };

  const money = () => moneyOf(services);

  return {
    status() {
      const now = clock.now();
      return {
        fleet: storedFleetName(store) ?? null,
        providers: inventory.names().map((name) => ({
          provider: name,
          listed_at: inventory.listing(name)?.askedAt ?? null,
          machines: inventory.listing(name)?.machines.length ?? null,
          trouble: inventory.trouble(name)?.message ?? null,
        })),
        min: settings.min,
        max: settings.max,
        ...money(),
        refused: createWriteSet(store).get(fleetPlans, "decision")?.refused ?? null,
        machines: machinesSince(store, now - DAY_MS, MAX_SHOWN).map((row) => machineView(row, now)),
      };
    },

    plan: (asked: { count: number; provider: string | null }, signal: AbortSignal) => planOf(services, asked, signal),

    /** Writes down that so many shall be rented, as far as money and room allow. */
    async up(
      {
        count,
        provider,
        reason,
        by,
        dryRun,
      }: { count: number; provider: string | null; reason: string; by: string; dryRun: boolean },
      signal: AbortSignal,
    ) {
      const offers = await services.choose(count, { provider }, signal);
      const now = clock.now();
      if (offers.length === 0)
        throw OperatingError.unavailable("NOTHING_TO_RENT", "nothing that fits is offered", {
          hint: "'ringrift fleet plan' shows what is offered, and why it is not taken.",
        });
      if (dryRun) {
        const takes = takesOf(services, offers);
        const would = takes.filter((take) => take.refusal === null);
        return {
          machines: [],
          would,
          refusal: takes.find((take) => take.refusal !== null)?.refusal ?? null,
          applied: false,
        };
      }
      const { rows, refusal } = await services.intend(offers, by, reason);
      if (rows.length === 0 && refusal !== undefined) throw refusal;
      return {
        machines: rows.map((row) => machineView(row, now)),
        would: [],
        refusal: refusal?.message ?? null,
        applied: true,
      };
    },

    /** Writes down that machines go: drained first, or at once where that was said. */
    async down(order: DownOrder) {
      const rows = order.all ? openMachines(store) : order.machines.map(rowNamed);
      const now = clock.now();
      const returned = rows.flatMap((row) => {
        const changes = returnOf(row, order, now);
        return changes === undefined ? [] : [{ row, changes }];
      });
      if (!order.dryRun && returned.length > 0)
        await store.commit(
          returned.map(({ row, changes }) => changeMachine({ label: row.label, from: row.state, changes })),
        );
      return {
        machines: returned.map(({ row, changes }) => machineView(order.dryRun ? row : { ...row, ...changes }, now)),
        applied: !order.dryRun,
      };
    },

    cost: (days: number) => costsOf(services, days),

    /** Asks providers now, and says what they and the ledger disagree about; the units mend it. */
    async reconcile(dryRun: boolean, signal: AbortSignal) {
      await inventory.look(signal);
      if (!dryRun) inventory.hurry();
      const failed = inventory.names().flatMap((name) => {
        const trouble = inventory.trouble(name);
        return trouble === undefined ? [] : [{ provider: name, message: trouble.message }];
      });
      return { differences: differencesOf(services), failed, applied: !dryRun };
    },

    /** The machine that a node is; undefined for one that was not rented. */
    machineOf(nodeId: string) {
      const now = clock.now();
      const row = openMachines(store).find(({ node_id }) => node_id === nodeId);
      return row === undefined
        ? undefined
        : { ...machineView(row, now), last_day_usd: costBetween(row, now - DAY_MS, now) };
    },

    /** What each rented node cost in the last day. */
    lastDayUsd(): ReadonlyMap<string, number> {
      const now = clock.now();
      return new Map(
        openMachines(store).flatMap((row): [string, number][] =>
          row.node_id === null ? [] : [[row.node_id, costBetween(row, now - DAY_MS, now)]],
        ),
      );
    },

    /** Why a rented node is kept or goes: what its return is judged by. */
    whyKept(nodeId: string) {
      const rows = openMachines(store);
      const row = rows.find(({ node_id }) => node_id === nodeId);
      if (row === undefined) return undefined;
      const burden = services.lastBurden(nodeId);
      const facts = { row, node: services.nodesByLabel().get(row.label), burden, busyAt: 0 };
      const staying = rows.filter(isStaying).length;
      const rules = { ...settings, staying, foreseen: services.demand().foreseen };
      return { row: machineView(row, clock.now()), gates: idleGates(facts, rules, clock.now()) };
    },
  };
}

export type FleetConsole = ReturnType<typeof createFleetConsole>;
