import { z } from "zod";
import { type DeadLetterFilter, inUnixSeconds } from "../../../router/index.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "dead letters";

const filterOf = (given: Partial<z.output<typeof schema.deadLetterActionBody>>): DeadLetterFilter => ({
  ...(given.id === undefined ? {} : { id: given.id }),
  ...(given.event_id === undefined ? {} : { eventId: given.event_id }),
  ...(given.consumer === undefined ? {} : { consumer: given.consumer }),
  ...(given.event_type === undefined ? {} : { eventType: given.event_type }),
  ...(given.fingerprint === undefined ? {} : { fingerprint: given.fingerprint }),
  ...(given.before === undefined ? {} : { before: given.before * 1_000 }),
});

/** Who the record names: what the caller says of itself counts only where nothing better is known of it. */
const actorOf = (said: string, known: string): string =>
  known.startsWith("local:") && said !== "unknown" ? said : known;

const acted = {
  200: {
    about: "The letters that it was about.",
    schema: z.object({ dry_run: z.boolean(), dead_letters: z.array(schema.deadLetterRow) }),
  },
};

export const deadLetterRoutes: readonly Route[] = [
  route({
    id: "listDeadLetters",
    method: "GET",
    path: "/v1/dead-letters",
    tag,
    summary: "Deliveries whose tries are spent.",
    scope: "read",
    limit: "heavy",
    query: schema.deadLetterQuery,
    answers: {
      200: { about: "Oldest first.", schema: z.object({ dead_letters: z.array(schema.deadLetterRow) }) },
    },
    handle({ ports, query: { limit, status, ...rest } }) {
      const filter = { ...filterOf(rest), ...(status === undefined ? {} : { status }) };
      return { dead_letters: ports.router.deadLetters.list(filter, limit).map(inUnixSeconds) };
    },
  }),
  route({
    id: "summarizeDeadLetters",
    method: "GET",
    path: "/v1/dead-letters/summary",
    tag,
    summary: "Dead letters by status, and those with one cause together.",
    scope: "read",
    limit: "heavy",
    answers: {
      200: {
        about: "Counts, and groups of the pending ones.",
        schema: z.object({ counts: z.record(z.string(), z.int()), groups: z.array(schema.document) }),
      },
    },
    handle: ({ ports: { router } }) => ({
      counts: router.deadLetters.counts(),
      groups: router.deadLetters.getErrorSummary(100).map(inUnixSeconds),
    }),
  }),
  route({
    id: "retryDeadLetters",
    method: "POST",
    path: "/v1/dead-letters/retry",
    tag,
    summary: "Sends letters back to the consumer that failed, and to nobody else.",
    scope: "operator",
    limit: "write",
    body: schema.deadLetterActionBody,
    answers: acted,
    async handle({ ports, body, caller }) {
      const letters = await ports.router.deadLetters.retryAll({
        filter: filterOf(body),
        maxEvents: body.max_events,
        dryRun: body.dry_run,
        actor: actorOf(body.actor, caller.actor),
        ...(body.per_second === undefined ? {} : { perSecond: body.per_second }),
      });
      return { dry_run: body.dry_run, dead_letters: letters.map(inUnixSeconds) };
    },
  }),
  route({
    id: "discardDeadLetters",
    method: "POST",
    path: "/v1/dead-letters/discard",
    tag,
    summary: "Gives letters up for good, on record.",
    scope: "operator",
    limit: "write",
    body: schema.deadLetterActionBody,
    answers: acted,
    async handle({ ports, body, caller }) {
      const letters = await ports.router.deadLetters.discard({
        filter: filterOf(body),
        maxEvents: body.max_events,
        dryRun: body.dry_run,
        actor: actorOf(body.actor, caller.actor),
      });
      return { dry_run: body.dry_run, dead_letters: letters.map(inUnixSeconds) };
    },
  }),
  route({
    id: "cleanUpDeadLetters",
    method: "POST",
    path: "/v1/dead-letters/cleanup",
    tag,
    summary: "Forgets letters that were resolved long ago; unresolved ones stay.",
    scope: "operator",
    limit: "write",
    body: schema.cleanupBody,
    answers: { 200: { about: "How many were forgotten.", schema: z.object({ deleted: z.int() }) } },
    handle: async ({ ports, body }) => ({ deleted: await ports.router.deadLetters.cleanup(body.older_than_hours) }),
  }),
];
