/**
 * The pipeline as people look at it: the live view, `ringrift pipeline`, the report and `why` all read this. Its schemas are its
 * types too; on the wire objects are open, so that what is added later is no break.
 */

import { z } from "zod";
import { cause } from "../daemons/cause-schema.ts";
import { instant } from "../events/instant.ts";
import type { Given } from "../kernel/index.ts";
import { lazy } from "../kernel/index.ts";
import { STAGES } from "./stage/stages.ts";

export const value = lazy(() => z.union([z.string(), z.number()]).nullable());
export const stage = z.enum(STAGES);
const interval = lazy(() => z.object({ estimate: z.number(), low: z.number(), high: z.number() }));

const wait = lazy(() => z.object({ for: z.string(), actual: value(), required: value(), since: instant }));
export const failure = lazy(() => z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }));

const rated = lazy(() =>
  z
    .looseObject({
      player: z.string().describe("SHA-256 of a model, or the name of a baseline."),
      name: z.string().describe("What people call it: champion 3, mcts-100."),
      elo: z.number(),
      low: z.number(),
      high: z.number(),
      games: z.int(),
      is_anchor: z.boolean(),
    })
    .meta({ id: "Rated" }),
);

export const gate = lazy(() =>
  z
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
      elo: interval().nullable().describe("Median-unbiased."),
      ended_at: instant.nullable(),
    })
    .meta({ id: "Gate" }),
);

export const loss = lazy(() =>
  z
    .looseObject({
      iteration: z.int(),
      policy_loss: z.number().describe("As it was reported; a plain loss where the run has no parts."),
      value_loss: z.number(),
      validation_loss: z.number().nullable(),
      loss: z.number().nullish().describe("What the run minimised: as it was reported, or the sum of its parts."),
      metrics: z.record(z.string(), z.number()).optional().describe("Every number that the run reported, by its name."),
      at: instant,
    })
    .meta({ id: "Loss" }),
);

const champion = lazy(() =>
  z
    .looseObject({ model: z.string(), generation: z.int(), iteration: z.int(), since: instant, by: z.string() })
    .meta({ id: "Champion" }),
);

export const books = lazy(() =>
  z
    .looseObject({
      config_key: z.string(),
      produced: z.int(),
      durable: z.int(),
      in_flight: z.int(),
      rejected: z.record(z.string(), z.int()).describe("By reason."),
      balanced: z.boolean(),
    })
    .meta({ id: "Books", description: "Games: produced = durable + in flight + rejected." }),
);

export const trend = lazy(() =>
  z
    .looseObject({
      metric: z.string(),
      value: z.number(),
      iteration: z.int(),
      points: z.int(),
      slope: z
        .object({ estimate: z.number(), low: z.number(), high: z.number() })
        .nullable()
        .describe(
          "Growth for one iteration with its 95 % interval, more is better; null while too few points are there.",
        ),
      trend: z.enum(["improving", "stable", "declining"]),
      plateau_since: z.int().nullable().describe("The iteration in which it was found to stand still."),
      anomaly: z
        .looseObject({ expected: z.number(), deviations: z.number() })
        .nullable()
        .describe("What the newest value was expected to be, where it is far off."),
    })
    .meta({ id: "Trend" }),
);

const stability = lazy(() =>
  z
    .looseObject({
      volatility: z.number().describe("0 for gains that differ by no more than their intervals explain, to 1."),
      level: z.enum(["stable", "developing", "volatile"]),
      weight: z.number().describe("How much the check of a champion counts."),
      gates: z.int(),
    })
    .optional(),
);

export const ladder = lazy(() =>
  z
    .looseObject({
      config_key: z.string(),
      champion: champion().nullable(),
      ladder: z.array(rated()),
      stability: stability(),
    })
    .meta({ id: "Ladder" }),
);

