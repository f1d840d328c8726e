import { defineTable } from "../../router/index.ts";

/** How it went with each provider lately, by its name. */
export const providerRecords = defineTable<{
  readonly failures: number;
  readonly until: number;
  readonly error: string;
}>("fleet_providers");

/** Since when jobs wait for machines that are not there, under the key `backlog`; and what was decided last, under `decision`. */
export const fleetPlans = defineTable<{
  readonly since: number;
  readonly reason: string;
  readonly refused: string | null;
}>("fleet_plans");

/** What was told of the budget of a day, by the start of that day. */
export const budgetsTold = defineTable<{ readonly alert: boolean; readonly exceeded: boolean }>("fleet_budgets_told");
