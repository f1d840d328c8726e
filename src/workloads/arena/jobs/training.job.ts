import { hash } from "node:crypto";
import { canonicalJson, isOperatingError, seededRandom } from "../../../kernel/index.ts";
import { badInput, type JobHandler, type JobInput, RESUME_INPUT, type ServedJob } from "../../process/index.ts";
import { encodeCheckpoint } from "../files/checkpoint-file.ts";
import { decodeModel, describedModel, encodeModel } from "../files/model-file.ts";
import { decodePriorities } from "../files/priorities-file.ts";
import { readWithin } from "../files/store.ts";
import { decodeUnfinished, encodeUnfinished, type UnfinishedTraining } from "../files/unfinished-file.ts";
import { createGame } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import { copyNetwork, type Network } from "../net/network.ts";
import { createDraw } from "../net/priorities.ts";
import { countRows, type Samples } from "../net/samples.ts";
import { createTeacher } from "../net/teacher.ts";
import { createTrainer } from "../net/trainer.ts";
import { takeLayers } from "../net/transfer.ts";
import { naming } from "./failures.ts";
import { freshNetwork, inputsLike, type JobWorld, readRows, seedOf, type TrainerState } from "./job-world.ts";
import { parseParameters, type TrainingParameters, trainerOf, trainingParameters } from "./parameters.ts";
import { lossOf, newestRows, type RunState, runTraining, windowOf } from "./training-run.ts";

/** Where training begins: at a checkpoint, at a model, or at nothing. Never on a network that others still use. */
async function startOf(
  job: ServedJob,
  game: Game,
  world: JobWorld,
  given: TrainingParameters,
): Promise<Pick<TrainerState, "network"> & Partial<TrainerState>> {
  const checkpoint = job.message.inputs.find(({ name }) => name === "checkpoint");
  if (checkpoint !== undefined) {
    const { network, momentum } = await world.checkpoint(checkpoint, game);
    return { network: copyNetwork(network), momentum };
  }
  const model = await world.model(job, "model", game);
  return { network: model === undefined ? freshNetwork(game, given) : copyNetwork(model) };
}

/** Rows between two looks at what the worker says. */
const ROWS_A_BREATH = 4_096;

/** A student learns what its teacher says of the rows, if the job has one. The window is this job's own copy. */
async function teach(job: ServedJob, game: Game, world: JobWorld, window: Samples, teacherShare: number) {
  const teacher = await world.model(job, "teacher", game);
  if (teacher === undefined) return;
  const put = createTeacher(teacher, teacherShare);
  for (let row = 0; row < window.count; row += ROWS_A_BREATH) {
    put(window, row, Math.min(window.count, row + ROWS_A_BREATH));
    await job.pause();
  }
}

/** How rows are drawn where the job has priorities: those of the newest rows, as the window holds them. */
async function drawOf(job: ServedJob, game: Game, rows: number, window: Samples, given: TrainingParameters) {
  const input = job.message.inputs.find(({ name }) => name === "priorities");
  if (input === undefined) return undefined;
  const all = await naming(input, async () => decodePriorities(await readWithin(input.path), game.configKey));
  if (all.length !== rows) throw badInput(`There are priorities of ${all.length} rows, and ${rows} rows to train on.`);
  const config = { exponent: given.priority_exponent, correction: given.priority_correction };
  return createDraw(all.slice(rows - window.count), config);
}

/** What says which run it is: the same rows from the same start by the same rules. */
const nameOf = ({ message: { seed, config_key, parameters, inputs } }: ServedJob): string => {
  const files = inputs.filter(({ name }) => name !== RESUME_INPUT).map(({ name, sha256 }) => [name, sha256]);
  return hash("sha256", canonicalJson({ seed, config_key, parameters, files }), "hex");
};

/** Where an earlier try of this very run stopped; undefined where nothing of it is left that can be used. */
async function unfinishedOf(job: ServedJob, game: Game): Promise<UnfinishedTraining | undefined> {
  const input = job.message.inputs.find(({ name }) => name === RESUME_INPUT);
  if (input === undefined) return undefined;
  try {
    const found = decodeUnfinished(await readWithin(input.path), game);
    return found.run === nameOf(job) ? found : undefined;
  } catch (thrown) {
    // The run can be made from its beginning.
    if (!isOperatingError(thrown)) throw thrown;
    return undefined;
  }
}

/** Another may go on with the job: it begins where this one is. */
const MAY_GO_ON: ReadonlySet<unknown> = new Set(["preempted", "shutdown"]);

