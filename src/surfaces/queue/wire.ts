import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { failureSchema } from "../../work/job/failure.ts";
import { jobSpecSchema, savedSchema } from "../../work/job/job.ts";
import { evidenceSchema } from "../../work/job/kinds.ts";
import { JOB_ORDERS, JOB_STATES } from "../../work/job/states.ts";
import { URGENCIES } from "../../work/job/urgency.ts";
import { CURVE_LIMITS, LIVE_BOARD_LIMITS, METRIC_LIMITS } from "../../work/limits.ts";
import { answersTo, document, dryRun, name, nodeId, note, offer, time, whole, word } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";
import { slots } from "../nodes/wire.ts";
import { whereItRuns } from "../pipeline/wire.ts";

const tag = "work";
const MAX_IN_REQUEST = 1_000;
const MAX_BODY_BYTES = 4 * 1_024 * 1_024;

/** What workers say all the time: not recorded as writes, because the journal tells of each change and who made it. */
const daily = {
  tag,
  scope: "worker",
  limit: "beat",
  record: "no",
  maxBodyBytes: MAX_BODY_BYTES,
} as const;

const ref = lazy(() =>
  z.strictObject({ work_id: word, node_id: nodeId, fence: z.int().min(0) }).meta({ id: "LeaseRef" }),
);
const each = <T extends z.ZodType>(one: T) => z.array(one).min(1).max(MAX_IN_REQUEST);

const needs = lazy(() =>
  z
    .object({
      cpu: z.number(),
      gpu: z.number(),
      memory_gb: z.number(),
      gpu_memory_gb: z.number(),
      tags: z.array(z.string()),
    })
    .meta({ id: "Needs", description: "What a job takes of its node while it runs." }),
);

const lease = lazy(() =>
  z
    .object({
      work_id: z.string(),
      node_id: z.string(),
      fence: z.int(),
      task_id: z.string(),
      work_type: z.string(),
      config_key: z.string().nullable(),
      urgency: z.enum(URGENCIES),
      payload: document,
      traceparent: z.string().nullish().describe("W3C trace context of the job, for its program."),
      resume: z
        .object({ sha256: z.string(), bytes: z.int(), epoch: z.int() })
        .optional()
        .describe("The checkpoint that an earlier try saved when it was stopped: this one goes on from it."),
      // An older main process does not say what a job needs: then it takes its slot and nothing else.
      needs: needs().default({ cpu: 0, gpu: 0, memory_gb: 0, gpu_memory_gb: 0, tags: [] }),
      attempts: z.int(),
      max_attempts: z.int(),
      beat_by: time,
      expires_at: time,
    })
    .meta({ id: "Lease", description: "A job in the hands of a node." }),
);

export const claimWork = defineRoute("claimWork", "POST /v1/work/claim", {
  ...daily,
  summary: "Claims jobs for this node. With `wait_seconds` the request waits until there are some.",
  limit: "claim",
  bound: "jobs held: `work.max_held_by_node`, `work.max_held_by_token`; names of a token: `nodes.max_of_token`",
  body: () =>
    z.strictObject({
      node_id: nodeId,
      most: z.int().min(1).max(MAX_IN_REQUEST).default(1),
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
    }),
  about: "The leases. If there are none, when to ask again.",
  answer: () =>
    z.object({
      leases: z.array(lease()),
      server_time: time.optional().describe("By the clock that the times of the leases were read from."),
      retry_after_seconds: z.number().optional(),
      reason: z.string().optional(),
      code: z.string().optional().describe("NODE_HELD_BACK, or TOO_MANY_JOBS_HELD for one that has as many as it may."),
    }),
});

export const startWork = defineRoute("startWork", "POST /v1/work/start", {
  ...daily,
  summary: "Starts attempts. Their time limit runs from here on.",
  body: () =>
    z.strictObject({
      leases: each(
        z.strictObject({
          ref: ref(),
          pid: z
            .int()
            .min(1)
            .max(2 ** 31)
            .optional(),
        }),
      ),
    }),
  about: "The deadline of each attempt.",
  answer: () => answersTo(z.object({ expires_at: time })),
});

const metrics = lazy(() =>
  z
    .record(z.string().min(1).max(METRIC_LIMITS.name), z.number())
    .refine((given) => Object.keys(given).length <= METRIC_LIMITS.max, {
      error: `at most ${METRIC_LIMITS.max} numbers`,
    }),
);

