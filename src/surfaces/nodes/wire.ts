import { z } from "zod";
import { NODE_CONDITIONS } from "../../cluster/node-health/conditions.ts";
import { NODE_STATES } from "../../cluster/nodes/states.ts";
import { REPAIRS, RUNGS } from "../../cluster/recovery/rungs.ts";
import { lazy } from "../../kernel/index.ts";
import { answersTo, dryRun, name, nodeId, note, offer, time, word } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "nodes";
const MAX_EVENTS = 1_000;
const MAX_EVENTS_BYTES = 16 * 1_024 * 1_024;

const capabilities = lazy(() =>
  z
    .strictObject({
      ...offer.shape,
      hostname: word.optional(),
      platform: word.optional(),
      kinds: z.array(word).max(100).optional(),
    })
    .meta({ id: "Capabilities", description: "What a node has." }),
);

const timing = lazy(() =>
  z.object({
    beat_seconds: z.number().positive(),
    suspect_seconds: z.number(),
    dead_seconds: z.number(),
  }),
);
const load = lazy(() => z.strictObject({ running: z.int().min(0).max(1_000_000), free: offer }));
const spool = lazy(() => z.strictObject({ waiting: z.int().min(0) }));
const outbox = lazy(() => z.strictObject({ waiting: z.int().min(0), refused: z.int().min(0) }));

const disk = lazy(() =>
  z
    .strictObject({ free_bytes: z.number().min(0).max(1e18), reserve_bytes: z.number().min(0).max(1e18) })
    .describe("The room on its disk, and below which it begins no job."),
);

const swim = lazy(() =>
  z.strictObject({
    host: word.nullable().describe("Null for the address from which it calls."),
    further: z.array(word).max(8).optional().describe("Further addresses of it, such as that of a VPN."),
    port: z.int().min(1).max(65_535),
    known: z.int().min(0).max(64),
    reached: z.int().min(0).max(64),
    lost: z.array(nodeId).max(64),
  }),
);

/** The same as it is told: the coordinator's own node has nothing until it was looked at. */
const told = lazy(() => z.looseObject({ ...capabilities().shape, cpu: z.number().default(0) }));

const held = lazy(() => z.object({ jobs: z.int(), max: z.int() }));
/** What its worker has asked for at once is what it does at once; the limit is for those who ask for more. */
const heldByNode = lazy(() => held().extend({ slots: z.int().optional() }));

/** What a node with what it holds and has done adds to what the list tells. */
const doings = lazy(() => ({
  jobs: z
    .array(
      z.looseObject({
        work_id: z.string(),
        work_type: z.string(),
        config_key: z.string().nullable(),
        claimed_at: time,
        gpus: z.int().optional(),
        stopping: z.boolean(),
      }),
    )
    .optional(),
  rented: z
    .looseObject({
      label: z.string(),
      provider: z.string(),
      price_usd_hour: z.number(),
      cost_usd: z.number(),
      last_day_usd: z.number(),
    })
    .optional()
    .describe("Of a rented one: the machine that it is, and what it cost."),
  links: z
    .object({ addresses: z.array(z.string()), used: z.array(z.object({ by: z.string(), host: z.string() })) })
    .optional()
    .describe("Of a node with several addresses: which they are, and who reaches it at which."),
  work: z
    .looseObject({
      completed: z.int(),
      failed: z.int(),
      games: z.int(),
      busy_seconds: z.number(),
      games_per_hour: z.number().nullable(),
      speed_residual: z.number().nullable(),
      results_residual: z.number().nullable().optional(),
    })
    .optional(),
}));

/** How many jobs a node may hold, and by what that was decided. */
export const slots = lazy(() =>
  z
    .object({
      slots: z.int(),
      of: z.int(),
      target: z.number(),
      measured: z.number(),
      at: time,
      best: z.int().optional().describe("Jobs at once with which it did most work, once that was found out."),
      rate: z.number().optional().describe("The work that it does with them, in slots of a usual node."),
      tries: z.literal(true).optional().describe("It is trying whether it does more work with these."),
    })
    .meta({ id: "Slots", description: "How many jobs a node may hold of those it has room for, by what it measured." }),
);

