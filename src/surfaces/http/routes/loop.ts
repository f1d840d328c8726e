import { z } from "zod";
import { didYouMean, OperatingError } from "../../../kernel/index.ts";
import * as loop from "../loop-schemas.ts";
import type { ControlPorts, LoopDecision, LoopPort } from "../ports.ts";
import { PROBLEM_TYPE } from "../problem.ts";
import { type Route, route } from "../route.ts";
import { problem } from "../schemas.ts";

const tag = "loop";
const WHOLE_ID_CHARACTERS = 64;
const MOST_LOOKED_AT = 1_000;

const loopOf = ({ loop: port }: ControlPorts): LoopPort => {
  if (port === undefined)
    throw new OperatingError("LOOP_NOT_HERE", "no loop runs in this process", {
      hint: "It runs in the process that 'ringrift up' starts with a config; see 'ringrift up --help'.",
    });
  return port;
};

/** The loop, if it has this config. */
async function loopWith(ports: ControlPorts, configKey: string): Promise<LoopPort> {
  const port = loopOf(ports);
  const known = (await port.snapshot()).configs.map(({ config_key }) => config_key);
  if (known.includes(configKey)) return port;
  throw new OperatingError("CONFIG_NOT_FOUND", `no loop runs for '${configKey}'.${didYouMean(configKey, known)}`, {
    hint: known.length === 0 ? "There is no config yet." : `There are ${known.join(", ")}.`,
  });
}

const noModel = (id: string) =>
  new OperatingError("MODEL_NOT_FOUND", `there is no model '${id}'`, {
    hint: "'ringrift models' lists them, as GET /v1/models does.",
  });

/** The whole id of a model, by it or by its start where only one begins so. */
async function modelIdOf(port: LoopPort, given: string): Promise<string> {
  if (given.length === WHOLE_ID_CHARACTERS) return given;
  const meant = (await port.models({ limit: MOST_LOOKED_AT })).filter(({ model_id }) => model_id.startsWith(given));
  if (meant.length > 1)
    throw new OperatingError("MODEL_AMBIGUOUS", `${meant.length} models begin with '${given}'`, {
      hint: "Give more of the id.",
    });
  if (meant[0] === undefined) throw noModel(given);
  return meant[0].model_id;
}

const decisionOf = (actor: string, body: z.output<typeof loop.decisionBody>): LoopDecision => ({
  actor,
  reason: body.reason ?? `asked for by ${actor}`,
  dryRun: body.dry_run,
});

const looking = { tag, scope: "read", limit: "read" } as const;
const deciding = { tag, scope: "operator", limit: "write", method: "POST", body: loop.decisionBody } as const;
const NOT_HERE = { 503: { about: "No loop runs in this process.", schema: problem, type: PROBLEM_TYPE } } as const;
const answering = (about: string, schema: z.ZodType) => ({ 200: { about, schema }, ...NOT_HERE });
const decided = answering("What it changed, or would.", loop.decided);

const lookingRoutes: readonly Route[] = [
  route({
    ...looking,
    id: "getLoop",
    method: "GET",
    path: "/v1/loop",
    summary: "Where every config stands: stages, games, losses, gates, champion, ladder, waits.",
    answers: answering("The loop as it is now.", loop.snapshot),
    handle: ({ ports }) => loopOf(ports).snapshot(),
  }),
  route({
    ...looking,
    id: "getLoopHistory",
    method: "GET",
    path: "/v1/loop/{config}/history",
    summary: "The stages of a config that have ended, newest first, each with its evidence or its failure.",
    params: loop.configParams,
    query: loop.historyQuery,
    answers: answering("One row for each attempt.", z.object({ history: z.array(loop.ended) })),
    async handle({ ports, params: { config }, query: { stage, limit } }) {
      const port = await loopWith(ports, config);
      const rows = await port.history({ configKey: config, limit, ...(stage === undefined ? {} : { stage }) });
      return {
        history: rows.map((row) => ({ ...row, since: row.since / 1_000, ended_at: row.ended_at / 1_000 })),
      };
    },
  }),
  route({
    ...looking,
    id: "listModels",
    method: "GET",
    path: "/v1/models",
    summary: "Models, newest first.",
    query: loop.modelQuery,
    answers: answering("Those that fit.", z.object({ models: z.array(loop.model) })),
    async handle({ ports, query: { config_key, stage, limit } }) {
      const models = await loopOf(ports).models({
        limit,
        ...(config_key === undefined ? {} : { configKey: config_key }),
        ...(stage === undefined ? {} : { stage }),
      });
      return { models };
    },
  }),
  route({
    ...looking,
    id: "getModel",
    method: "GET",
    path: "/v1/models/{id}",
    summary: "One model: its losses, its gate, what it was made of, and what it was when.",
    params: loop.modelParams,
    answers: answering("The model.", loop.modelDetails),
    async handle({ ports, params: { id } }) {
      const port = loopOf(ports);
      const found = await port.model(await modelIdOf(port, id));
      if (found === undefined) throw noModel(id);
      return found;
    },
  }),
  route({
    ...looking,
    id: "getLedger",
    method: "GET",
    path: "/v1/ledger",
    summary: "The books of every config: games produced, durable, in flight and rejected.",
    answers: answering("One for each config.", z.object({ books: z.array(loop.books) })),
    handle: async ({ ports }) => ({ books: await loopOf(ports).books() }),
  }),
  route({
    ...looking,
    id: "getLineage",
    method: "GET",
    path: "/v1/trace/{id}",
    summary: "Where a game, a file, a model or a job comes from, and what came of it.",
    limit: "heavy",
    params: loop.lineageParams,
    answers: answering("A graph.", loop.lineage),
    async handle({ ports, params: { id } }) {
      const found = await loopOf(ports).lineage(id);
      if (found === undefined)
        throw new OperatingError("LINEAGE_NOT_FOUND", `nobody knows a game, file, model or job '${id}'`, {
          hint: "Models are listed by 'ringrift models', jobs by 'ringrift queue'. For events there is 'ringrift events trace'.",
        });
      return found;
    },
  }),
];

const VERBS = {
  pause: "Holds a config: what runs ends, nothing new begins.",
  resume: "Lets a config that was held go on.",
  rollback: "Puts the last good champion of a config back, as a new generation.",
} as const;

export const loopRoutes: readonly Route[] = [
  ...lookingRoutes,
  ...(["pause", "resume", "rollback"] as const).map((verb) =>
    route({
      ...deciding,
      id: `${verb}Loop`,
      path: `/v1/loop/{config}/${verb}`,
      summary: VERBS[verb],
      params: loop.configParams,
      answers: decided,
      async handle({ ports, params: { config }, body, caller: { actor } }) {
        return (await loopWith(ports, config))[verb](config, decisionOf(actor, body));
      },
    }),
  ),
  route({
    ...deciding,
    id: "promoteModel",
    path: "/v1/models/{id}/promote",
    summary: "Makes a model the champion of its config by hand. If it is worse it is rolled back, as any other.",
    params: loop.modelParams,
    answers: decided,
    async handle({ ports, params: { id }, body, caller: { actor } }) {
      const port = loopOf(ports);
      const modelId = await modelIdOf(port, id);
      if ((await port.model(modelId)) === undefined) throw noModel(id);
      return port.promote(modelId, decisionOf(actor, body));
    },
  }),
];
