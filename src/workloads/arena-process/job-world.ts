/** What the jobs of one child share: games, networks and rows that it has seen, so that a resident child loads them once. */
import { seededRandom } from "../../kernel/index.ts";
import {
  createGame,
  createNetwork,
  decodeCheckpoint,
  decodeModel,
  decodeNpz,
  decodeSamples,
  type Game,
  mixSeed,
  type Network,
  readWithin,
  type Samples,
  shapeOf,
  type Trainer,
} from "../arena/index.ts";
import { badInput, type JobInput, type ServedJob } from "../process/index.ts";
import { naming } from "./failures.ts";
import { createSamplesCache } from "./samples-cache.ts";

export interface JobWorld {
  game(configKey: string): Game;
  /** The network of the input of that name; undefined if the job has none. */
  model(job: ServedJob, name: string, game: Game): Promise<Network | undefined>;
  /** The rows of an input in either format. They are shared: nobody changes them. */
  samples(input: JobInput, game: Game): Promise<Samples>;
  /** What a trainer goes on from. It is shared: nobody changes it. */
  checkpoint(input: JobInput, game: Game): Promise<TrainerState>;
  /** The checkpoint of this hash was just written: who trains next need not read it. */
  remember(sha256: string, game: Game, state: TrainerState): void;
}

export type TrainerState = Pick<Trainer, "network" | "momentum">;

/** Few: a child serves one or two configs, and meets a candidate and an opponent in each. */
const MOST_GAMES = 8;
const MOST_MODELS = 4;
const MOST_CHECKPOINTS = 2;
/** Two windows of 400,000 rows of Othello 6x6: what one training reads, the next one of the same config reads again. */
const MOST_SAMPLES_BYTES = 200 * 2 ** 20;

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

export function createJobWorld(): JobWorld {
  const games = new Map<string, Game>();
  const models = new Map<string, Network>();
  const rows = createSamplesCache(MOST_SAMPLES_BYTES);
  const checkpoints = new Map<string, TrainerState>();
  const kept = <T>(map: Map<string, T>, most: number, key: string, value: T): T => {
    if (map.size >= most) map.delete(map.keys().next().value!);
    map.set(key, value);
    return value;
  };
  const gameOf = (configKey: string): Game =>
    games.get(configKey) ?? kept(games, MOST_GAMES, configKey, createGame(configKey));
  return {
    game: gameOf,
    async model({ message }, name, game) {
      const input = message.inputs.find((each) => each.name === name);
      if (input === undefined) return undefined;
      const key = `${game.configKey} ${input.sha256}`;
      const known = models.get(key);
      if (known !== undefined) return known;
      const read = async () => decodeModel(await readWithin(input.path), game).network;
      return kept(models, MOST_MODELS, key, await naming(input, read));
    },
    async checkpoint(input, game) {
      const known = checkpoints.get(`${game.configKey} ${input.sha256}`);
      return known ?? naming(input, async () => decodeCheckpoint(await readWithin(input.path), game));
    },
    remember: (sha256, game, state) => void kept(checkpoints, MOST_CHECKPOINTS, `${game.configKey} ${sha256}`, state),
    samples: (input, game) =>
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
