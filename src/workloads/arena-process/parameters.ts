/** What the jobs of the built-in games can be told, in the snake_case of the wire. A parameter that does not exist is refused. */
import { z } from "zod";
import type { SearchConfig, SelfPlayConfig, TrainerConfig } from "../arena/index.ts";
import { DEFAULT_LOOP, DEFAULT_REPLAY, DEFAULT_SEARCH, DEFAULT_SELF_PLAY, DEFAULT_TRAINER } from "../arena/index.ts";
import { badInput } from "../process/index.ts";

const whole = (fallback: number, least = 0, most = 1_000_000_000) => z.int().min(least).max(most).default(fallback);
const share = (fallback: number) => z.number().min(0).max(1).default(fallback);

const network = {
  /** Widths of the hidden layers, and the seed of a network that comes from no file. */
  wide: whole(DEFAULT_LOOP.wide, 8, 1_024),
  narrow: whole(DEFAULT_LOOP.narrow, 8, 1_024),
  network_seed: whole(DEFAULT_LOOP.seed, 0, 0xffff_ffff),
};

const search = (fallback: SearchConfig) => ({
  simulations: whole(fallback.simulations, 1, 1_000_000),
  exploration: z.number().positive().default(fallback.exploration),
  unvisited_reduction: z.number().min(0).default(fallback.unvisitedReduction),
  noise_weight: share(fallback.noiseWeight),
  noise_total: z.number().positive().default(fallback.noiseTotal),
});

export const selfPlayParameters = z.strictObject({
  games: whole(1, 1, 100_000),
  /** The place of the first game among all games of its seed, where several jobs share one. */
  first_game: whole(0),
  ...network,
  ...search(DEFAULT_LOOP.search),
  temperature: z.number().positive().default(DEFAULT_SELF_PLAY.temperature),
  late_temperature: z.number().positive().default(DEFAULT_SELF_PLAY.lateTemperature),
  temperature_plies: whole(DEFAULT_SELF_PLAY.temperaturePlies),
  random_plies: whole(DEFAULT_SELF_PLAY.randomPlies),
  /** `arena` is our own container, `npz` what NumPy reads. */
  format: z.enum(["arena", "npz"]).default("arena"),
});

export const trainingParameters = z.strictObject({
  ...network,
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
});

export const evaluationParameters = z.strictObject({
  blocks: whole(10, 1, 100_000),
  /** The place of the first block among all blocks of its seed, where several jobs share one. */
  first_block: whole(0),
  opening_plies: whole(DEFAULT_LOOP.gateOpeningPlies, 0, 1_000),
  ...search(DEFAULT_SEARCH),
  /** Names of the players in the results; a player without an input of its role is the baseline of this name. */
  candidate: z.string().min(1).max(128).default("candidate"),
  opponent: z.string().min(1).max(128).default("opponent"),
});

/** Parameters of a job, or a failure that says which one is wrong. */
export function parseParameters<T extends z.ZodType>(schema: T, parameters: unknown): z.output<T> {
  const parsed = schema.safeParse(parameters);
  if (parsed.success) return parsed.data;
  throw badInput(`The job's parameters are wrong: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}

export const searchOf = (given: z.output<z.ZodObject<ReturnType<typeof search>>>): SearchConfig => ({
  simulations: given.simulations,
  exploration: given.exploration,
  unvisitedReduction: given.unvisited_reduction,
  noiseWeight: given.noise_weight,
  noiseTotal: given.noise_total,
});

export const selfPlayOf = (given: z.output<typeof selfPlayParameters>): SelfPlayConfig => ({
  temperature: given.temperature,
  lateTemperature: given.late_temperature,
  temperaturePlies: given.temperature_plies,
  randomPlies: given.random_plies,
});

export const trainerOf = (given: z.output<typeof trainingParameters>): TrainerConfig => ({
  batch: given.batch,
  rate: given.rate,
  searchShare: given.search_share,
  valueWeight: given.value_weight,
});
