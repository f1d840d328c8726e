/** What the jobs of the built-in games can be told, in the snake_case of the wire. A parameter that does not exist is refused. */

import { z } from "zod";
import { lazy } from "../../../kernel/index.ts";
import { badInput } from "../../process/index.ts";
import { DEFAULT_REPLAY } from "../net/replay.ts";
import { DEFAULT_TRAINER, type TrainerConfig } from "../net/trainer.ts";
import { DEFAULT_LOOP } from "../play/defaults.ts";
import { DEFAULT_SELF_PLAY, type SelfPlayConfig } from "../play/self-play.ts";
import { DEFAULT_SEARCH, type SearchConfig } from "../search/puct.ts";

const whole = (fallback: number, min = 0, max = 1_000_000_000) => z.int().min(min).max(max).default(fallback);
const share = (fallback: number) => z.number().min(0).max(1).default(fallback);

const network = lazy(() => ({
  /** Widths of the hidden layers, and the seed of a network that comes from no file. */
  wide: whole(DEFAULT_LOOP.wide, 8, 1_024),
  narrow: whole(DEFAULT_LOOP.narrow, 8, 1_024),
  network_seed: whole(DEFAULT_LOOP.seed, 0, 0xffff_ffff),
}));

const searching = lazy(() => ({
  simulations: z.int().min(1).max(1_000_000),
  exploration: z.number().positive(),
  unvisited_reduction: z.number().min(0),
  noise_weight: z.number().min(0).max(1),
  noise_total: z.number().positive(),
}));

const search = (fallback: SearchConfig) => ({
  simulations: searching().simulations.default(fallback.simulations),
  exploration: searching().exploration.default(fallback.exploration),
  unvisited_reduction: searching().unvisited_reduction.default(fallback.unvisitedReduction),
  noise_weight: searching().noise_weight.default(fallback.noiseWeight),
  noise_total: searching().noise_total.default(fallback.noiseTotal),
});

/** `arena` is our own container, `npz` what NumPy reads. */
const format = (fallback: "arena" | "npz") => z.enum(["arena", "npz"]).default(fallback);

/** All that decides a game beside its seed and its network. */
const playing = lazy(() => ({
  /** The place of the first game among all games of its seed, where several jobs share one. */
  first_game: whole(0),
  ...network(),
  ...search(DEFAULT_LOOP.search),
  temperature: z.number().positive().default(DEFAULT_SELF_PLAY.temperature),
  late_temperature: z.number().positive().default(DEFAULT_SELF_PLAY.lateTemperature),
  temperature_plies: whole(DEFAULT_SELF_PLAY.temperaturePlies),
  random_plies: whole(DEFAULT_SELF_PLAY.randomPlies),
  /** Playout-cap randomisation: only this share of moves is searched in full and learned from. */
  full_share: z.number().min(0.05).max(1).default(DEFAULT_SELF_PLAY.fullShare),
  fast_simulations: z.int().min(1).max(1_000_000).default(DEFAULT_SELF_PLAY.fastSimulations),
  /** Share of games that begin at a position of a game of the inputs `archive...`; none without such an input. */
  archive_share: share(DEFAULT_SELF_PLAY.archiveShare),
  /** How hard those positions are: of one, two or four that are drawn the one is taken whose outcome is least sure. */
  position_difficulty: z.enum(["normal", "medium-hard", "hard"]).default("normal"),
  /** Share of games in which the network of the input `opponent` plays one seat; none without such an input. */
  opponent_share: share(DEFAULT_SELF_PLAY.opponentShare),
  /** Forced playouts with target pruning; 0 for none, 2 is usual. */
  forced_playouts: z.number().min(0).max(100).default(DEFAULT_SEARCH.forcedPlayouts),
}));

export const selfPlayParameters = lazy(() =>
  z.strictObject({
    games: whole(1, 1, 100_000),
    ...playing(),
    format: format("arena"),
  }),
);

/** What the games were played with, so that some of them can be played again. */
export const validationParameters = lazy(() =>
  z.strictObject({
    ...playing(),
    /** How many games there should be; however many there are, unless given. */
    games: z.int().min(1).max(100_000).optional(),
    /** The seed of the job that played them; that of this job unless given. */
    game_seed: z.int().min(0).optional(),
    /** The share of games that is played again, at least one. */
    parity_share: share(0.02),
    format: format("arena"),
  }),
);

