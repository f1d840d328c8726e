import { defined, OperatingError } from "../../kernel/index.ts";
import type { PipelineConsole, PipelineDecision } from "../../pipeline/index.ts";
import type { ControlPorts } from "../http/ports.ts";
import { type Call, handle, type Route } from "../http/route.ts";
import { ratingsOf } from "./strength.ts";
import { unknownConfig } from "./unknown-config.ts";
import * as wire from "./wire.ts";

export const pipelineOf = ({ pipeline }: ControlPorts): PipelineConsole => {
  if (pipeline !== undefined) return pipeline;
  throw OperatingError.unavailable("LOOP_NOT_HERE", "no loop runs in this process", {
    retryable: false,
    hint: "Start one with 'ringrift train', or with 'ringrift up' and a config.",
  });
};

/** The pipeline, if it has this config. */
export function pipelineWith(ports: ControlPorts, configKey: string): PipelineConsole {
  const pipeline = pipelineOf(ports);
  const known = pipeline.configKeys();
  if (known.includes(configKey)) return pipeline;
  throw unknownConfig(configKey, known);
}

interface DecisionBody {
  readonly reason?: string | undefined;
  readonly dry_run: boolean;
}

export const decisionOf = ({
  body,
  caller: { actor },
}: Pick<Call<unknown, unknown, DecisionBody>, "body" | "caller">): PipelineDecision => ({
  actor,
  reason: body.reason ?? `asked for by ${actor}`,
  dryRun: body.dry_run,
});

export const pipelineRoutes: readonly Route[] = [
  handle(wire.getPipeline, ({ ports, query: { config_key: only } }) => pipelineOf(ports).snapshot(only)),
  handle(wire.getLadder, ({ ports, params: { config: configKey } }) => {
    const pipeline = pipelineOf(ports);
    const found = pipeline.ladder(configKey);
    if (found === undefined) throw unknownConfig(configKey, pipeline.configKeys());
    return found;
  }),
  handle(wire.getRatings, ({ ports, params: { config: configKey } }) => {
    const [found] = pipelineWith(ports, configKey).snapshot(configKey).configs;
    if (found === undefined) throw unknownConfig(configKey, pipelineOf(ports).configKeys());
    return ratingsOf(found);
  }),
  handle(wire.getPipelineHistory, ({ ports, params: { config: configKey }, query: { stage, limit } }) => ({
    history: pipelineWith(ports, configKey).history({ configKey, limit, ...defined({ stage }) }),
  })),
  handle(wire.getLedger, async ({ ports }) => {
    const books = pipelineOf(ports).books();
    const atRisk = await ports.library.gamesAtRisk();
    return { books: books.map((book) => ({ ...book, at_risk: atRisk.get(book.config_key) ?? 0 })) };
  }),
  handle(wire.getLineage, ({ ports, params: { id } }) => {
    const found = pipelineOf(ports).lineage(id);
    const { book } = ports.nodes;
    if (found !== undefined)
      return { ...found, nodes: found.nodes.map((each) => ({ ...each, about: book.named(each.about) })) };
    throw OperatingError.notFound("LINEAGE_NOT_FOUND", `there is no game, file, model or job '${id}'`, {
      hint: "Models are listed by 'ringrift models', jobs by 'ringrift queue'. For events there is 'ringrift events trace'.",
    });
  }),
  ...(
    [
      [wire.pausePipeline, "pause"],
      [wire.resumePipeline, "resume"],
      [wire.retryPipeline, "retry"],
      [wire.rollbackPipeline, "rollback"],
    ] as const
  ).map(([route, verb]) =>
    handle(route, (call) => pipelineWith(call.ports, call.params.config)[verb](call.params.config, decisionOf(call))),
  ),
];