const node = lazy(() =>
  z
    .looseObject({
      node_id: z.string(),
      label: z.string(),
      state: z.enum(NODE_STATES),
      state_since: time,
      incarnation: z.int(),
      version: z.string(),
      deprecated: z.boolean(),
      capabilities: told(),
      joined_at: time,
      joined_by: z.string(),
      last_seen_at: time.nullable(),
      address: z.string().nullable(),
      cordoned: z.object({ reason: z.string(), at: time, by: z.string() }).nullable(),
      draining: z.boolean(),
      left_reason: z.string().nullable(),
      policy: z
        .object({
          except_kinds: z.array(z.string()),
          max_jobs: z.int().nullable(),
          repair: z.enum(REPAIRS),
          reason: z.string(),
          at: time,
          by: z.string(),
        })
        .nullable()
        .optional()
        .describe("What its operators allow it; null where they have said nothing."),
      // An older main process says neither.
      health: z
        .object({ condition: z.enum(NODE_CONDITIONS), reason: z.string().nullable(), since: time.nullable() })
        .optional()
        .describe("How it does, by what it does."),
      clock_ahead_seconds: z.number().nullable().optional(),
      load: z.looseObject({ running: z.int(), free: told() }).nullable(),
      spool: spool().nullable(),
      outbox: outbox().nullable(),
      // An older main process does not say it.
      disk: disk().nullable().optional(),
      local: z.boolean(),
      // An older main process says neither.
      with_token: z.boolean().default(false).describe("It came with a token instead of a key."),
      held: heldByNode()
        .optional()
        .describe("Jobs in its hands, how many it may have, and how many its worker does at once."),
      held_by_token: held().optional().describe("The same of all workers that came with its token."),
      slots: slots().nullable().optional(),
      idle_since: time.nullable().optional().describe("Since when it has held no job; null while it has some."),
      reach: z
        .object({ by: z.int(), of: z.int() })
        .optional()
        .describe("Of the nodes that look after it, those that reach it; left out where none do."),
      reaches: z
        .object({ nodes: z.int(), of: z.int() })
        .optional()
        .describe("Of the nodes that it looks after, those that it reaches, by its own last probes."),
      games_per_hour: z
        .number()
        .nullable()
        .optional()
        .describe("Of self-play in the last day, for an hour in which it plays."),
      usd_per_1000_games: z.number().optional().describe("Of a rented one: what 1,000 games of the last day cost."),
      applied: z.boolean().optional().describe("In the answer to a decision: false after a dry run."),
      ...doings(),
    })
    .meta({ id: "Node" }),
);

const ofNodes = { tag, scope: "worker" } as const;

export const joinNode = defineRoute("joinNode", "POST /v1/nodes/join", {
  ...ofNodes,
  summary: "Registers a machine as a node, by its key.",
  bound: "the uses of a join token; nodes of any other token: `nodes.max_of_token`; 20,000 in all",
  body: () =>
    z.strictObject({
      public_key: z.string().min(1).max(100).describe("The raw 32 bytes of an Ed25519 key, in base64."),
      label: name,
      version: word,
      protocol: z.int().min(0).max(1_000_000),
      capabilities: capabilities(),
    }),
  about: "The id of the node, and how often it must send a heartbeat.",
  answer: () =>
    z.object({
      node_id: z.string().min(1),
      label: z.string(),
      protocol: z.object({ current: z.int(), least: z.int() }),
      deprecated: z.boolean(),
      timing: timing(),
      boot: z.string().describe("What the node signs with, until the coordinator starts anew."),
      server_time: time,
    }),
});

