import { z } from "zod";
import { field } from "../../events/fields.ts";
import { lazy } from "../../kernel/index.ts";
import { gate, loss } from "../../pipeline/snapshot.ts";
import { name, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";
import { modelParams, whereItRuns } from "../pipeline/wire.ts";

const model = lazy(() =>
  z
    .looseObject({
      model_id: z.string(),
      config_key: z.string(),
      iteration: z.int(),
      stage: z.string(),
      generation: z.int().nullable(),
      created_at: time,
      bytes: z.int().nullable(),
      parent: z.string().nullable(),
      kind: z.string().describe("`standard` for a model of the line of training; else how it was made beside it."),
      derived: z
        .looseObject({ kind: z.string(), architecture: z.string(), teacher: z.string().nullable(), score: z.number() })
        .nullable()
        .describe("What it was made of beside the line of training, and what games against its teacher said."),
      rating: z.looseObject({ elo: z.number(), low: z.number(), high: z.number(), games: z.int() }).nullable(),
    })
    .meta({ id: "Model" }),
);

export const listModels = defineRoute("listModels", "GET /v1/models", {
  ...whereItRuns,
  summary: "Models, newest first.",
  query: () =>
    z.strictObject({
      config_key: field.config_key.optional(),
      stage: name.optional(),
      limit: whole(1, 1_000).default(100),
    }),
  about: "The matching ones.",
  answer: () => z.object({ models: z.array(model()) }),
});

export const getModel = defineRoute("getModel", "GET /v1/models/{id}", {
  ...whereItRuns,
  summary: "One model: its losses, its gate, what it was made from, and its history.",
  params: modelParams,
  about: "The model.",
  answer: () =>
    model()
      .extend({
        loss: loss().nullable(),
        gate: gate().nullable(),
        checkpoint: z.string().nullish().describe("SHA-256 of what a trainer goes on from; null where none was saved."),
        files: z.array(z.looseObject({ sha256: z.string(), kind: z.string(), rows: z.int() })),
        history: z.array(z.looseObject({ at: time, stage: z.string(), by: z.string(), reason: z.string() })),
      })
      .meta({ id: "ModelDetails" }),
});

export type Model = Answer<typeof listModels>["models"][number];
export type ModelDetails = Answer<typeof getModel>;
