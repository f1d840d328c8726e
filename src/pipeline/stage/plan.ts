import { z } from "zod";
import { field } from "../../events/index.ts";
import { lazy } from "../../kernel/index.ts";
import { defineTable } from "../../router/index.ts";
import { LOOP_KINDS } from "./stages.ts";

const parameters = z.record(z.string().max(100), z.json()).default({});
const whole = (fallback: number, min = 1, max = 1_000_000_000) => z.int().min(min).max(max).default(fallback);

/** A parameter that may be tuned: its bounds, and what it is where the plan says nothing of it. */
const tunable = lazy(() =>
  z
    .strictObject({
      low: z.number(),
      high: z.number(),
      start: z.number(),
      scale: z.enum(["linear", "log"]).default("log"),
    })
    .refine(
      ({ low, high, start }) => low < high && low <= start && start <= high,
      "low must be below high, with start between",
    )
    .refine(({ low, scale }) => scale === "linear" || low > 0, "a log scale needs bounds above 0"),
);

/** How members of a population are compared. */
const judged = lazy(() => ({
  /** Parameters of the games, beside those of `evaluation`. */
  evaluation: parameters,
  /** Blocks that each member plays. */
  blocks: whole(64, 2, 10_000),
  /** Blocks that prove at the end that what was found is better, with openings of their own. */
  proof_blocks: whole(1_000, 20, 100_000),
}));

/** A network of another kind that is made of a champion's games. */
const recipe = lazy(() =>
  z
    .strictObject({
      /** One is made in every so manieth iteration; null for never. */
      every: z.int().min(1).max(1_000_000).nullable().default(null),
      /** Parameters of training that make it what it is, beside those of `training`. */
      training: parameters,
      /** Parameters of the games against the champion, beside those of `evaluation`. */
      evaluation: parameters,
      steps: whole(2_000, 1, 10_000_000),
      /** Blocks against the champion. */
      blocks: whole(400, 20, 100_000),
    })
    .prefault({}),
);

const gpuCount = z.int().min(0).max(64).default(0);

/**
 * What is wanted of a config. Everything that decides the outcome of a seeded run stands here, so that two runs of one plan
 * go the same way, whoever does the work and when.
 */
