import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import {
  BACKEND_ROLES,
  SYNC_BACKENDS,
  SYNC_DATA_TYPES,
  SYNC_PRIORITIES,
  type SyncResponse,
} from "../../sync/facade/request.ts";
import { DELIVERY_VIEWS, ORDER_ACTIONS, ORDER_STATES, TRANSPORTS } from "../../sync/orders/order.ts";
import { name, note, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "sync";
const nodes = lazy(() => z.array(name).min(1).max(1_000));

const request = lazy(() =>
  z.strictObject({
    data_type: z.enum(SYNC_DATA_TYPES),
    targets: nodes().optional().describe("Nodes by id or name; all that are able unless given."),
    board_type: name.optional(),
    num_players: z.int().min(2).max(4).optional(),
    priority: z.enum(SYNC_PRIORITIES).default("normal"),
    timeout_seconds: z.number().positive().max(86_400).default(300),
    bandwidth_limit_mbps: z.number().positive().max(100_000).optional().describe("Megabytes a second, for each node."),
    exclude_nodes: nodes().optional(),
    prefer_ephemeral: z.boolean().default(false).describe("Bring home first what lies on rented nodes."),
    require_confirmation: z.boolean().default(true).describe("Wait until every copy was shown to be there."),
  }),
);

const response = lazy(() =>
  z
    .object({
      success: z.boolean(),
      backend_used: z.enum(SYNC_BACKENDS),
      nodes_synced: z.int(),
      bytes_transferred: z.int(),
      duration_seconds: z.number(),
      errors: z.array(z.string()),
      details: z.object({
        sync_id: z.string(),
        files: z.int(),
        files_arrived: z.int(),
        pending: z.int(),
        nodes: z.array(z.string()),
        tried: z.array(z.enum(SYNC_BACKENDS)),
      }),
    })
    .meta({ id: "SyncResponse" }),
);

const judgement = lazy(() =>
  z.looseObject({
    node: z.string(),
    skipped: z
      .object({
        why: z.string(),
        actual: z.union([z.string(), z.number()]),
        required: z.union([z.string(), z.number()]),
      })
      .nullable(),
    score: z.number(),
    reasons: z.array(
      z.object({
        what: z.string(),
        actual: z.number().nullable(),
        required: z.number().nullable(),
        points: z.number(),
      }),
    ),
  }),
);

const plan = lazy(() =>
  z
    .object({
      backend: z.enum(SYNC_BACKENDS),
      files: z.int(),
      bytes: z.int(),
      nodes: z.array(z.object({ node: z.string(), files: z.int(), bytes: z.int() })),
      judgements: z.array(judgement()).describe("Why each node gets its share, or nothing."),
      backends: z
        .array(
          z.object({
            backend: z.enum(SYNC_BACKENDS),
            role: z.enum(BACKEND_ROLES),
            why: z.string(),
            actual: z.string(),
            required: z.string(),
          }),
        )
        .describe("Why this backend, what comes after it if it fails, and which are not meant."),
      ways: z
        .array(
          z.object({
            node: z.string(),
            action: z.enum(ORDER_ACTIONS).describe("send: the node brings it to the main process."),
            files: z.int(),
            bytes: z.int(),
            sources: z
              .array(
                z.object({
                  node: z.string(),
                  transports: z.array(z.enum(TRANSPORTS)),
                  feeding: z.int().describe("Nodes that it sends to now."),
                  depth: z.int().describe("Nodes between it and one that has the whole file; 0 for one that has it."),
                  troubled: z.boolean().describe("Its own transfers fail again and again."),
                }),
              )
              .describe("In the order in which they are asked."),
            passed_over: z.array(
              z.object({ node: z.string(), why: z.string(), actual: z.string(), required: z.string() }),
            ),
          }),
        )
        .describe("From whom each node would get its files."),
      transfers_looked_at: z.int().describe("So many transfers, the first ones, are in 'ways'."),
      error: z.string().nullable(),
    })
    .meta({ id: "SyncPlan" }),
);

const sync = lazy(() =>
  z
    .looseObject({
      sync_id: z.string(),
      state: z.string(),
      backend: z.enum(SYNC_BACKENDS),
      requested_by: z.string(),
      started_at: time,
      ended_at: time.nullable(),
      files: z.int(),
      arrived: z.int(),
      failed: z.int(),
      bytes: z.int(),
      bytes_done: z.int(),
      bytes_per_second: z.number().nullable(),
      seconds_left: z.number().nullable(),
    })
    .meta({ id: "Sync" }),
);

export const runSync = defineRoute("runSync", "POST /v1/sync", {
  tag,
  summary:
    "Sends files to nodes. The answer comes at once with the id of the sync; ask for its state to see the progress.",
  body: request,
  about: "The sync that began.",
  answer: sync,
});

export const explainSync = defineRoute("explainSync", "POST /v1/sync/explain", {
  tag,
  summary: "What a sync would do and why, without doing it.",
  body: request,
  about: "Which nodes would get which files, and why others would not.",
  answer: plan,
});

export const listSyncs = defineRoute("listSyncs", "GET /v1/sync", {
  tag,
  summary: "Syncs with their progress, newest first, and the health of the facade.",
  query: () => z.strictObject({ limit: whole(1, 1_000).default(20) }),
  about: "The syncs that are running or have ended.",
  answer: () =>
    z.object({
      syncs: z.array(sync()),
      stats: z.object({
        total_syncs: z.int(),
        by_backend: z.record(z.string(), z.int()),
        total_bytes: z.int(),
        total_errors: z.int(),
      }),
      health: z.object({ healthy: z.boolean(), status: z.string(), message: z.string() }),
    }),
});

const delivery = lazy(() =>
  z
    .object({
      order_id: z.int(),
      sync_id: z.string(),
      node: z.string().describe("Who carries it out."),
      action: z.enum(ORDER_ACTIONS),
      sha256: z.string(),
      kind: z.string(),
      config_key: z.string().nullable(),
      state: z.enum(ORDER_STATES),
      reason: z.string(),
      attempts: z.int(),
      bytes: z.int(),
      bytes_done: z.int(),
      error: z.string().nullable(),
      ordered_at: time,
      next_at: time.nullable().describe("When it is tried next; null if it is under way or over."),
      ended_at: time.nullable().describe("When it arrived or was given up."),
      tries: z.array(
        z.object({
          attempt: z.int(),
          transport: z.string().nullable(),
          place: z.string().nullable(),
          code: z.string().nullable().describe("What kind of failure it was; null if it brought the file."),
          error: z.string().nullable(),
          at: time,
        }),
      ),
    })
    .meta({ id: "Delivery" }),
);

export const listDeliveries = defineRoute("listDeliveries", "GET /v1/sync/deliveries", {
  tag,
  summary:
    "Single transfers, newest first: the tries and their ways, the time of the next try, and what failed for good.",
  query: () =>
    z.strictObject({
      view: z.enum(DELIVERY_VIEWS).default("failing"),
      node: name.optional(),
      limit: whole(1, 1_000).default(20),
    }),
  about: "Transfers, and the state of the nodes that carry them out.",
  answer: () =>
    z.object({
      deliveries: z.array(delivery()),
      hosts: z.array(
        z.object({
          node: z.string(),
          waiting: z.int(),
          running: z.int(),
          bytes: z.int().describe("That it still lacks of what it shall have."),
          failures: z.int().describe("Tries that failed since the last thing arrived."),
          reasons: z.record(z.string(), z.int()),
          last_success_at: time.nullable(),
        }),
      ),
      ways: z
        .array(
          z.object({
            node: z.string().describe("Who fetches by it."),
            transport: z.string(),
            place: z.string().describe("From where: a node, a disk, a store."),
            state: z.string().describe("open: it failed again and again, and is passed over for now."),
            files: z.int(),
            bytes: z.int(),
            failures: z.int(),
            stalls: z.int(),
            error: z.string().nullable(),
          }),
        )
        .describe("Ways by which files came to nodes since each of them started."),
    }),
});

export const showSync = defineRoute("showSync", "GET /v1/sync/{id}", {
  tag,
  summary: "One sync, with its progress and its result.",
  params: () => z.strictObject({ id: name }),
  about: "The sync.",
  answer: () => sync().extend({ response: response().nullable() }).meta({ id: "SyncDetails" }),
});

export const cancelSync = defineRoute("cancelSync", "POST /v1/sync/{id}/cancel", {
  tag,
  summary: "Cancels a sync. Files that have arrived stay; the rest is not fetched.",
  params: () => z.strictObject({ id: name }),
  body: () => z.strictObject({ reason: note.optional() }),
  about: "The sync as it ended.",
  answer: sync,
});

export type SyncPlanView = Answer<typeof explainSync>;
export type SyncView = Answer<typeof listSyncs>["syncs"][number];
export type DeliveriesView = Answer<typeof listDeliveries>;
export type SyncDetails = Answer<typeof showSync>;

/** What a sync came to, as it is kept, in the words of the wire. */
export function responseOf(kept: string | null): SyncDetails["response"] {
  if (kept === null) return null;
  const { success, backendUsed, nodesSynced, bytesTransferred, durationSeconds, errors, details } = JSON.parse(
    kept,
  ) as SyncResponse;
  return {
    success,
    backend_used: backendUsed,
    nodes_synced: nodesSynced,
    bytes_transferred: bytesTransferred,
    duration_seconds: durationSeconds,
    errors: [...errors],
    details: {
      sync_id: details.syncId,
      files: details.files,
      files_arrived: details.filesArrived,
      pending: details.pending,
      nodes: [...details.nodes],
      tried: [...details.tried],
    },
  };
}