export const beatWork = defineRoute("beatWork", "POST /v1/work/beat", {
  ...daily,
  summary: "Heartbeats of running jobs, with their progress.",
  body: () =>
    z.strictObject({
      beats: each(
        z.strictObject({
          ref: ref(),
          progress: z
            .strictObject({
              progress: z.number().min(0).max(1).optional(),
              games: z.int().min(0).optional(),
              metrics: metrics().optional().describe("A few numbers by name, as in losses; the newest are kept."),
            })
            .optional(),
        }),
      ),
    }),
  about: "How long each lease holds, and whether the job has to stop.",
  answer: () =>
    answersTo(
      z.object({
        beat_by: time,
        expires_at: time,
        stop: z.object({ kind: z.enum(["cancelled", "preempted"]), reason: z.string(), by: time }).nullable(),
        watched: z.boolean().optional().describe("Somebody looks at games: tell boards, if your program shows any."),
      }),
    ),
});

const board = lazy(() => ({
  lines: z
    .array(z.string().max(LIVE_BOARD_LIMITS.lineChars))
    .min(1)
    .max(LIVE_BOARD_LIMITS.lines)
    .describe("The rows of a board as people see them; `.` is empty, X O A B are the seats."),
  note: z.string().max(LIVE_BOARD_LIMITS.noteChars).optional().describe("One line below it."),
}));

export const tellBoards = defineRoute("tellBoards", "POST /v1/work/boards", {
  ...daily,
  summary: "Boards of games that a node plays now. They are shown to whoever looks, and kept nowhere.",
  bound: `${LIVE_BOARD_LIMITS.nodes} nodes at once, ${LIVE_BOARD_LIMITS.boardsOfNode} boards of each`,
  maxBodyBytes: 256 * 1_024,
  body: () =>
    z.strictObject({
      node_id: nodeId,
      boards: z
        .array(z.strictObject({ ref: ref(), board: z.strictObject(board()) }))
        .max(LIVE_BOARD_LIMITS.boardsOfNode),
    }),
  about: "Whether somebody still looks: if so, tell again after a second.",
  answer: () => z.object({ watched: z.boolean() }),
});

export const listBoards = defineRoute("listBoards", "GET /v1/work/boards", {
  tag,
  scope: "read",
  summary:
    "Boards of games that are played now. Asking makes a few nodes tell them for 15 s; the first come with their next beat.",
  about: "The newest board of each game.",
  answer: () =>
    z.object({
      boards: z.array(
        z.object({
          work_id: z.string(),
          work_type: z.string(),
          config_key: z.string().nullable(),
          node_id: z.string(),
          node: z.string(),
          ...board(),
          at: time,
        }),
      ),
    }),
});

const point = lazy(() =>
  z.object({
    at: time,
    progress: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe("Share of the run that was done; null where it did not tell."),
    metrics: metrics(),
  }),
);

export const tellCurves = defineRoute("tellCurves", "POST /v1/work/curves", {
  ...daily,
  summary:
    "What running jobs said of themselves step by step, as in losses. A word of somebody who does not hold the job is not heard.",
  bound: "400 points of a job; a longer curve is thinned out",
  body: () =>
    z.strictObject({
      curves: each(z.strictObject({ ref: ref(), points: z.array(point()).min(1).max(CURVE_LIMITS.told) })),
    }),
  about: "How many curves were taken.",
  answer: () => z.object({ taken: z.int() }),
});

const curves = lazy(() =>
  z.array(
    z
      .object({
        fence: z.int().describe("Grows with each try."),
        points: z.array(point()),
      })
      .meta({ id: "Curve", description: "The per-step metrics of one try of a job, oldest first." }),
  ),
);

export const getCurve = defineRoute("getCurve", "GET /v1/work/jobs/{id}/curve", {
  tag,
  summary: "Per-step metrics of one job: what its program said while it ran, as in losses.",
  params: () => z.strictObject({ id: name }),
  about: "One curve for each try, of at most 400 points in all. Jobs that said nothing have none.",
  answer: () => z.object({ work_id: z.string(), curves: curves() }),
});

export const listCurves = defineRoute("listCurves", "GET /v1/loop/{config}/curves", {
  ...whereItRuns,
  summary: "Per-step metrics of the newest training runs of a config.",
  params: () => z.strictObject({ config: name }),
  query: () => z.strictObject({ limit: whole(1, 20).default(4) }),
  about: "Newest first; runs that said nothing are left out.",
  answer: () =>
    z.object({
      runs: z.array(
        z.object({
          work_id: z.string(),
          state: z.enum(JOB_STATES),
          started_at: time.nullable(),
          curves: curves(),
        }),
      ),
    }),
});

export const completeWork = defineRoute("completeWork", "POST /v1/work/complete", {
  ...daily,
  summary: "Reports jobs that are done, with their evidence.",
  body: () => z.strictObject({ completions: each(z.strictObject({ ref: ref(), evidence: evidenceSchema() })) }),
  about: "Whether each counts.",
  answer: () => answersTo(z.object({ repeated: z.boolean() })),
});

