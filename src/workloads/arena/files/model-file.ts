import type { Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import type { Network } from "../net/network.ts";
import { decodeFile, type EncodedFile, encodeFile, hashOf } from "./container.ts";
import { corrupt } from "./errors.ts";
import { typeOf } from "./frame.ts";
import { describeShape, MODEL, modelIn } from "./model-content.ts";

export interface Model {
  readonly network: Network;
  readonly hash: string;
  /** Where it comes from, as its maker wrote it. */
  readonly origin: Json;
}

export const encodeModel = ({ layout, weights }: Network, origin: Json = {}): EncodedFile =>
  encodeFile({
    ...MODEL,
    about: { ...describeShape(layout.shape), origin },
    columns: [{ name: "weights", shape: [layout.length], data: weights }],
  });

export function decodeModel(bytes: Uint8Array, game: Game): Model {
  return { ...modelIn(decodeFile(bytes, MODEL.kind, MODEL.version), game), hash: hashOf(bytes) };
}

/** The game and the shape that a model file names itself, whatever this program plays. */
export function describedModel(bytes: Uint8Array) {
  const { about, columns } = decodeFile(bytes, MODEL.kind, MODEL.version);
  const { origin = {}, ...shape } = about;
  if (typeof shape.config_key !== "string") throw corrupt("The model does not say which game it plays.");
  const weights = columns.map(({ name, shape: sides, data }) => ({ name, shape: [...sides], type: typeOf(data) }));
  return { configKey: shape.config_key, network: { shape, columns: weights, origin } };
}
