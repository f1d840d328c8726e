/** What a node asks so that it can tell of models and ratings by itself, as it came. */
import { sendTo } from "../client/call.ts";
import type { NodeLink } from "../client/node-link.ts";
import { getPipeline } from "../pipeline/wire.ts";
import { listModels } from "./wire.ts";

const ASK_MS = 15_000;
const MAX_MODELS = 200;

export interface ReplicaPort {
  ask(signal: AbortSignal): Promise<{ readonly models: unknown; readonly pipeline: unknown }>;
}

export const replicaOver = (link: NodeLink): ReplicaPort => ({
  async ask(signal) {
    const options = { timeoutMs: ASK_MS, signal };
    const models = await sendTo(link, listModels, { query: { limit: MAX_MODELS } }, options);
    return { models, pipeline: await sendTo(link, getPipeline, {}, options) };
  },
});
