/** The closed loop on the wire. What is added later is no break: objects are open. */

import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { books, failure, ladder, snapshot, stage, value } from "../../pipeline/snapshot.ts";
import { encoderOf } from "../http/encode.ts";
import { document, name, note, problem, time, whole } from "../http/fields.ts";
import { PROBLEM_TYPE } from "../http/problem.ts";
import { type Answer, defineRoute, type RawAnswer } from "../http/wire.ts";

const tag = "loop";
/** Where there is no loop, its routes are there and say so. */
export const whereItRuns = {
  tag,
  otherAnswers: { 503: { about: "No loop runs in this process.", schema: () => problem, type: PROBLEM_TYPE } },
} as const;
const params = lazy(() => z.strictObject({ config: field.config_key }));

export const getPipeline = defineRoute("getLoop", "GET /v1/loop", {
  ...whereItRuns,
  summary: "The state of every config: stages, games, losses, gates, champion, ladder, waits.",
  query: () => z.strictObject({ config_key: field.config_key.optional().describe("Only this one.") }),
  about: "The loop as it is now.",
  answer: () => snapshot(),
});

export const getLadder = defineRoute("getLadder", "GET /v1/loop/{config}/ladder", {
  ...whereItRuns,
  summary: "The ladder of a config: champions and named opponents with their ratings.",
  params: () => z.strictObject({ config: name }),
  about: "What 'ringrift elo' draws: players, the champion of now, and how steady the gains are.",
  answer: () => ladder(),
});

export const getRatings = defineRoute("getRatings", "GET /v1/loop/{config}/ratings", {
  ...whereItRuns,
  summary: "The rating history of a config: how strong each champion was, oldest first.",
  params: () => z.strictObject({ config: name }),
  about: "One row for each champion, by the ratings of now; what its gate said where the ladder has not rated it yet.",
  answer: () =>
    z.object({
      config_key: z.string(),
      ratings: z.array(
        z.object({
          model: z.string(),
          generation: z.int(),
          iteration: z.int(),
          since: time.describe("When it became the champion."),
          elo: z.number(),
          low: z.number().nullable().describe("The 95 % interval; null before the ladder has rated it."),
          high: z.number().nullable(),
          games: z.int().describe("Rating games that it played."),
        }),
      ),
    }),
});

export type RatingHistory = Answer<typeof getRatings>;

const ended = lazy(() =>
  z
    .looseObject({
      config_key: z.string(),
      iteration: z.int(),
      stage,
      attempt: z.int(),
      state: z.enum(["done", "failed"]),
      since: time,
      ended_at: time,
      outputs: z.array(z.looseObject({ sha256: z.string(), kind: z.string(), bytes: z.int(), rows: z.int() })),
      evidence: document,
      failure: failure().nullable(),
    })
    .meta({ id: "EndedStage" }),
);

export const getPipelineHistory = defineRoute("getLoopHistory", "GET /v1/loop/{config}/history", {
  ...whereItRuns,
  summary: "The finished stages of a config, newest first, each with its evidence or its failure.",
  params,
  query: () => z.strictObject({ stage: stage.optional(), limit: whole(1, 1_000).default(100) }),
  about: "One row for each attempt.",
  answer: () => z.object({ history: z.array(ended()) }),
});

export const getLedger = defineRoute("getLedger", "GET /v1/ledger", {
  ...whereItRuns,
  summary: "The books of every config: games produced, durable, in flight and rejected, and those at risk.",
  about: "One for each config.",
  answer: () =>
    z.object({
      books: z.array(
        books().extend({ at_risk: z.int().default(0).describe("Games whose files lie on rented nodes alone.") }),
      ),
    }),
});

export const getLineage = defineRoute("getLineage", "GET /v1/trace/{id}", {
  ...whereItRuns,
  summary: "Where a game, a file, a model or a job comes from, and what was made from it.",
  limit: "heavy",
  params: () =>
    z.strictObject({
      id: z
        .string()
        .max(200)
        .regex(/^(?=.*\d)[\w.:/#-]+$/, "must be the id of a job, a hash, or the id of a game"),
    }),
  about: "A graph.",
  answer: () =>
    z
      .object({
        asked: z.string(),
        nodes: z.array(z.looseObject({ id: z.string(), kind: z.string(), about: z.string(), at: time.nullable() })),
        edges: z.array(z.object({ from: z.string(), to: z.string() })).describe("`to` was made of `from`, or by it."),
      })
      .meta({ id: "Lineage" }),
});

const decided = lazy(() =>
  z
    .object({
      config_key: z.string(),
      applied: z.boolean().describe("False for a dry run."),
      changes: z
        .array(z.object({ what: z.string(), before: value(), after: value() }))
        .describe("None: there was nothing to do."),
    })
    .meta({ id: "LoopDecided" }),
);

export const decision = {
  ...whereItRuns,
  body: () => z.strictObject({ reason: note.min(1).optional(), dry_run: z.boolean().default(false) }),
  about: "What was changed, or would be.",
  answer: decided,
} as const;

export const pausePipeline = defineRoute("pauseLoop", "POST /v1/loop/{config}/pause", {
  ...decision,
  summary: "Pauses a config: running jobs end, and no new ones start.",
  params,
});

export const resumePipeline = defineRoute("resumeLoop", "POST /v1/loop/{config}/resume", {
  ...decision,
  summary: "Lets a paused config continue.",
  params,
});

export const retryPipeline = defineRoute("retryLoop", "POST /v1/loop/{config}/retry", {
  ...decision,
  summary: "Tries a failed stage again at once.",
  params,
});

export const rollbackPipeline = defineRoute("rollbackLoop", "POST /v1/loop/{config}/rollback", {
  ...decision,
  summary: "Puts the last good champion of a config back, as a new generation.",
  params,
});

export const modelParams = lazy(() =>
  z.strictObject({
    id: z.string().regex(/^[0-9a-f]{4,64}$/, "must be a SHA-256 in hex, or its first 4 digits or more"),
  }),
);

export const promoteModel = defineRoute("promoteModel", "POST /v1/models/{id}/promote", {
  ...decision,
  summary: "Makes a model the champion of its config by hand. If it is worse, it is rolled back like any other.",
  params: modelParams,
});

type ToWire = (pipeline: Answer<typeof getPipeline>) => RawAnswer<typeof getPipeline>;
const toWire = lazy(() => encoderOf(getPipeline.answer) as ToWire);

/** As the wire has it, for programs that are told of it without asking. */
export const pipelineOnTheWire: ToWire = (pipeline) => toWire()(pipeline);

export type Lineage = Answer<typeof getLineage>;
export type Decided = Answer<typeof promoteModel>;
