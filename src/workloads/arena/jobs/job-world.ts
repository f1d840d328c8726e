/** What the jobs of one child share: games, networks and rows that it has seen, so that a resident child loads them once. */
import { seededRandom } from "../../../kernel/index.ts";
import { badInput, type JobInput, type ServedJob } from "../../process/index.ts";
import { decodeCheckpoint } from "../files/checkpoint-file.ts";
import { decodeModel } from "../files/model-file.ts";
import { decodeNpz } from "../files/npz.ts";
import { decodeSamples } from "../files/samples-file.ts";
import { readWithin } from "../files/store.ts";
import { createGame } from "../games/catalog.ts";
import type { Game } from "../games/game.ts";
import { shapeOf } from "../net/layout.ts";
import { createNetwork, type Network } from "../net/network.ts";
import type { Samples } from "../net/samples.ts";
import type { Trainer } from "../net/trainer.ts";
import { mixSeed } from "../numerics/samplers.ts";
import { naming } from "./failures.ts";
import { createSamplesCache } from "./samples-cache.ts";

export type TrainerState = Pick<Trainer, "network" | "momentum">;

/** Few: a child serves one or two configs, and meets a candidate and an opponent in each. */
const MAX_GAMES = 8;
const MAX_MODELS = 4;
const MAX_CHECKPOINTS = 2;
/** Two windows of 400,000 rows of Othello 6x6: what one training reads, the next one of the same config reads again. */
const MAX_SAMPLES_BYTES = 200 * 1_048_576;

/** A seed as the 32 bits that the arena counts in; a larger one is folded into them. */
export const foldSeed = (seed: number): number =>
  seed <= 0xffff_ffff ? seed : mixSeed(seed % 0x1_0000_0000, Math.floor(seed / 0x1_0000_0000));

export const seedOf = ({ message: { seed } }: ServedJob): number => foldSeed(seed);

/** The inputs whose names start so, in the order of the job. */
export const inputsLike = ({ message: { inputs } }: ServedJob, prefix: string): JobInput[] =>
  inputs.filter(({ name }) => name.startsWith(prefix));

/** The one input of that name. */
export function inputOf({ message: { inputs } }: ServedJob, name: string): JobInput {
  const found = inputs.find((each) => each.name === name);
  if (found !== undefined) return found;
  const known = inputs.map((each) => each.name).join(", ") || "none";
  throw badInput(`The job has no input "${name}"; it has: ${known}.`);
}

export const freshNetwork = (game: Game, given: { wide: number; narrow: number; network_seed: number }): Network => {
  if (given.wide % 8 !== 0 || given.narrow % 8 !== 0)
    throw badInput("The widths of a network's layers are multiples of 8.");
  return createNetwork(shapeOf(game, given.wide, given.narrow), seededRandom(given.network_seed));
};

async function readSamples(path: string, game: Game): Promise<Samples> {
  const bytes = await readWithin(path);
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const { samples } = isZip ? decodeNpz(bytes) : decodeSamples(bytes);
  if (samples.configKey !== game.configKey)
    throw badInput(`It holds rows of ${samples.configKey}, not of ${game.configKey}.`);
  return samples;
}

/** The rows of all inputs whose names start so, in the order of the job. */
export async function readRows(
  job: ServedJob,
  world: JobWorld,
  game: Game,
  prefix: string,
  before = (_index: number, _files: number): void => {},
): Promise<Samples[]> {
  const files = inputsLike(job, prefix);
  const parts: Samples[] = [];
  for (const [i, input] of files.entries()) {
    before(i, files.length);
    await job.pause();
    parts.push(await world.samples(input, game));
  }
  return parts;
}

export function createJobWorld() {
  const games = new Map<string, Game>();
  const models = new Map<string, Network>();
  const rows = createSamplesCache(MAX_SAMPLES_BYTES);
  const checkpoints = new Map<string, TrainerState>();
  const kept = <T>(map: Map<string, T>, max: number, key: string, value: T): T => {
    if (map.size >= max) map.delete(map.keys().next().value!);
    map.set(key, value);
    return value;
  };
  return {
    game: (configKey: string): Game => games.get(configKey) ?? kept(games, MAX_GAMES, configKey, createGame(configKey)),
    /** The network of the input of that name; undefined if the job has none. */
    async model({ message }: ServedJob, name: string, game: Game): Promise<Network | undefined> {
      const input = message.inputs.find((each) => each.name === name);
      if (input === undefined) return undefined;
      const key = `${game.configKey} ${input.sha256}`;
      const known = models.get(key);
      if (known !== undefined) return known;
      const read = async () => decodeModel(await readWithin(input.path), game).network;
      return kept(models, MAX_MODELS, key, await naming(input, read));
    },
    /** What a trainer goes on from. It is shared: nobody changes it. */
    async checkpoint(input: JobInput, game: Game): Promise<TrainerState> {
      const known = checkpoints.get(`${game.configKey} ${input.sha256}`);
      return known ?? naming(input, async () => decodeCheckpoint(await readWithin(input.path), game));
    },
    /** The checkpoint of this hash was just written: who trains next need not read it. */
    remember: (sha256: string, game: Game, state: TrainerState) =>
      void kept(checkpoints, MAX_CHECKPOINTS, `${game.configKey} ${sha256}`, state),
    /** The rows of an input in either format. They are shared: nobody changes them. */
    samples: (input: JobInput, game: Game): Promise<Samples> =>
      naming(input, async () => {
        const known = rows.get(input.sha256);
        // The same bytes asked for as another game are refused as they would be from the file.
        if (known !== undefined && known.configKey === game.configKey) return known;
        const read = await readSamples(input.path, game);
        rows.keep(input.sha256, read);
        return read;
      }),
  };
}

export type JobWorld = ReturnType<typeof createJobWorld>;
