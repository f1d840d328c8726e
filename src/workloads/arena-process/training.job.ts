import { OperatingError, seededRandom } from "../../kernel/index.ts";
import {
  createReplay,
  createTrainer,
  decodeCheckpoint,
  encodeCheckpoint,
  encodeModel,
  type Game,
  type Momentum,
  type Network,
  readWithin,
  windowRows,
} from "../arena/index.ts";
import { badInput, type JobHandler, type ServedJob } from "../process/index.ts";
import { freshNetwork, type JobWorld, readSamples, seedOf } from "./job-world.ts";
import { parseParameters, trainerOf, trainingParameters } from "./parameters.ts";

/** Batches between two looks at what the worker says. */
const STEPS_A_BREATH = 16;

interface Start {
  readonly network: Network;
  readonly momentum?: Momentum;
}

/** Where training begins: at a checkpoint, at a model, or at nothing. Never on a network that others still use. */
async function startOf(
  job: ServedJob,
  game: Game,
  world: JobWorld,
  given: { wide: number; narrow: number; network_seed: number },
): Promise<Start> {
  const checkpoint = job.message.inputs.find(({ name }) => name === "checkpoint");
  if (checkpoint !== undefined) return decodeCheckpoint(await readWithin(checkpoint.path), game);
  const model = await world.model(job, "model", game);
  if (model === undefined) return { network: freshNetwork(game, given) };
  return { network: { layout: model.layout, weights: model.weights.slice() } };
}

/**
 * Trains on the newest rows of the inputs `samples...`, oldest file first; artifacts `model` and `checkpoint`. With the
 * checkpoint of the last job as an input it goes on as if it had never stopped.
 */
export const trainingJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(trainingParameters, job.message.parameters);
    const game = world.game(job.message.config_key);
    const files = job.message.inputs.filter(({ name }) => name.startsWith("samples"));
    const parts = [];
    for (const { path } of files) {
      parts.push(await readSamples(path, game));
      await job.pause();
    }
    const rows = parts.reduce((sum, { count }) => sum + count, 0);
    if (rows === 0) throw badInput("There is nothing to train on: give inputs whose names start with `samples`.");

    const { window_base: base, window_share: share, window_most: most } = given;
    const window = Math.min(rows, windowRows(Math.max(rows, given.total_rows ?? rows), { base, share, most }));
    const replay = createReplay(game, { base: window, share: 0, most: window });
    for (const part of parts) replay.add(part);

    const start = await startOf(job, game, world, given);
    const trainer = createTrainer(start.network, game.symmetries, trainerOf(given), start.momentum);
    const random = seededRandom(seedOf(job));
    const newRows = given.new_rows ?? parts.at(-1)!.count;
    const steps = given.steps ?? Math.max(1, Math.ceil((newRows * given.samples_per_row) / given.batch));
    let policy = 0;
    let value = 0;
    for (let i = 0; i < steps; i += 1) {
      if (i % STEPS_A_BREATH === 0) {
        job.progress(i, { total: steps, ...(i === 0 ? {} : { metrics: { policy_loss: (policy * steps) / i } }) });
        await job.pause();
      }
      const losses = trainer.step(replay.samples, () => replay.draw(random), random);
      policy += losses.policy / steps;
      value += losses.value / steps;
    }
    if (!Number.isFinite(policy + value))
      throw new OperatingError("ARENA_TRAINING_DIVERGED", "The losses are no numbers.", {
        hint: "Lower the learning rate.",
      });
    const origin = { samples: files.map(({ sha256 }) => sha256), seed: seedOf(job), steps };
    const about = { config_key: game.configKey, policy_loss: policy, value_loss: value };
    await job.writeArtifact("model.arena", encodeModel(trainer.network, origin).bytes, { kind: "model", meta: about });
    await job.writeArtifact("checkpoint.arena", encodeCheckpoint(trainer, origin).bytes, {
      kind: "checkpoint",
      meta: about,
    });
    return { policy_loss: policy, value_loss: value, rows, window_rows: replay.size, steps };
  };
