import { z } from "zod";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { Answer, JobFilter } from "../../../work/index.ts";

import { assertSpeaksFor } from "../node-callers.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";
import * as work from "../work-schemas.ts";

const tag = "work";
const MOST_BODY_BYTES = 4 * 1_024 * 1_024;
/** The signal of a caller that is answered at once. */
const STAYS = new AbortController().signal;
/** A node that gets nothing for now comes back after this. */
const HELD_BACK_SECONDS = 10;
const one = z.strictObject({ id: schema.name });
const jobAnswer = { 200: { about: "The job as it is now.", schema: work.jobView } };
const needs = ["work"] as const;

/** What workers say all the time: not recorded as writes, because the journal tells of each change and who made it. */
const daily = { tag, scope: "worker", needs, record: "no", mostBodyBytes: MOST_BODY_BYTES } as const;

const settled = async <T>(asked: Promise<T>): Promise<Answer<T>> => {
  try {
    return { ok: true, value: await asked };
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return { ok: false, error: thrown };
  }
};

const onTheWire = (answers: readonly Answer<unknown>[]) => ({
  answers: answers.map((answer) =>
    answer.ok
      ? answer
      : {
          ok: false,
          error: { code: answer.error.code, message: answer.error.message, retryable: answer.error.retryable },
        },
  ),
});

/** How many jobs there are, by state. */
const byState = (counts: readonly { state: string; jobs: number }[]) => {
  const sums: Record<string, number> = {};
  for (const { state, jobs } of counts) sums[state] = (sums[state] ?? 0) + jobs;
  return sums;
};

const filterOf = (query: z.output<typeof work.jobQuery>): JobFilter => {
  const { state, config_key, work_type, node_id, batch_id, after, limit } = query;
  return {
    limit,
    ...(state === undefined ? {} : { state }),
    ...(config_key === undefined ? {} : { configKey: config_key }),
    ...(work_type === undefined ? {} : { workType: work_type }),
    ...(node_id === undefined ? {} : { nodeId: node_id }),
    ...(batch_id === undefined ? {} : { batchId: batch_id }),
    ...(after === undefined ? {} : { after }),
  };
};

/** What workers do with jobs. Each of many is answered by itself; saying the same again changes nothing. */
const workerRoutes: readonly Route[] = [
  route({
    ...daily,
    id: "claimWork",
    method: "POST",
    path: "/v1/work/claim",
    summary: "Leases on jobs that this node may have now; with wait_seconds it stays open until there are some.",
    limit: "claim",
    body: work.claimBody,
    answers: {
      200: {
        about: "The leases; none, with when to ask again, if there is nothing for it.",
        schema: z.object({
          leases: z.array(work.lease),
          retry_after_seconds: z.number().optional(),
          reason: z.string().optional(),
        }),
      },
    },
    async handle(call) {
      const { ports, body, caller } = call;
      assertSpeaksFor(caller, [body.node_id], ports);
      const { wait_seconds, kinds, ...request } = body;
      const asked = ports.work!.desk.claim(
        { ...request, ...(kinds === undefined ? {} : { kinds }) },
        wait_seconds * 1_000,
        // Listening for a caller that hangs up has its price, and pays only while somebody waits.
        wait_seconds > 0 ? call.signal : STAYS,
      );
      const answer = await settled(asked);
      if (answer.ok) return { leases: answer.value };
      if (answer.error.code !== "NODE_HELD_BACK") throw answer.error;
      return { leases: [], retry_after_seconds: HELD_BACK_SECONDS, reason: answer.error.message };
    },
  }),
  route({
    ...daily,
    id: "startWork",
    method: "POST",
    path: "/v1/work/start",
    summary: "Begins the attempts: from here on their own time runs.",
    limit: "beat",
    body: work.startBody,
    answers: {
      200: {
        about: "When each attempt must have ended.",
        schema: work.answersOf(z.object({ expires_at: z.number() })),
      },
    },
    async handle({ ports, body: { leases }, caller }) {
      assertSpeaksFor(caller, nodesOf(leases), ports);
      const { queue } = ports.work!;
      return onTheWire(await Promise.all(leases.map(({ ref, pid }) => settled(queue.start(ref, pid)))));
    },
  }),
  route({
    ...daily,
    id: "beatWork",
    method: "POST",
    path: "/v1/work/beat",
    summary: "Signs of life of running jobs, with how far they are.",
    limit: "beat",
    body: work.beatBody,
    answers: {
      200: { about: "Until when each is believed, and whether to stop.", schema: work.answersOf(work.beatAnswer) },
    },
    async handle({ ports, body: { beats }, caller }) {
      assertSpeaksFor(caller, nodesOf(beats), ports);
      const said = beats.map(({ ref, progress = {} }) => ({
        ref,
        progress: {
          ...(progress.progress === undefined ? {} : { progress: progress.progress }),
          ...(progress.games === undefined ? {} : { games: progress.games }),
        },
      }));
      return onTheWire(await ports.work!.queue.heartbeatAll(said));
    },
  }),
  route({
    ...daily,
    id: "completeWork",
    method: "POST",
    path: "/v1/work/complete",
    summary: "Jobs that are done, with their evidence.",
    limit: "beat",
    body: work.completeBody,
    answers: { 200: { about: "Whether each counts.", schema: work.answersOf(z.object({ repeated: z.boolean() })) } },
    async handle({ ports, body: { completions }, caller }) {
      assertSpeaksFor(caller, nodesOf(completions), ports);
      return onTheWire(await ports.work!.queue.completeAll(completions as never));
    },
  }),
  route({
    ...daily,
    id: "failWork",
    method: "POST",
    path: "/v1/work/fail",
    summary: "Attempts that failed; their class decides what follows.",
    limit: "beat",
    body: work.failBody,
    answers: { 200: { about: "Whether each is tried again.", schema: work.answersOf(work.afterFailure) } },
    async handle({ ports, body: { failures }, caller }) {
      assertSpeaksFor(caller, nodesOf(failures), ports);
      const { queue } = ports.work!;
      return onTheWire(await Promise.all(failures.map(({ ref, failure }) => settled(queue.fail(ref, failure)))));
    },
  }),
  route({
    ...daily,
    id: "releaseWork",
    method: "POST",
    path: "/v1/work/release",
    summary: "Gives jobs back; no attempt is spent.",
    limit: "beat",
    body: work.releaseBody,
    answers: { 200: { about: "What became of each.", schema: work.answersOf(work.afterFailure) } },
    async handle({ ports, body: { releases }, caller }) {
      assertSpeaksFor(caller, nodesOf(releases), ports);
      const { queue } = ports.work!;
      return onTheWire(await Promise.all(releases.map(({ ref, reason }) => settled(queue.release(ref, reason)))));
    },
  }),
];

