import { defined, OperatingError } from "../../kernel/index.ts";
import { handle, type Route } from "../http/route.ts";
import { pipelineOf } from "../pipeline/routes.ts";
import { getRecord, listRecords } from "./wire.ts";

export const recordRoutes: readonly Route[] = [
  handle(listRecords, ({ ports, query: { config_key, limit } }) => ({
    segments: pipelineOf(ports).segments({ limit, ...defined({ configKey: config_key }) }),
  })),
  handle(getRecord, ({ ports, params: { id } }) => {
    const found = pipelineOf(ports).segmentsBeginning(id);
    if (found.length > 1)
      throw OperatingError.conflict("RECORD_AMBIGUOUS", `several files of games begin with '${id}'`, {
        hint: "Give more of the id.",
      });
    if (found[0] !== undefined) return found[0];
    throw OperatingError.notFound("RECORD_NOT_FOUND", `there is no file of games '${id}'`, {
      hint: "'ringrift records list' lists them.",
    });
  }),
];
