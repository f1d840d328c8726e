/** The folder of a joined node answers what it last heard of models and ratings. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { OperatingError } from "../../kernel/index.ts";
import type { Answering } from "../../surfaces/commands/index.ts";
import { answerOnce, unknownConfig } from "../../surfaces/index.ts";
import { readReplica } from "../worker/node-replica.ts";

interface ModelQuery {
  readonly config_key?: string;
  readonly stage?: string;
  readonly limit?: number;
}

const elsewhere = (url: string) =>
  OperatingError.unavailable("NODE_REPLICA", `this folder is a node of ${url}, and keeps only its models and ratings`, {
    hint: "Ask there; here 'ringrift models', 'ringrift elo' and 'ringrift status' answer.",
  });

/** Undefined where the folder is no joined node, or its node never heard anything. */
export function openReplica(dataDir: string): Answering | undefined {
  if (existsSync(join(dataDir, "coordination.db"))) return undefined;
  const kept = readReplica(dataDir);
  if (kept === undefined) return undefined;
  const { url, at, models, pipeline } = kept;
  const ladderOf = (configKey: string) => {
    const found = pipeline.configs.find(({ config_key }) => config_key === configKey);
    if (found !== undefined) {
      const { config_key, champion, ladder, stability } = found;
      return { config_key, champion, ladder, stability };
    }
    throw unknownConfig(
      configKey,
      pipeline.configs.map(({ config_key }) => config_key),
    );
  };
  const answers: Readonly<Record<string, (query: ModelQuery, params: { readonly config: string }) => unknown>> = {
    listModels: ({ config_key, stage, limit = 100 }) => ({
      models: models.models
        .filter((one) => (config_key ?? one.config_key) === one.config_key && (stage ?? one.stage) === one.stage)
        .slice(0, limit),
    }),
    getLadder: (_, { config }) => ladderOf(config),
    getLoop: () => pipeline,
  };
  const raw: Answering["raw"] = async (route, ...[input]) => {
    const answer = answers[route.id];
    if (answer === undefined) throw elsewhere(url);
    const { query = {}, params } = (input ?? {}) as { query?: ModelQuery; params?: { config: string } };
    return answer(query, params ?? { config: "" }) as never;
  };
  return {
    leftAt: at,
    replicaOf: url,
    raw,
    call: async (route, ...input) => answerOnce(route, await raw(route, ...input)),
    read: answerOnce,
    [Symbol.dispose]: () => {},
  };
}