export const beatNode = defineRoute("beatNode", "POST /v1/nodes/beat", {
  ...ofNodes,
  summary: "The heartbeat of a node, with its load. The answer says what the node has to do.",
  limit: "beat",
  record: "no",
  body: () =>
    z.strictObject({
      node_id: nodeId,
      incarnation: z.int().min(0),
      version: word,
      capabilities: capabilities().optional(),
      load: load(),
      spool: spool(),
      outbox: outbox().optional(),
      clock: time.optional().describe("What its own clock says."),
      disk: disk().optional(),
      swim: swim().optional().describe("Where it takes probes of other nodes, and whom it reaches."),
    }),
  about: "The state of the node, and whether it has to give its jobs back.",
  answer: () =>
    z.object({
      state: z.enum(NODE_STATES),
      drain: z.boolean(),
      restart: z
        .object({ act_id: z.string(), reason: z.string() })
        .nullable()
        .default(null)
        .describe("Its worker shall start anew; said again until it has."),
      ask: z.boolean().default(false).describe("There are transfers for it: it shall ask for them at once."),
      tell_idle: z.boolean().default(false).describe("It shall say at once how idle it is."),
      coordinators: z
        .array(z.object({ url: z.string(), fingerprint: z.string().nullable() }))
        .max(16)
        .default([])
        .describe("All coordinators, where there are several: another one may lead later."),
      peers: z
        .array(
          z.object({
            node_id: nodeId,
            host: word,
            further: z.array(word).max(8).optional(),
            port: z.int().min(1).max(65_535),
            incarnation: z.int().min(0),
          }),
        )
        .max(64)
        .default([])
        .describe("Nodes that it shall look after, where nodes look after each other."),
      timing: timing(),
      server_time: time,
    }),
});

export const publishNodeEvents = defineRoute("publishNodeEvents", "POST /v1/nodes/events", {
  ...ofNodes,
  summary:
    "Takes the events of a node's outbox, oldest first, with an answer for each. An event that is sent twice counts once.",
  limit: "traffic",
  // The journal tells of each event and which node it is of.
  record: "no",
  body: () =>
    z.strictObject({
      node_id: nodeId,
      events: z
        .array(z.unknown())
        .min(1)
        .max(MAX_EVENTS)
        .meta({ items: { $ref: "#/components/schemas/CloudEvent" } })
        .describe("Oldest first."),
    }),
  maxBodyBytes: MAX_EVENTS_BYTES,
  about: "The accepted events are on disk.",
  answer: () =>
    answersTo(
      z.object({
        event_id: z.string(),
        seq: z.int().nullable(),
        suppressed: z.enum(["event_id", "content"]).nullable(),
      }),
    ),
});

const one = { tag, about: "The node as it is now.", answer: node } as const;

export const leaveNode = defineRoute("leaveNode", "POST /v1/nodes/leave", {
  ...ofNodes,
  ...one,
  summary: "A node leaves: from now on its silence raises no alarm.",
  body: () => z.strictObject({ node_id: nodeId, reason: note.min(1) }),
});

export const listNodes = defineRoute("listNodes", "GET /v1/nodes", {
  tag,
  summary: "All nodes.",
  about: "One row for each.",
  answer: () =>
    z.object({
      nodes: z.array(node()),
      coordinators: z
        .object({ present: z.int(), of: z.int() })
        .optional()
        .describe("Coordinators that were heard lately, of all that share the log; left out where there is only one."),
    }),
});

const setting = lazy(() =>
  z.strictObject({
    key: word,
    value: z.union([z.string().max(500), z.number(), z.boolean()]).nullable(),
  }),
);

export const reportNodeSettings = defineRoute("reportNodeSettings", "POST /v1/node-settings", {
  ...ofNodes,
  summary: "A node reports the settings that are set on it.",
  limit: "beat",
  record: "no",
  body: () => z.strictObject({ node_id: nodeId, incarnation: z.int().min(0), settings: z.array(setting()).max(500) }),
  about: "The settings are stored.",
  answer: () => z.object({ settings: z.int() }),
});

export const compareNodeSettings = defineRoute("compareNodeSettings", "GET /v1/node-settings", {
  tag,
  summary: "Settings that differ between the main process and its nodes.",
  scope: "operator",
  about:
    "The main process first. A value that is left out is the default. What every machine has of its own, such as its folder, is not compared.",
  answer: () =>
    z.object({
      nodes: z.array(z.object({ node: z.string(), version: z.string() })),
      unknown: z.array(z.string()).describe("Nodes that have not reported their settings."),
      differences: z.array(
        z.object({ key: z.string(), values: z.array(z.object({ value: setting().shape.value.optional() })) }),
      ),
    }),
});

