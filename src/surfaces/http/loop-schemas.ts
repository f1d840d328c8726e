/** The loop on the wire. Times are Unix seconds. What is added later is no break: objects are open. */
import { z } from "zod";
import { fields } from "../../events/index.ts";
import { STAGES } from "../../pipeline/stages.ts";
import * as schema from "./schemas.ts";

const seconds = z.number().describe("Unix seconds");
const value = z.union([z.string(), z.number()]).nullable();
const stage = z.enum(STAGES);
const interval = z.object({ estimate: z.number(), low: z.number(), high: z.number() });

const wait = z.object({ for: z.string(), actual: value, required: value, since: seconds });
const failure = z.object({ code: z.string(), message: z.string(), retryable: z.boolean() });

const rated = z
  .looseObject({
    player: z.string(),
    name: z.string(),
    elo: z.number(),
    low: z.number(),
    high: z.number(),
    games: z.int(),
    is_anchor: z.boolean(),
  })
  .meta({ id: "Rated" });

const gate = z
  .looseObject({
    iteration: z.int(),
    candidate: z.string(),
    opponent: z.string(),
    games: z.int(),
    counts: z.array(z.int()).describe("Blocks by score, worst first."),
    llr: z.array(z.number()).describe("After each batch."),
    lower: z.number(),
    upper: z.number(),
    elo0: z.number(),
    elo1: z.number(),
    verdict: z.enum(["promote", "reject", "inconclusive"]).nullable(),
    elo: interval.nullable().describe("Median-unbiased."),
    ended_at: seconds.nullable(),
  })
  .meta({ id: "Gate" });

const loss = z
  .looseObject({
    iteration: z.int(),
    policy_loss: z.number(),
    value_loss: z.number(),
    validation_loss: z.number().nullable(),
    at: seconds,
  })
  .meta({ id: "Loss" });

const champion = z
  .looseObject({ model: z.string(), generation: z.int(), iteration: z.int(), since: seconds, by: z.string() })
  .meta({ id: "Champion" });

export const books = z
  .looseObject({
    config_key: z.string(),
    produced: z.int(),
    durable: z.int(),
    in_flight: z.int(),
    rejected: z.record(z.string(), z.int()).describe("By reason."),
    balanced: z.boolean(),
  })
  .meta({ id: "Books", description: "Games: produced = durable + in flight + rejected." });

const config = z
  .looseObject({
    config_key: z.string(),
    seed: z.int(),
    iteration: z.int(),
    state: z.enum(["running", "waiting", "paused", "failed", "complete"]),
    stage,
    attempt: z.int(),
    stage_since: seconds,
    deadline: seconds,
    stages: z.array(
      z.looseObject({
        stage,
        state: z.enum(["open", "running", "done", "failed"]),
        seconds: z.number().nullable(),
        progress: z.number().nullable(),
        breaker: z.enum(["closed", "open", "half_open"]),
      }),
    ),
    waits: z.array(wait),
    failures: z.array(failure.extend({ stage, at: seconds })),
    games: z.int(),
    games_per_second: z.number(),
    rows: z.int(),
    losses: z.array(loss),
    gates: z.array(gate),
    champion: champion.nullable(),
    champions: z.array(champion),
    ladder: z.array(rated),
    verdicts: z.object({ promote: z.int(), reject: z.int(), inconclusive: z.int() }),
    expected_false_promotions: z.number(),
    quality: z.looseObject({ score: z.number(), band: z.string() }).nullable(),
    suspects: z.array(z.looseObject({ producer: z.string(), reason: z.string(), since: seconds })),
    books,
  })
  .meta({ id: "LoopConfig" });

export const snapshot = z.object({ at: seconds, configs: z.array(config) }).meta({ id: "Loop" });

export const ended = z
  .looseObject({
    config_key: z.string(),
    iteration: z.int(),
    stage,
    attempt: z.int(),
    state: z.enum(["done", "failed"]),
    since: seconds,
    ended_at: seconds,
    outputs: z.array(z.looseObject({ sha256: z.string(), kind: z.string(), bytes: z.int(), rows: z.int() })),
    evidence: schema.document,
    failure: failure.nullable(),
  })
  .meta({ id: "EndedStage" });

export const model = z
  .looseObject({
    model_id: z.string(),
    config_key: z.string(),
    iteration: z.int(),
    stage: z.string(),
    generation: z.int().nullable(),
    created_at: seconds,
    bytes: z.int().nullable(),
    parent: z.string().nullable(),
    rating: z.looseObject({ elo: z.number(), low: z.number(), high: z.number(), games: z.int() }).nullable(),
  })
  .meta({ id: "Model" });

export const modelDetails = model
  .extend({
    loss: loss.nullable(),
    gate: gate.nullable(),
    files: z.array(z.looseObject({ sha256: z.string(), kind: z.string(), rows: z.int() })),
    history: z.array(z.looseObject({ at: seconds, stage: z.string(), by: z.string(), reason: z.string() })),
  })
  .meta({ id: "ModelDetails" });

export const lineage = z
  .object({
    asked: z.string(),
    nodes: z.array(z.looseObject({ id: z.string(), kind: z.string(), about: z.string(), at: seconds.nullable() })),
    edges: z.array(z.object({ from: z.string(), to: z.string() })).describe("`to` was made of `from`, or by it."),
  })
  .meta({ id: "Lineage" });

export const decided = z
  .object({
    config_key: z.string(),
    applied: z.boolean().describe("False for a dry run."),
    changes: z
      .array(z.object({ what: z.string(), before: value, after: value }))
      .describe("None: there was nothing to do."),
  })
  .meta({ id: "LoopDecided" });

export const configParams = z.strictObject({ config: fields.configKey });
export const modelParams = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{4,64}$/, "must be a SHA-256 in hex, or its first 4 digits or more"),
});
export const lineageParams = z.strictObject({
  id: z
    .string()
    .max(200)
    .regex(/^(?=.*\d)[\w.:/#-]+$/, "must be the id of a job, a hash, or the id of a game"),
});

const most = z.coerce.number().int().min(1).max(1_000).default(100);
export const historyQuery = z.strictObject({ stage: stage.optional(), limit: most });
export const modelQuery = z.strictObject({
  config_key: fields.configKey.optional(),
  stage: schema.name.optional(),
  limit: most,
});
export const decisionBody = z.strictObject({
  reason: z.string().min(1).max(2_000).optional(),
  dry_run: z.boolean().default(false),
});