async function saveUnfinished(job: ServedJob, state: RunState, epoch: number): Promise<void> {
  if (!MAY_GO_ON.has(job.signal.reason)) return;
  const { bytes } = encodeUnfinished({ ...state, run: nameOf(job) });
  await job.writeArtifact("unfinished.arena", bytes, { kind: "checkpoint", meta: { epoch, step: state.done } });
}

type About = Readonly<Record<string, string | number>>;

async function write(job: ServedJob, made: TrainerState, steps: number, about: About): Promise<string> {
  const samples = inputsLike(job, "samples").map(({ sha256 }) => sha256);
  const origin = { samples, seed: seedOf(job), steps };
  await job.writeArtifact("model.arena", encodeModel(made.network, origin).bytes, { kind: "model", meta: about });
  const checkpoint = encodeCheckpoint(made, origin).bytes;
  return job.writeArtifact("checkpoint.arena", checkpoint, { kind: "checkpoint", meta: about });
}

/** The network that knows nothing, for a config that has none yet; or what a related one (input `related`) has to give. */
async function writeFresh(job: ServedJob, game: Game, given: TrainingParameters) {
  const related = job.message.inputs.find(({ name }) => name === "related");
  const unwanted = job.message.inputs.find((input) => input !== related);
  if (unwanted !== undefined)
    throw badInput(`A fresh network is made of nothing; "${unwanted.name}" would be left unread.`);
  job.progress(0, { total: 1 });
  const network = freshNetwork(game, given);
  const taken = related === undefined ? [] : await takeFrom(related, network);
  await write(job, createTrainer(network, game.symmetries, trainerOf(given)), 0, { config_key: game.configKey });
  return { fresh: 1, steps: 0, rows: 0, ...(related === undefined ? {} : { layers_taken: taken.length }) };
}

/** Gives a fresh network the layers of a related config's network, as far as their shapes are the same. */
const takeFrom = (input: JobInput, network: Network): Promise<readonly string[]> =>
  naming(input, async () => {
    const bytes = await readWithin(input.path);
    const other = decodeModel(bytes, createGame(describedModel(bytes).configKey)).network;
    const taken = takeLayers(other, network);
    if (taken.length > 0) return taken;
    throw badInput("No layer of the related network has the shape of this one; give both the same widths.");
  });

/**
 * Trains on the newest rows of the inputs `samples...`, oldest file first, and measures on those of `holdout...`; artifacts
 * `model` and `checkpoint`. With the checkpoint of the last job as an input it goes on as if it had never stopped; told to make
 * room it saves how far it is, and the next try goes on from there to the very same bytes. With a `teacher` the rows say what that model says of
 * them; with `priorities` rows are drawn by how much they surprised.
 */
export const trainingJob =
  (world: JobWorld): JobHandler =>
  async (job) => {
    const given = parseParameters(trainingParameters(), job.message.parameters);
    const game = world.game(job.message.config_key);
    if (given.fresh) return writeFresh(job, game, given);
    job.progress(0);
    const parts = await readRows(job, world, game, "samples");
    const rows = countRows(parts);
    if (rows === 0) throw badInput("There is nothing to train on: give inputs whose names start with `samples`.");
    const window = windowOf(parts, given, game);
    await teach(job, game, world, window, given.teacher_share);
    const draw = await drawOf(job, game, rows, window, given);
    const holdout = newestRows(await readRows(job, world, game, "holdout"), given.holdout_rows, game);

    const from = await unfinishedOf(job, game);
    const start = from ?? (await startOf(job, game, world, given));
    const trainer = createTrainer(start.network, game.symmetries, trainerOf(given), start.momentum);
    const newRows = given.new_rows ?? parts.at(-1)!.count;
    const steps = given.steps ?? Math.max(1, Math.ceil((newRows * given.samples_per_row) / given.batch));
    const random = seededRandom(seedOf(job));
    const save = (state: RunState) =>
      saveUnfinished(job, state, Math.floor((state.done * given.batch) / Math.max(1, newRows)));
    const trained = await runTraining(job, trainer, window, holdout, { given, steps, random, draw, from, save });

    const { policy, value, measure } = trained;
    const losses = { loss: lossOf(trained, given), policy_loss: policy, value_loss: value };
    const measured =
      measure === undefined
        ? {}
        : { validation_loss: lossOf(measure, given), policy_accuracy: measure.accuracy, holdout_rows: holdout.count };
    const about = { config_key: game.configKey, ...losses, ...measured };
    const { network, momentum } = trained;
    world.remember(await write(job, trained, trained.keptStep, about), game, { network, momentum });
    return {
      ...losses,
      ...measured,
      rows,
      window_rows: window.count,
      steps: trained.steps,
      kept_step: trained.keptStep,
      early_stopped: trained.steps < steps ? 1 : 0,
    };
  };