export const configPlanSchema = lazy(() =>
  z.strictObject({
    config_key: field.config_key,
    /** 32 bits; games, openings and networks follow from it. */
    seed: whole(1, 0, 0xffff_ffff),
    /** What the workload of this config can do. */
    kinds: z
      .array(z.enum(LOOP_KINDS))
      .min(1)
      .default([...LOOP_KINDS]),
    /** The loop of this config ends after so many iterations, or never. */
    most_iterations: z.int().min(1).nullable().default(null),
    /** The goal; null to go on for ever. */
    target_elo: z.number().nullable().default(null),
    /** Weight beside other configs. */
    weight: z.number().positive().max(1_000).default(1),
    games_per_iteration: whole(160, 1, 1_000_000),
    games_per_job: whole(20, 1, 100_000),
    /** Parameters of the workload's jobs, passed on as they are. */
    selfplay: parameters,
    training: parameters,
    evaluation: parameters,
    /** Accelerators that a job of a kind has for itself; only nodes that have so many take it. */
    gpus: z.strictObject({ selfplay: gpuCount, training: gpuCount, evaluation: gpuCount }).prefault({}),
    /** The newest rows that training sees: `base` at first, then growing with `share` of all rows ever made, up to `most`. */
    window: z
      .strictObject({
        base: whole(20_000),
        share: z.number().min(0).max(1).default(0.4),
        most: whole(400_000),
      })
      .prefault({}),
    /** Share of positions, by hash, that is never trained on; the loss is checked against it. */
    holdout_share: z.number().min(0).max(0.5).default(0.02),
    /** Share of games that is played again and compared. */
    parity_share: z.number().min(0).max(1).default(0.02),
    /** Rows that a training run needs. */
    least_rows: whole(500, 1),
    gate: z
      .strictObject({
        elo0: z.number().default(0),
        elo1: z.number().default(50),
        /** Where the bounds go as gains shrink. */
        least_elo1: z.number().default(20),
        alpha: z.number().gt(0).lt(0.5).default(0.05),
        beta: z.number().gt(0).lt(0.5).default(0.05),
        batch_blocks: whole(20, 1, 100_000),
        most_blocks: whole(400, 1, 1_000_000),
      })
      .prefault({}),
    /** A search for better parameters of self-play, by games of the champion against itself. */
    tuning: z
      .strictObject({
        /** A search is begun in every so manieth iteration; null for never. */
        every: z.int().min(1).max(1_000_000).nullable().default(null),
        /** A search is begun when the config stops improving. */
        on_plateau: z.boolean().default(false),
        /** What may be tuned, by the names of the workload's parameters. */
        parameters: z
          .record(z.string().max(100), tunable())
          .refine((all) => Object.keys(all).length <= 16, "at most 16 parameters")
          .default({}),
        /** Parameters of the games, beside those of `evaluation`. */
        evaluation: parameters,
        generations: whole(8, 1, 1_000),
        /** Blocks that each candidate plays. */
        blocks: whole(32, 2, 10_000),
        /** Blocks that prove at the end that what was found is better, with openings of their own. */
        proof_blocks: whole(1_000, 20, 100_000),
      })
      .prefault({}),
    /** Population-based training: members train side by side with other settings, and the better ones replace the worse. */
    population: z
      .strictObject({
        /** One is begun in every so manieth iteration; null for never. */
        every: z.int().min(1).max(1_000_000).nullable().default(null),
        /** Settings of training that may differ, by the names of the workload's parameters. */
        parameters: z
          .record(z.string().max(100), tunable())
          .refine((all) => Object.keys(all).length <= 16, "at most 16 parameters")
          .default({}),
        /** Members beside the one that keeps the settings of now. */
        members: whole(3, 1, 63),
        generations: whole(3, 1, 100),
        /** Batches that each member trains in a generation. */
        steps: whole(200, 1, 10_000_000),
        ...judged(),
      })
      .prefault({}),
    /** A search for a better network by successive halving: half of the shapes go on, each with twice the training. */
    architecture: z
      .strictObject({
        every: z.int().min(1).max(1_000_000).nullable().default(null),
        /** Shapes by name: parameters of training that make a network what it is. */
        shapes: z
          .record(z.string().max(100), z.record(z.string().max(100), z.number()))
          .refine((all) => Object.keys(all).length <= 64, "at most 64 shapes")
          .default({}),
        /** Batches of the first round. */
        steps: whole(400, 1, 10_000_000),
        ...judged(),
      })
      .prefault({}),
    /** Networks that are made of a champion, beside the line of training. They play for nobody: they are there to be taken. */
    derived: z.strictObject({ distillation: recipe(), nnue: recipe() }).prefault({}),
    /** Prioritised replay: rows that surprise the champion are drawn more often, and count less each time. */
    replay: z
      .strictObject({
        prioritised: z.boolean().default(false),
        /** How much surprise counts when rows are drawn: 0 nothing, 1 all. */
        exponent: z.number().min(0).max(1).default(0.6),
        /** How much of that bias the loss takes back. */
        correction: z.number().min(0).max(1).default(0.4),
      })
      .prefault({}),
    /** Share of all games that only serves the ratings. */
    rating_share: z.number().min(0).max(0.5).default(0.1),
    /** Knobs that results may turn, from iteration to iteration. Each is off unless it is said: none is proven to pay. */
    steering: z
      .strictObject({
        share: z.boolean().default(false),
        learning_rate: z.boolean().default(false),
        games: z.boolean().default(false),
        exploration: z.boolean().default(false),
        search: z.boolean().default(false),
        opponents: z.boolean().default(false),
        positions: z.boolean().default(false),
        window: z.boolean().default(false),
      })
      .prefault({}),
    /** The first network is made from a related config's: from its champion after this iteration, as far as shapes allow. */
    start_from: z
      .strictObject({ config_key: field.config_key, iteration: whole(1, 0, 1_000_000) })
      .nullable()
      .default(null),
    /** The same from a config with fewer players, as soon as gates have promoted so many of its candidates, or it stands on a plateau, or has ended. */
    cascade: z
      .strictObject({ config_key: field.config_key, promotions: whole(3, 1, 1_000) })
      .nullable()
      .default(null),
  }),
);
export type ConfigPlan = z.output<ReturnType<typeof configPlanSchema>>;
/** A board and its players, as in `hex8_2p`. */
export type ConfigKey = ConfigPlan["config_key"];
export type ConfigPlanInput = z.input<ReturnType<typeof configPlanSchema>>;

/** A plan, and what people have said about it. Written by `app` at the start and by the commands `pause`, `resume` and `retry`. */
export type ConfigRow = {
  readonly plan: ConfigPlan;
  /** Who holds it, since when (milliseconds) and why; null while it runs. */
  readonly paused: { readonly by: string; readonly at: number; readonly reason: string } | null;
  /** Who said last that what failed shall be tried again, and when; missing before the first time. */
  readonly retried?: { readonly by: string; readonly at: number; readonly reason: string };
};

/** By config_key. */
export const configs = defineTable<ConfigRow>("pipeline_configs");
