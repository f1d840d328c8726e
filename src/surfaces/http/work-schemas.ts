/** What workers say and are told, on the wire. Times are Unix seconds. */
import { z } from "zod";
import {
  evidenceSchema,
  failureSchema,
  JOB_STATES,
  jobSpecSchema,
  METRIC_LIMITS,
  URGENCIES,
} from "../../work/index.ts";
import * as schema from "./schemas.ts";

const nodeId = z.string().regex(/^[\w.:-]{1,200}$/, "must be 1 to 200 letters, digits or . : - _");
const word = z.string().min(1).max(200);
const MOST_IN_REQUEST = 1_000;

export const offer = z
  .strictObject({
    cpu: z.number().min(0).max(65_536),
    gpu: z.number().min(0).max(4_096).default(0),
    memory_gb: z.number().min(0).max(1_000_000).default(0),
    gpu_memory_gb: z.number().min(0).max(65_536).default(0),
    tags: z.array(z.string().min(1).max(64)).max(64).default([]),
  })
  .meta({ id: "Offer", description: "What a node has free." });

const ref = z.strictObject({ work_id: word, node_id: nodeId, fence: z.int().min(0) }).meta({ id: "LeaseRef" });

const each = <T extends z.ZodType>(one: T) => z.array(one).min(1).max(MOST_IN_REQUEST);

export const claimBody = z.strictObject({
  node_id: nodeId,
  most: z.int().min(1).max(MOST_IN_REQUEST).default(1),
  offer,
  kinds: z.array(word).max(100).optional(),
  wait_seconds: z.number().min(0).max(30).default(0),
  claim_id: word
    .optional()
    .describe("The node's own name of this request: said again, it gets the leases that it got, until they began."),
  start: z
    .boolean()
    .default(false)
    .describe("The node begins with them at once: the attempts run from here on, and `start` need not be said."),
});

export const startBody = z.strictObject({
  leases: each(
    z.strictObject({
      ref,
      pid: z
        .int()
        .min(1)
        .max(2 ** 31)
        .optional(),
    }),
  ),
});
export const beatBody = z.strictObject({
  beats: each(
    z.strictObject({
      ref,
      progress: z
        .strictObject({
          progress: z.number().min(0).max(1).optional(),
          games: z.int().min(0).optional(),
          metrics: z
            .record(z.string().min(1).max(METRIC_LIMITS.name), z.number())
            .refine((metrics) => Object.keys(metrics).length <= METRIC_LIMITS.most, {
              error: `at most ${METRIC_LIMITS.most} numbers`,
            })
            .optional()
            .describe("A few numbers by name, as in losses; the newest are kept."),
        })
        .optional(),
    }),
  ),
});
export const completeBody = z.strictObject({ completions: each(z.strictObject({ ref, evidence: evidenceSchema })) });
export const failBody = z.strictObject({ failures: each(z.strictObject({ ref, failure: failureSchema })) });
export const releaseBody = z.strictObject({
  releases: each(z.strictObject({ ref, reason: z.string().min(1).max(2_000) })),
});

/** What a job takes of its node while it runs, said in full. */
const needs = z
  .object({
    cpu: z.number(),
    gpu: z.number(),
    memory_gb: z.number(),
    gpu_memory_gb: z.number(),
    tags: z.array(z.string()),
  })
  .meta({ id: "Needs", description: "What a job takes of its node while it runs." });

export const lease = z
  .object({
    work_id: z.string(),
    node_id: z.string(),
    fence: z.int(),
    task_id: z.string(),
    work_type: z.string(),
    config_key: z.string().nullable(),
    urgency: z.enum(URGENCIES),
    payload: schema.document,
    needs,
    attempts: z.int(),
    max_attempts: z.int(),
    beat_by: z.number(),
    expires_at: z.number(),
  })
  .meta({ id: "Lease", description: "A job in the hands of a node." });

const refused = z.object({
  ok: z.literal(false),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }),
});
/** One answer for each, in the order of the request. */
export const answersOf = (value: z.ZodType) =>
  z.object({ answers: z.array(z.union([z.object({ ok: z.literal(true), value }), refused])) });

export const beatAnswer = z.object({
  beat_by: z.number(),
  expires_at: z.number(),
  stop: z.object({ kind: z.enum(["cancelled", "preempted"]), reason: z.string(), by: z.number() }).nullable(),
});
export const afterFailure = z.object({ again: z.boolean(), retry_at: z.number().nullable() });

export const addBody = z.strictObject({ jobs: each(jobSpecSchema) });
export const jobView = z
  .looseObject({
    work_id: z.string(),
    work_type: z.string(),
    config_key: z.string().nullable(),
    urgency: z.enum(URGENCIES),
    state: z.enum(JOB_STATES),
    attempts: z.int(),
    max_attempts: z.int(),
    node_id: z.string().nullable(),
    queued_at: z.number(),
    finished_at: z.number().nullable(),
  })
  .meta({ id: "Job" });

export const jobQuery = z.strictObject({
  state: z.enum(JOB_STATES).optional(),
  config_key: schema.name.optional(),
  work_type: schema.name.optional(),
  node_id: schema.name.optional(),
  batch_id: schema.name.optional(),
  after: schema.name.optional().describe("Only jobs that were added after this one."),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
});
