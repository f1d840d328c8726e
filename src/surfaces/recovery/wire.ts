import { z } from "zod";
import { ACT_STATES, RUNGS } from "../../cluster/recovery/rungs.ts";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name, note, time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "recovery";
const rung = lazy(() => z.enum(RUNGS));

const repair = lazy(() =>
  z
    .object({
      node_id: z.string(),
      label: z.string(),
      condition: z.string(),
      reason: z.string(),
      rung: rung().describe("The step that it stands on."),
      rung_since: time,
      attempts: z.int(),
      opened_at: time,
      ladder: z.array(rung()).describe("What helps against this illness, gentlest first."),
      next: rung().nullable().describe("What would be done now; null while nothing would."),
      waits: z.string().nullable().describe("Why nothing is done now."),
      held: z.int().describe("Jobs in its hands."),
      moving: z.int().describe("Those of them that make progress."),
      alone: z.int().describe("Files and results that lie nowhere else."),
      skipped: z.array(z.string()).describe("Steps that cannot help here, and why."),
    })
    .meta({ id: "PlannedRepair" }),
);

const act = lazy(() =>
  z
    .object({
      act_id: z.string(),
      case_id: z.string(),
      node_id: z.string(),
      label: z.string(),
      rung: rung(),
      reason: z.string(),
      evidence: z.record(z.string(), z.unknown()),
      asked_by: z.string(),
      incarnation: z.int(),
      state: z.enum(ACT_STATES),
      begun_at: time,
      ended_at: time.nullable(),
      outcome: z.string().nullable(),
    })
    .meta({ id: "RecoveryAct" }),
);

export const planRecovery = defineRoute("planRecovery", "GET /v1/recovery", {
  tag,
  summary: "Nodes that are ill, and what would be done for each of them now. Nothing of it happens.",
  about: "The state of the fleet, the budget, and one row for each node that is ill.",
  limit: "heavy",
  answer: () =>
    z.object({
      nodes: z.int(),
      unready: z.int(),
      suspended: z.boolean().describe("More than 45 % of the nodes are not ready: nothing is done but telling."),
      enabled: z.boolean(),
      acts_last_hour: z.int(),
      acts_per_hour: z.int(),
      repairs: z.array(repair()),
    }),
});

export const recoveryHistory = defineRoute("recoveryHistory", "GET /v1/recovery/history", {
  tag,
  summary: "What was done for nodes that were ill, newest first.",
  about: "One row for each act, with its evidence and what came of it.",
  query: () => z.strictObject({ node: name.optional(), limit: z.coerce.number().int().min(1).max(1_000).optional() }),
  answer: () => z.object({ acts: z.array(act()) }),
});

export const runRecovery = defineRoute("runRecovery", "POST /v1/recovery/{id}", {
  tag,
  summary: "Has a step of repair done now for a node that is ill, and not only in its turn. The same guards hold.",
  about: "What is done, or would be, or why it is not.",
  params: () => z.strictObject({ id: name }),
  body: () =>
    z.strictObject({
      rung: rung().optional().describe("The next one unless said. 'observe' takes the node for well again."),
      reason: note.optional(),
      dry_run: dryRun,
    }),
  answer: () =>
    z.object({
      node_id: z.string(),
      label: z.string(),
      rung: rung(),
      refused: z.string().nullable(),
      applied: z.boolean(),
    }),
});

export type RecoveryPlanShown = Answer<typeof planRecovery>;
export type RecoveryActs = Answer<typeof recoveryHistory>;
export type RepairAnswer = Answer<typeof runRecovery>;