const afterFailure = lazy(() => answersTo(z.object({ again: z.boolean(), retry_at: time.nullable() })));

export const failWork = defineRoute("failWork", "POST /v1/work/fail", {
  ...daily,
  summary: "Reports attempts that failed. Their class decides what follows.",
  body: () => z.strictObject({ failures: each(z.strictObject({ ref: ref(), failure: failureSchema() })) }),
  about: "Whether each is tried again.",
  answer: afterFailure,
});

export const releaseWork = defineRoute("releaseWork", "POST /v1/work/release", {
  ...daily,
  summary: "Gives jobs back. No attempt is used up.",
  body: () =>
    z.strictObject({
      releases: each(
        z.strictObject({
          ref: ref(),
          reason: note.min(1),
          saved: savedSchema()
            .optional()
            .describe("A checkpoint in the store from which the next try goes on; left out if it is not there."),
        }),
      ),
    }),
  about: "The new state of each job.",
  answer: afterFailure,
});

const job = lazy(() =>
  z
    .looseObject({
      work_id: z.string(),
      work_type: z.string(),
      config_key: z.string().nullable(),
      urgency: z.enum(URGENCIES),
      state: z.enum(JOB_STATES),
      attempts: z.int(),
      max_attempts: z.int(),
      node_id: z.string().nullable(),
      node: z.string().nullish().describe("What people call the node."),
      queued_at: time,
      retry_at: time.nullable(),
      deadline: time.nullable(),
      claimed_at: time.nullable(),
      started_at: time.nullable(),
      finished_at: time.nullable(),
      progress: z.number().nullable(),
      batch_id: z.string().nullable(),
      dedup_key: z.string().nullable(),
      evidence: evidenceSchema().nullable().describe("Of a completed one."),
      failure: z
        .object({ error: z.string(), error_code: z.string().nullable(), stderr_tail: z.string().nullable() })
        .nullable()
        .describe("Of one that failed, was cancelled, or waits for another try."),
      gpus: z.int().optional().describe("Accelerators that are its alone while it runs."),
      saved: z
        .looseObject({ sha256: z.string(), bytes: z.int(), epoch: z.int(), at: time })
        .nullable()
        .optional()
        .describe("The checkpoint that a stopped try left for the next one."),
      lapses: z
        .array(z.object({ node_id: z.string(), node: z.string().optional(), why: z.string(), lapsed_at: time }))
        .optional()
        .describe("From whom it was taken without a word; the first result counts."),
      would_be: z
        .enum(JOB_STATES)
        .optional()
        .describe("In the answer to a dry run: what it would be. Nothing was changed."),
    })
    .meta({ id: "Job" }),
);

export const addWork = defineRoute("addWork", "POST /v1/work/jobs", {
  tag,
  summary: "Adds jobs, all of them or none.",
  limit: "traffic",
  bound: "250,000 jobs that are not finished",
  body: () => z.strictObject({ jobs: each(jobSpecSchema()) }),
  maxBodyBytes: MAX_BODY_BYTES,
  about: "The id of each job. For a duplicate, the id of the job that had its dedup key first.",
  answer: () => z.object({ added: z.array(z.object({ work_id: z.string(), duplicate: z.boolean() })) }),
  status: 201,
});

export const listWork = defineRoute("listWork", "GET /v1/work/jobs", {
  tag,
  summary: "Jobs: the oldest, the newest, or the most urgent ones first.",
  query: () =>
    z.strictObject({
      state: z.enum(JOB_STATES).optional(),
      config_key: name.optional(),
      work_type: name.optional(),
      node_id: name.optional(),
      batch_id: name.optional(),
      after: name.optional().describe("Only jobs that were added after this one."),
      before: name.optional().describe("Only jobs that were added before this one."),
      order: z.enum(JOB_ORDERS).default("oldest").describe("Which come first."),
      limit: whole(1, 1_000).default(100),
    }),
  about: "The matching ones.",
  answer: () => z.object({ jobs: z.array(job()) }),
});

export const listFailures = defineRoute("listFailures", "GET /v1/work/failures", {
  tag,
  summary: "What fails, by kind and cause: how many jobs, first and last seen, on which nodes.",
  limit: "heavy",
  about: "Of the newest 1,000 jobs that failed and 1,000 that will be tried again, those that failed most often first.",
  answer: () =>
    z.object({
      failures: z.array(
        z
          .object({
            work_type: z.string(),
            error_code: z.string().nullable(),
            error: z.string().describe("Of the newest."),
            jobs: z.int(),
            first_at: time,
            last_at: time,
            nodes: z.array(z.string()).describe("Where they failed, by name."),
            work_id: z.string().describe("The newest; it has the end of its standard error."),
          })
          .meta({ id: "FailureGroup" }),
      ),
    }),
});