const config = lazy(() =>
  z
    .looseObject({
      config_key: z.string(),
      seed: z.int(),
      iteration: z.int(),
      state: z.enum(["running", "waiting", "paused", "failed", "complete"]),
      stage,
      attempt: z.int(),
      stage_since: instant,
      deadline: instant.describe("When its stage is late, or the step that it is at."),
      last_sign: z
        .looseObject({ event: z.string(), at: instant, until: instant.describe("When the next one is late.") })
        .optional()
        .describe("What the stage showed of itself last."),
      stages: z.array(
        z.looseObject({
          stage,
          state: z.enum(["open", "running", "done", "failed"]),
          seconds: z.number().nullable(),
          progress: z.number().nullable(),
          breaker: z.enum(["closed", "open", "half_open"]),
        }),
      ),
      cause: cause().nullish().describe("Why it stands still; null while it is at work."),
      waits: z.array(wait()),
      failures: z.array(failure().extend({ stage, at: instant })),
      games: z.int(),
      games_per_second: z.number(),
      outlook: z
        .looseObject({
          games_per_day: z.number().describe("Games of self-play in the last day, or a day at the pace of now."),
          newest_games_at: instant.nullable().describe("When the newest games came: how old the data is."),
          round_seconds: z.number().nullable().describe("How long a round takes; null before one has ended."),
          target: z
            .looseObject({
              what: z.enum(["elo", "iterations"]),
              value: z.number(),
              in_seconds: z.number().nullable().describe("At the pace of now; null where nobody can tell."),
              reached: z.boolean(),
            })
            .nullable()
            .describe("What the plan ends at; null where it goes on for ever."),
        })
        .optional()
        .describe("How fast it goes on, and when it will be where it is meant to be."),
      rows: z.int(),
      window: z
        .looseObject({
          rows: z.int().describe("The newest rows, which training sees."),
          shards: z.int().describe("Files that they lie in."),
        })
        .optional()
        .describe("What the next run learns from, of all rows that were ever made."),
      losses: z.array(loss()),
      training: z
        .looseObject({
          loss: z.number(),
          validation_loss: z.number().nullable(),
          metrics: z.record(z.string(), z.number()).optional(),
        })
        .optional()
        .describe("The run under way, as its worker said it last."),
      gates: z.array(gate()),
      champion: champion().nullable(),
      champions: z.array(champion()),
      ladder: z.array(rated()),
      stability: stability(),
      verdicts: z.object({ promote: z.int(), reject: z.int(), inconclusive: z.int() }),
      expected_false_promotions: z.number(),
      quality: z.looseObject({ score: z.number(), band: z.string() }).nullable(),
      steering: z
        .looseObject({
          knobs: z.array(
            z.looseObject({
              knob: z.string(),
              value: z.number().describe("The factor that counts now; 1 changes nothing."),
              author: z.string().describe("The unit that turns it."),
              signal: z.looseObject({ reason: z.string() }).nullable(),
              held: z.looseObject({ by: z.string(), reason: z.string() }).nullable(),
            }),
          ),
          trends: z.array(trend()),
        })
        .optional()
        .describe("What steers it, and where its measures go."),
      suspects: z.array(
        z.looseObject({
          producer: z.string(),
          label: z.string().optional().describe("What people call it, where it is a node that is known."),
          reason: z.string(),
          since: instant,
        }),
      ),
      books: books(),
    })
    .meta({ id: "LoopConfig" }),
);

export const snapshot = lazy(() => z.object({ at: instant, configs: z.array(config()) }).meta({ id: "Loop" }));

export type PipelineSnapshot = Given<z.output<ReturnType<typeof snapshot>>>;
export type LadderView = Given<z.output<ReturnType<typeof ladder>>>;
export type ConfigSnapshot = PipelineSnapshot["configs"][number];
export type StageView = ConfigSnapshot["stages"][number];
export type GateView = ConfigSnapshot["gates"][number];
export type LossPoint = ConfigSnapshot["losses"][number];
export type ChampionView = ConfigSnapshot["champions"][number];
export type Rated = ConfigSnapshot["ladder"][number];
export type BooksView = ConfigSnapshot["books"];