const nodesOf = (items: readonly { readonly ref: { readonly node_id: string } }[]): string[] => [
  ...new Set(items.map(({ ref }) => ref.node_id)),
];

/** What operators see and decide. */
const operatorRoutes: readonly Route[] = [
  route({
    id: "addWork",
    method: "POST",
    path: "/v1/work/jobs",
    tag,
    summary: "Adds jobs, all of them or none.",
    scope: "operator",
    limit: "write",
    body: work.addBody,
    mostBodyBytes: MOST_BODY_BYTES,
    answers: {
      201: {
        about: "The id of each; a duplicate is the job that had its dedup key first.",
        schema: z.object({ added: z.array(z.object({ work_id: z.string(), duplicate: z.boolean() })) }),
      },
    },
    needs,
    async handle({ ports, body: { jobs }, caller: { actor } }) {
      const specs = jobs.map((job) => ({ ...job, requested_by: job.requested_by ?? actor }));
      return { added: await ports.work!.queue.addAll(specs as never) };
    },
  }),
  route({
    id: "listWork",
    method: "GET",
    path: "/v1/work/jobs",
    tag,
    summary: "Jobs, in the order they were added.",
    scope: "read",
    limit: "read",
    query: work.jobQuery,
    answers: { 200: { about: "Those that fit.", schema: z.object({ jobs: z.array(work.jobView) }) } },
    needs,
    handle: ({ ports, query }) => ({ jobs: ports.work!.queue.list(filterOf(query)) }),
  }),
  route({
    id: "getWork",
    method: "GET",
    path: "/v1/work/jobs/{id}",
    tag,
    summary: "One job.",
    scope: "read",
    limit: "read",
    params: one,
    answers: jobAnswer,
    needs,
    handle({ ports, params: { id } }) {
      const found = ports.work!.queue.show(id);
      if (found === undefined) throw new OperatingError("JOB_NOT_FOUND", `there is no job '${id}'`);
      return found;
    },
  }),
  route({
    id: "cancelWork",
    method: "POST",
    path: "/v1/work/jobs/{id}/cancel",
    tag,
    summary: "Takes a job back; its holder is told at its next beat.",
    scope: "operator",
    limit: "write",
    params: one,
    body: schema.reasonBody,
    answers: jobAnswer,
    needs,
    async handle({ ports, params: { id }, body: { reason }, caller: { actor } }) {
      await ports.work!.queue.cancel(id, { reason, requested_by: actor });
      return ports.work!.queue.show(id);
    },
  }),
  route({
    id: "retryWork",
    method: "POST",
    path: "/v1/work/jobs/{id}/retry",
    tag,
    summary: "Lets a job that failed or was cancelled be tried again, with all its attempts.",
    scope: "operator",
    limit: "write",
    params: one,
    body: schema.optionalReasonBody,
    answers: jobAnswer,
    needs,
    async handle({ ports, params: { id }, body: { reason = "asked for" }, caller: { actor } }) {
      await ports.work!.queue.retry(id, { reason, requested_by: actor });
      return ports.work!.queue.show(id);
    },
  }),
  route({
    id: "getWorkStats",
    method: "GET",
    path: "/v1/work/stats",
    tag,
    summary: "How much waits and for how long, and how much is under way.",
    scope: "read",
    limit: "read",
    answers: {
      200: {
        about: "In all, by state, and by config and kind.",
        schema: z.looseObject({
          unfinished: z.int(),
          states: z.record(z.string(), z.int()),
          pending: z.int(),
          delayed: z.int(),
          blocked: z.int(),
          held: z.int(),
          oldest_seconds: z.number(),
          claims_waiting: z.int(),
          kinds: z.array(z.string()),
          counts: z.array(schema.document),
        }),
      },
    },
    needs,
    handle({ ports }) {
      const { queue, desk } = ports.work!;
      const { oldestSeconds, ...load } = queue.load();
      const counts = queue.counts();
      return {
        unfinished: queue.unfinished,
        states: byState(counts),
        ...load,
        oldest_seconds: oldestSeconds,
        claims_waiting: desk.waiting,
        kinds: queue.kinds,
        counts,
      };
    },
  }),
];

export const workRoutes: readonly Route[] = [...workerRoutes, ...operatorRoutes];
