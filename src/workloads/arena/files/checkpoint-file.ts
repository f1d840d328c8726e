/** A network together with what its trainer remembers, so that the next round may be trained by another process. */
import type { Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import type { Momentum } from "../net/adam.ts";
import type { Trainer } from "../net/trainer.ts";
import { decodeFile, type EncodedFile, encodeFile, hashOf } from "./container.ts";
import { corrupt } from "./errors.ts";
import { finiteColumn } from "./frame.ts";
import { describeShape, networkFrom } from "./model-content.ts";
import type { Model } from "./model-file.ts";

const KIND = "checkpoint";
const VERSION = 1;

export interface Checkpoint extends Model {
  readonly momentum: Momentum;
}

export function encodeCheckpoint(
  { network, momentum }: Pick<Trainer, "network" | "momentum">,
  origin: Json = {},
): EncodedFile {
  const shape = [network.layout.length];
  return encodeFile({
    kind: KIND,
    version: VERSION,
    about: { ...describeShape(network.layout.shape), steps: momentum.steps, origin },
    columns: [
      { name: "weights", shape, data: network.weights },
      { name: "first_moments", shape, data: momentum.first },
      { name: "second_moments", shape, data: momentum.second },
    ],
  });
}

export function decodeCheckpoint(bytes: Uint8Array, game: Game): Checkpoint {
  const file = decodeFile(bytes, KIND, VERSION);
  const { steps, origin = {}, ...shape } = file.about;
  const network = networkFrom(shape, file.columns, game);
  if (typeof steps !== "number" || !Number.isSafeInteger(steps) || steps < 0)
    throw corrupt("The checkpoint does not say how many steps it took.");
  const moments = (name: string) => finiteColumn(file.columns, name, network.layout.length);
  return {
    network,
    hash: hashOf(bytes),
    origin,
    momentum: { first: moments("first_moments"), second: moments("second_moments"), steps },
  };
}
