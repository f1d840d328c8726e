import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name, note, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "fleet";
const usd = lazy(() => z.number());
const MAX_AT_ONCE = 100;

const size = lazy(() => ({
  region: z.string().nullable(),
  cpus: z.number(),
  gpus: z.number(),
  gpu_name: z.string().nullable(),
  price_usd_hour: usd(),
}));

const machine = lazy(() =>
  z
    .looseObject({
      label: z.string(),
      provider: z.string(),
      offer_id: z.string(),
      ...size(),
      state: z.string().describe("intended, requested, starting, active, draining, returning, ended or failed."),
      state_since: time,
      intended_at: time,
      intended_by: z.string(),
      reason: z.string(),
      deadline_at: time.describe("Until then it has to be a node."),
      requested_at: time.nullable().describe("When its provider was asked: from here on it is paid for."),
      machine_id: z.string().nullable(),
      address: z.string().nullable(),
      seen_at: time.nullable(),
      seen_state: z.string().nullable().describe("How its provider last showed it."),
      node_id: z.string().nullable(),
      joined_at: time.nullable(),
      idle_since: time.nullable(),
      return_reason: z.string().nullable(),
      return_by: z.string().nullable(),
      ended_at: time.nullable(),
      error: z.string().nullable(),
      cost_usd: usd().describe("What it has cost so far, by the ledger."),
    })
    .meta({ id: "Machine", description: "A machine that was wanted, as the ledger knows it." }),
);

const offer = lazy(() =>
  z
    .looseObject({
      provider: z.string(),
      offer_id: z.string(),
      ...size(),
      memory_gb: z.number(),
      gpu_memory_gb: z.number(),
      available: z.int().nullable(),
      refusal: z.string().nullable().optional().describe("Why it is not rented; null if it may be."),
    })
    .meta({ id: "MachineOffer" }),
);

const money = lazy(() => ({
  budget_usd_hour: usd(),
  budget_usd_day: usd(),
  rate_usd_hour: usd().describe("What all machines that are open cost in an hour."),
  spent_today_usd: usd().describe("Since midnight UTC."),
}));
const trouble = lazy(() => z.object({ provider: z.string(), message: z.string() }));

export const getFleet = defineRoute("getFleet", "GET /v1/fleet", {
  tag,
  summary: "The rented machines, their providers, and how the money stands.",
  about: "Open machines, and those that ended in the last day, newest first.",
  answer: () =>
    z.object({
      fleet: z.string().nullable().describe("The name in the labels of all its machines."),
      providers: z.array(
        z.object({
          provider: z.string(),
          listed_at: time.nullable(),
          machines: z.int().nullable().describe("Machines in the account, also those of others."),
          trouble: z.string().nullable(),
        }),
      ),
      min: z.int(),
      max: z.int(),
      ...money(),
      refused: z.string().nullable().describe("Why the last machines that were needed were not rented."),
      machines: z.array(machine()),
    }),
});

export const planFleet = defineRoute("planFleet", "POST /v1/fleet/plan", {
  tag,
  summary: "What would be rented, for how much, and why not something else. Nothing is.",
  limit: "heavy",
  body: () => z.strictObject({ count: z.int().min(1).max(MAX_AT_ONCE).default(1), provider: name.optional() }),
  about: "What is taken first, and what is offered, cheapest first.",
  answer: () =>
    z.object({ ...money(), takes: z.array(offer()), offers: z.array(offer()), trouble: z.array(trouble()) }),
});

export const raiseFleet = defineRoute("raiseFleet", "POST /v1/fleet/up", {
  tag,
  summary: "Rents machines, as far as the budget allows. They join by themselves.",
  bound: "`fleet.max` machines, and the budget",
  body: () =>
    z.strictObject({
      count: z.int().min(1).max(MAX_AT_ONCE),
      provider: name.optional(),
      reason: note.optional(),
      dry_run: dryRun,
    }),
  about: "The rows of the ledger, before any provider was asked.",
  answer: () =>
    z.object({
      machines: z.array(machine()),
      would: z.array(offer()).describe("Of a dry run: what would be rented."),
      refusal: z.string().nullable().describe("Why not all of them."),
      applied: z.boolean(),
    }),
});

export const lowerFleet = defineRoute("lowerFleet", "POST /v1/fleet/down", {
  tag,
  summary: "Returns machines: they are drained, send home what lies only there, and are ended.",
  body: () =>
    z.strictObject({
      machines: z.array(name).max(1_000).default([]).describe("Labels, or nodes."),
      all: z.boolean().default(false),
      force: z.boolean().default(false).describe("At once, whatever lies there."),
      reason: note.optional(),
      dry_run: dryRun,
    }),
  about: "Those that go.",
  answer: () => z.object({ machines: z.array(machine()), applied: z.boolean() }),
});

export const getFleetCost = defineRoute("getFleetCost", "GET /v1/fleet/cost", {
  tag,
  summary: "What the fleet cost, by day, provider and machine, and for 1,000 games.",
  limit: "heavy",
  query: () => z.strictObject({ days: whole(1, 365).default(7) }),
  about: "By the ledger: from the request of each machine until it was gone.",
  answer: () =>
    z.object({
      ...money(),
      from: time,
      days: z.array(z.object({ day: time, usd: usd() })),
      providers: z.array(z.object({ provider: z.string(), machines: z.int(), usd: usd() })),
      machines: z.array(
        z.object({
          label: z.string(),
          provider: z.string(),
          node_id: z.string().nullable(),
          state: z.string(),
          price_usd_hour: usd(),
          usd: usd(),
          games_last_day: z.number().nullable(),
          usd_per_1000_games: usd().nullable(),
        }),
      ),
    }),
});

export const reconcileFleet = defineRoute("reconcileFleet", "POST /v1/fleet/reconcile", {
  tag,
  summary: "Asks all providers for their machines now, and tells what they and the ledger disagree about.",
  limit: "heavy",
  body: () => z.strictObject({ dry_run: dryRun }),
  about: "Each difference with what is done about it. Machines without a label of this fleet are never touched.",
  answer: () =>
    z.object({
      differences: z.array(
        z.object({
          provider: z.string(),
          machine_id: z.string().nullable(),
          label: z.string().nullable(),
          what: z.string(),
        }),
      ),
      failed: z.array(trouble()),
      applied: z.boolean(),
    }),
});

export type FleetStatus = Answer<typeof getFleet>;
export type FleetMachine = FleetStatus["machines"][number];
export type FleetPlan = Answer<typeof planFleet>;
export type FleetCost = Answer<typeof getFleetCost>;