const one = { tag, params: () => z.strictObject({ id: name }), about: "The job as it is now.", answer: job } as const;

export const getWork = defineRoute("getWork", "GET /v1/work/jobs/{id}", {
  ...one,
  summary: "One job.",
});

export const cancelWork = defineRoute("cancelWork", "POST /v1/work/jobs/{id}/cancel", {
  ...one,
  summary: "Cancels a job. Its holder hears of it at its next heartbeat.",
  body: () => z.strictObject({ reason: note.min(1), dry_run: dryRun }),
});

export const retryWork = defineRoute("retryWork", "POST /v1/work/jobs/{id}/retry", {
  ...one,
  summary: "Tries a failed or cancelled job again, with all its attempts.",
  body: () => z.strictObject({ reason: note.optional(), dry_run: dryRun }),
});

export const getWorkStats = defineRoute("getWorkStats", "GET /v1/work/stats", {
  tag,
  summary: "How many jobs wait and for how long, and how many are running.",
  about: "Totals, by state, and by config and kind.",
  answer: () =>
    z.looseObject({
      unfinished: z.int(),
      states: z.record(z.string(), z.int()),
      pending: z.int(),
      delayed: z.int(),
      blocked: z.int(),
      held: z.int(),
      oldest_seconds: z.number(),
      oldest_by_kind: z
        .record(z.string(), z.number())
        .optional()
        .describe("For how many seconds the oldest of each kind waits that somebody could take."),
      claims_waiting: z.int(),
      kinds: z.array(z.string()),
      slots: z
        .array(slots().extend({ node: z.string() }))
        .optional()
        .describe("Nodes that may hold fewer jobs than they have room for."),
      counts: z.array(
        z.object({
          config_key: z.string().nullable(),
          work_type: z.string(),
          state: z.enum(JOB_STATES),
          jobs: z.int(),
        }),
      ),
    }),
});

const nextJob = lazy(() =>
  z.object({
    work_id: z.string(),
    work_type: z.string(),
    config_key: z.string().nullable(),
    urgency: z.enum(URGENCIES),
    counts_as: z.enum(URGENCIES).describe("Its urgency with its waiting counted in."),
    waited_seconds: z.number(),
    share: z.number().describe("The share of its config of all jobs that are handed out."),
    owed: z.number().describe("What its config is owed of its share, in units of cost."),
  }),
);

export const forecastWork = defineRoute("forecastWork", "GET /v1/work/next", {
  tag,
  summary: "Which jobs the queue would hand out next, to which node and why. Asking hands out nothing.",
  limit: "heavy",
  about: "Nodes in the order in which they would be served, at most 100, with up to 10 jobs each.",
  answer: () =>
    z.object({
      nodes: z.array(
        z.object({
          node: z.string(),
          after: z
            .object({ work_id: z.string(), ends_in_seconds: z.number().nullable() })
            .nullable()
            .describe("The job that has to end first; null if the node has room now."),
          jobs: z.array(nextJob()),
          held: z.string().nullable().describe("Why it gets no jobs, or fewer than it has room for."),
        }),
      ),
      configs: z.array(z.object({ config_key: z.string().nullable(), share: z.number(), owed: z.number() })),
      preemptions: z
        .array(z.object({ stop: z.string(), for: z.string() }))
        .describe("Running jobs that would be stopped for more urgent ones."),
      untaken: z
        .array(z.object({ work_id: z.string(), work_type: z.string(), waited_seconds: z.number(), reason: z.string() }))
        .describe("Jobs that no connected worker may take."),
    }),
});

export const getLoadForecast = defineRoute("getLoadForecast", "GET /v1/work/forecast", {
  tag,
  summary: "How many slots the work of the next hours will fill, and how far such forecasts were off.",
  about: "From what came lately, what came at this time of the days before, and what is planned.",
  answer: () =>
    z.object({
      hours: z
        .array(z.object({ at: time, slots: z.number() }))
        .describe("Slots that are filled on average in each hour from now on."),
      errors: z
        .array(z.object({ ahead_seconds: z.number(), error: z.number().nullable() }))
        .describe("How far forecasts were off lately, as a share of what came; null before the first was judged."),
      waiting_slots: z.number().describe("Slots that what waits now would fill for an hour."),
      planned_slots: z.number().describe("The same of jobs that are planned and not in the queue yet."),
      slots: z.number().describe("Slots that are there."),
      wanted_slots: z.number().describe("Slots that are wanted when a machine that is ordered now would be there."),
    }),
});

export type Job = Answer<typeof getWork>;
