import { badInput, type JobHandler, type ServedJob } from "../../process/index.ts";
import { MAX_FILE_BYTES } from "../files/container.ts";
import { encodeGames } from "../files/games-file.ts";
import { encodeNpz } from "../files/npz.ts";
import { encodePriorities } from "../files/priorities-file.ts";
import { encodeSamples } from "../files/samples-file.ts";
import type { Game } from "../games/game.ts";
import { createJudge } from "../net/judge.ts";
import { countRows, type Samples } from "../net/samples.ts";
import { DEFAULT_TRAINER } from "../net/trainer.ts";
import { onEnd, shardOf } from "./export-rows.ts";
import { nothingMade } from "./failures.ts";
import { inputOf, inputsLike, type JobWorld, readRows } from "./job-world.ts";
import { exportParameters, parseParameters } from "./parameters.ts";
import { bytesOf } from "./samples-cache.ts";
import { unionOf } from "./union.ts";

/** Makes one set of many segments, and a file of the rows that are new in it. */
async function unite(job: ServedJob, world: JobWorld, game: Game, format: "npz" | "arena") {
  const { games, samples, fresh, freshGames, duplicates } = await unionOf(job, world, game);
  if (samples.count === 0) throw nothingMade("The segments hold no rows.");
  const bytes = bytesOf(samples);
  if (bytes + FRAME_BYTES > MAX_FILE_BYTES)
    throw badInput(`The rows take ${bytes} bytes; a file of more than ${MAX_FILE_BYTES} could not be read again.`);
  const encode = format === "npz" ? encodeNpz : encodeSamples;
  const origin = { mode: "union" };
  const meta = { config_key: game.configKey };
  if (games.length > 0) {
    const file = encodeGames(game.configKey, games, origin).bytes;
    await job.writeArtifact("games.arena", file, { kind: "game_set", rows: games.length, meta });
  }
  const about = { ...meta, format };
  await job.writeArtifact(`samples.${format}`, encode(samples, origin).bytes, {
    kind: "sample_set",
    rows: samples.count,
    meta: about,
  });
  if (fresh.count > 0)
    await job.writeArtifact(`fresh.${format}`, encode(fresh, { ...origin, fresh: true }).bytes, {
      kind: "fresh_rows",
      rows: fresh.count,
      meta: about,
    });
  const set = new Set(samples.game).size;
  return { rows: samples.count, games: set, new_games: freshGames, new_rows: fresh.count, duplicates };
}

/** Says of each row how much it surprises the model: its loss. */
async function prioritise(job: ServedJob, world: JobWorld, game: Game, parts: readonly Samples[]) {
  const model = await world.model(job, "model", game);
  if (model === undefined) throw badInput("Priorities need an input `model`, whose surprise they tell.");
  const rows = countRows(parts);
  if (rows === 0) throw nothingMade("The files hold no rows.");
  const { judge, lossSums } = createJudge(model, DEFAULT_TRAINER);
  const same = game.symmetries[0]!;
  const priorities = new Float32Array(rows);
  let at = 0;
  for (const part of parts) {
    for (let row = 0; row < part.count; row += 1) {
      if (row % ROWS_A_BREATH === 0) {
        job.progress(at, { total: rows });
        await job.pause();
      }
      lossSums.fill(0);
      judge(part, row, same);
      priorities[at] = lossSums[0]! + DEFAULT_TRAINER.valueWeight * lossSums[1]!;
      at += 1;
    }
  }
  if (!priorities.every(Number.isFinite)) throw nothingMade("The model's losses are no numbers.");
  const origin = {
    model: inputOf(job, "model").sha256,
    samples: inputsLike(job, "samples").map(({ sha256 }) => sha256),
  };
  const file = encodePriorities(game.configKey, priorities, origin).bytes;
  await job.writeArtifact("priorities.arena", file, { kind: "priorities", rows, meta: { config_key: game.configKey } });
  let [least, most, sum] = [Number.POSITIVE_INFINITY, 0, 0];
  for (const priority of priorities) {
    least = Math.min(least, priority);
    most = Math.max(most, priority);
    sum += priority;
  }
  return { rows, max_priority: most, min_priority: least, mean_priority: sum / rows };
}

/** Rows between two looks at what the worker says. */
const ROWS_A_BREATH = 4_096;

/** A file has a frame around its rows. */
const FRAME_BYTES = 1 << 20;

/**
 * Makes training files (inputs `samples-...` in the order of the job): of segments a file to train on and one that is held
 * out (mode `shard`), of training files a single one (mode `combine`), of segments from anywhere one set (mode `union`). What is read is checked to the last row; what is
 * broken fails the job and is named.
 */
export const exportJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(exportParameters(), job.message.parameters);
    const game = world.game(job.message.config_key);
    if (given.mode === "union") return unite(job, world, game, given.format);
    const parts = await readRows(job, world, game, "samples", (i, total) => job.progress(i, { total }));
    if (parts.length === 0) throw badInput("There is nothing to export: give inputs whose names start with `samples`.");
    if (given.mode === "priorities") return prioritise(job, world, game, parts);
    const bytes = parts.reduce((sum, part) => sum + bytesOf(part), 0);
    if (bytes + FRAME_BYTES > MAX_FILE_BYTES)
      throw badInput(`The rows take ${bytes} bytes; a file of more than ${MAX_FILE_BYTES} could not be read again.`);
    const all = onEnd(parts, game);
    if (all.count === 0) throw nothingMade("The files hold no rows.");
    const sources = inputsLike(job, "samples").map(({ sha256 }) => sha256);
    const write = (name: string, kind: string, samples: Samples): Promise<string> => {
      const origin = { mode: given.mode, samples: sources };
      const encode = given.format === "npz" ? encodeNpz : encodeSamples;
      return job.writeArtifact(`${name}.${given.format}`, encode(samples, origin).bytes, {
        kind,
        rows: samples.count,
        meta: { config_key: game.configKey, format: given.format },
      });
    };
    if (given.mode === "combine") {
      await write("train", "training_set", all);
      return { rows: all.count, files: parts.length };
    }
    await job.pause();
    const { train, holdout, duplicates, distinctPositions } = shardOf(all, given.holdout_share, game);
    if (train.count === 0) throw nothingMade(`None of ${all.count} rows is left to train on.`);
    await write("train", "training_set", train);
    if (holdout.count > 0) await write("holdout", "holdout", holdout);
    return {
      rows: train.count,
      holdout_rows: holdout.count,
      duplicates,
      distinct_positions: distinctPositions,
      files: parts.length,
    };
  };