export const exportParameters = lazy(() =>
  z.strictObject({
    /** `shard`: rows of segments become a training file. `combine`: training files become one. `union`: segments become one set.
     * `priorities`: how much each row surprises the input `model`. */
    mode: z.enum(["shard", "combine", "union", "priorities"]).default("shard"),
    /** The share of positions, by hash, that is kept out of training. */
    holdout_share: z.number().min(0).max(0.5).default(0.02),
    format: format("npz"),
  }),
);

export const trainingParameters = lazy(() =>
  z.strictObject({
    ...network(),
    /** Writes the network of `network_seed` as it is, without training. */
    fresh: z.boolean().default(false),
    /** Batches to train; follows from the new rows unless given. */
    steps: z.int().min(1).max(10_000_000).optional(),
    /** Rows that are new since the last training; those of the last input unless given. */
    new_rows: z.int().min(1).optional(),
    samples_per_row: z.number().positive().default(DEFAULT_LOOP.samplesPerRow),
    /** All rows ever made, of which the inputs are the newest; it sizes the window. */
    total_rows: z.int().min(1).optional(),
    batch: whole(DEFAULT_TRAINER.batch, 1, 65_536),
    rate: z.number().positive().default(DEFAULT_TRAINER.rate),
    search_share: share(DEFAULT_TRAINER.searchShare),
    value_weight: z.number().min(0).default(DEFAULT_TRAINER.valueWeight),
    window_base: whole(DEFAULT_REPLAY.base, 1),
    window_share: share(DEFAULT_REPLAY.share),
    window_most: whole(DEFAULT_REPLAY.most, 1),
    /** Of the held-out rows, so many of the newest are measured. */
    holdout_rows: whole(4_000, 1),
    /** Training ends after so many measurements in a row without a better one, and keeps the best; 0 for never. */
    patience: whole(0, 0, 1_000_000),
    /** Batches between two measurements; a tenth of all unless given. */
    check_steps: z.int().min(1).optional(),
    /** With an input `teacher`: the share of what it says in all targets; the rest is what search and game said. */
    teacher_share: share(1),
    /** With an input `priorities`: how much surprise counts when rows are drawn, and how much of that bias the loss takes back. */
    priority_exponent: share(0.6),
    priority_correction: share(0.4),
  }),
);
export type TrainingParameters = z.output<ReturnType<typeof trainingParameters>>;

const oneSide = lazy(() => z.strictObject(searching()).partial().optional());

export const evaluationParameters = lazy(() =>
  z.strictObject({
    blocks: whole(10, 1, 100_000),
    /** The place of the first block among all blocks of its seed, where several jobs share one. */
    first_block: whole(0),
    opening_plies: whole(DEFAULT_LOOP.gateOpeningPlies, 0, 1_000),
    ...search(DEFAULT_SEARCH),
    /** Names of the players in the results; a player without an input of its role is the baseline of this name. */
    candidate: z.string().min(1).max(128).default("candidate"),
    /** What one side alone searches with, in place of what both have. */
    candidate_search: oneSide(),
    opponent_search: oneSide(),
    opponent: z.string().min(1).max(128).default("opponent"),
  }),
);

/** Parameters of a job, or a failure that says which one is wrong. */
export function parseParameters<T extends z.ZodType>(schema: T, parameters: unknown): z.output<T> {
  const parsed = schema.safeParse(parameters);
  if (parsed.success) return parsed.data;
  throw badInput(`The job's parameters are wrong: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}

export const searchOf = (
  given: z.output<z.ZodObject<ReturnType<typeof search>>> & { readonly forced_playouts?: number },
): SearchConfig => ({
  forcedPlayouts: given.forced_playouts ?? DEFAULT_SEARCH.forcedPlayouts,
  simulations: given.simulations,
  exploration: given.exploration,
  unvisitedReduction: given.unvisited_reduction,
  noiseWeight: given.noise_weight,
  noiseTotal: given.noise_total,
});

export const selfPlayOf = (given: z.output<z.ZodObject<ReturnType<typeof playing>>>): SelfPlayConfig => ({
  temperature: given.temperature,
  lateTemperature: given.late_temperature,
  temperaturePlies: given.temperature_plies,
  randomPlies: given.random_plies,
  fullShare: given.full_share,
  fastSimulations: given.fast_simulations,
  archiveShare: given.archive_share,
  archiveChoices: { normal: 1, "medium-hard": 2, hard: 4 }[given.position_difficulty],
  opponentShare: given.opponent_share,
});

export const trainerOf = (given: TrainingParameters): TrainerConfig => ({
  batch: given.batch,
  rate: given.rate,
  searchShare: given.search_share,
  valueWeight: given.value_weight,
});
