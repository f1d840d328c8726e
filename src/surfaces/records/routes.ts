import { defined, OperatingError, sayWhich } from "../../kernel/index.ts";
import type { ControlPorts } from "../http/ports.ts";
import { handle, type Route } from "../http/route.ts";
import { pipelineOf } from "../pipeline/routes.ts";
import { getRecord, listRecords } from "./wire.ts";

/** A file of games with the name of its producer beside the id. */
const named = <S extends { readonly producer: string }>({ nodes: { book } }: ControlPorts, segment: S) => ({
  ...segment,
  node: book.nameOf(segment.producer),
});

export const recordRoutes: readonly Route[] = [
  handle(listRecords, ({ ports, query: { config_key, before, limit } }) => ({
    segments: pipelineOf(ports)
      .segments({ limit, ...defined({ configKey: config_key, before }) })
      .map((segment) => named(ports, segment)),
  })),
  handle(getRecord, ({ ports, params: { id } }) => {
    const found = pipelineOf(ports).segmentsBeginning(id);
    if (found.length > 1)
      throw OperatingError.conflict("RECORD_AMBIGUOUS", `several files of games begin with '${id}'`, {
        hint: sayWhich(found.map(({ sha256 }) => sha256)),
      });
    if (found[0] !== undefined) return named(ports, found[0]);
    throw OperatingError.notFound("RECORD_NOT_FOUND", `there is no file of games '${id}'`, {
      hint: "'ringrift records list' lists them.",
    });
  }),
];
