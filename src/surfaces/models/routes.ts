import { defined, OperatingError, sayWhich } from "../../kernel/index.ts";
import type { PipelineConsole } from "../../pipeline/index.ts";
import { handle, type Route } from "../http/route.ts";
import { decisionOf, pipelineOf } from "../pipeline/routes.ts";
import { promoteModel } from "../pipeline/wire.ts";
import { getModel, listModels } from "./wire.ts";

const WHOLE_ID_CHARACTERS = 64;
const MAX_LOOKED_AT = 1_000;

/** A model by its id, or by the start of it where only one begins so. */
function modelIn(pipeline: PipelineConsole, given: string) {
  const meant =
    given.length === WHOLE_ID_CHARACTERS
      ? [{ model_id: given }]
      : pipeline.models({ limit: MAX_LOOKED_AT }).filter(({ model_id }) => model_id.startsWith(given));
  if (meant.length > 1)
    throw OperatingError.conflict("MODEL_AMBIGUOUS", `${meant.length} models begin with '${given}'`, {
      hint: sayWhich(meant.map(({ model_id }) => model_id)),
    });
  const found = meant[0] && pipeline.model(meant[0].model_id);
  if (found !== undefined) return found;
  throw OperatingError.notFound("MODEL_NOT_FOUND", `there is no model '${given}'`, {
    hint: "'ringrift models' lists them, as GET /v1/models does.",
  });
}

export const modelRoutes: readonly Route[] = [
  handle(listModels, ({ ports, query: { config_key, stage, limit } }) => ({
    models: pipelineOf(ports).models({ limit, ...defined({ configKey: config_key, stage }) }),
  })),
  handle(getModel, ({ ports, params: { id } }) => modelIn(pipelineOf(ports), id)),
  handle(promoteModel, (call) => {
    const pipeline = pipelineOf(call.ports);
    return pipeline.promote(modelIn(pipeline, call.params.id).model_id, decisionOf(call));
  }),
];