const params = lazy(() => z.strictObject({ id: name }));

export const getNode = defineRoute("getNode", "GET /v1/nodes/{id}", {
  ...one,
  summary: "One node, by its id or its label, with the jobs it holds and what it has done.",
  limit: "heavy",
  params,
});

const check = lazy(() =>
  z.object({
    check: z.string(),
    verdict: z.enum(["pass", "warn", "fail"]),
    what: z.string(),
    actual: z.string(),
    required: z.string(),
    since: time,
    failures: z.int().describe("In a row."),
    breaker: z.enum(["closed", "open", "half_open"]),
    openings: z.int().describe("How often its breaker opened lately."),
    last_pass_at: time.nullable(),
  }),
);

export const getNodeHealth = defineRoute("getNodeHealth", "GET /v1/nodes/{id}/health", {
  tag,
  summary: "How a node does: each check with what is and what must be, and whether it may get work, data and models.",
  about: "The verdict, the checks behind it, and what follows from it.",
  params,
  answer: () =>
    z
      .object({
        node_id: z.string(),
        label: z.string(),
        state: z.enum(NODE_STATES),
        condition: z.enum(NODE_CONDITIONS),
        reason: z.string().nullable(),
        since: time,
        on_trial: z.boolean().describe("It has one job to show that it is well again."),
        slow_start: z.object({ leaves: z.int(), since: time }).nullable(),
        // An older main process does not say it.
        repair: z
          .object({ rung: z.enum(RUNGS), since: time })
          .nullable()
          .optional()
          .describe("What is being done for it; null while nothing is."),
        checks: z.array(check()),
        may: z.array(
          z.object({
            use: z.enum(["work", "data", "model"]),
            allowed: z.boolean(),
            max_jobs: z.int().nullable().describe("So few at a time; null where its health sets no limit."),
            reason: z.string().nullable(),
          }),
        ),
      })
      .meta({ id: "NodeHealth" }),
});

/** What an operator may decide about a node; each may be tried first. */
const triable = { ...one, params, body: () => z.strictObject({ reason: note.optional(), dry_run: dryRun }) } as const;

export const cordonNode = defineRoute("cordonNode", "POST /v1/nodes/{id}/cordon", {
  ...triable,
  summary: "Gives a node no new jobs. Its running jobs continue.",
});

export const drainNode = defineRoute("drainNode", "POST /v1/nodes/{id}/drain", {
  ...triable,
  summary: "Gives a node no new jobs, and lets it give its jobs back.",
});

export const uncordonNode = defineRoute("uncordonNode", "POST /v1/nodes/{id}/uncordon", {
  ...triable,
  summary: "Gives a node jobs again.",
});

export const setNodePolicy = defineRoute("setNodePolicy", "POST /v1/nodes/{id}/policy", {
  ...triable,
  summary:
    "Says what a node may do, instead of what was said before: kinds of work it never gets, jobs at once, and how far repairs may go. An empty policy takes it back.",
  body: () =>
    z.strictObject({
      except_kinds: z.array(word).max(100).default([]).describe("Kinds of work that it never gets."),
      max_jobs: z.int().min(1).max(10_000).nullable().default(null),
      repair: z.enum(REPAIRS).default("replace").describe("The hardest step of repair that may be used on it."),
      reason: note.optional(),
      dry_run: dryRun,
    }),
});

export const forgetNode = defineRoute("forgetNode", "POST /v1/nodes/{id}/forget", {
  ...triable,
  summary: "Removes a node for good. Its key is no longer valid, and its jobs return to the queue.",
  about: "The node that is removed, or would be, and its jobs.",
  answer: () => z.object({ node_id: z.string(), label: z.string(), jobs: z.array(z.string()), applied: z.boolean() }),
});

export type Node = Answer<typeof getNode>;
export type NodeHealthShown = Answer<typeof getNodeHealth>;
