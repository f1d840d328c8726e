import { canonicalJson, type Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import { layoutOf, type NetworkShape, shapeOf } from "../net/layout.ts";
import type { Network } from "../net/network.ts";
import {
  decodeFile,
  type EncodedFile,
  encodeFile,
  finiteColumn,
  hashOf,
  type NamedColumn,
  typeOf,
} from "./container.ts";
import { corrupt, fileFault } from "./errors.ts";

const KIND = "model";
const VERSION = 1;
const MAX_WIDTH = 1024;

export interface Model {
  readonly network: Network;
  readonly hash: string;
  /** Where it comes from, as its maker wrote it. */
  readonly origin: Json;
}

/** The whole shape goes into the header, so that a reader in any language can run the network. */
export const describeShape = (shape: NetworkShape): { readonly [key: string]: Json } => ({
  config_key: shape.configKey,
  cells: shape.cells,
  codes: shape.codes,
  moves: shape.moves,
  players: shape.players,
  tuples: shape.tuples,
  shared_rows: shape.sharedRows ? Array.from(shape.sharedRows) : null,
  wide: shape.wide,
  narrow: shape.narrow,
});

export const encodeModel = ({ layout, weights }: Network, origin: Json = {}): EncodedFile =>
  encodeFile({
    kind: KIND,
    version: VERSION,
    about: { ...describeShape(layout.shape), origin },
    columns: [{ name: "weights", shape: [layout.length], data: weights }],
  });

const isWidth = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX_WIDTH && value % 8 === 0;

/** Builds the network that a header and a column of weights describe; one of another game or shape is refused. */
export function networkFrom(
  { wide, narrow, ...rest }: { readonly [key: string]: Json },
  columns: readonly NamedColumn[],
  game: Game,
): Network {
  if (rest.config_key !== game.configKey)
    throw fileFault("ARENA_FILE_KIND", `The model plays "${String(rest.config_key)}", not "${game.configKey}".`);
  if (!isWidth(wide) || !isWidth(narrow)) throw corrupt("The model's hidden layers have impossible widths.");
  const shape = shapeOf(game, wide, narrow);
  if (canonicalJson({ ...rest, wide, narrow }) !== canonicalJson(describeShape(shape)))
    throw fileFault("ARENA_FILE_KIND", `The model sees ${game.configKey} through other tuples than this program.`);
  const layout = layoutOf(shape);
  return { layout, weights: finiteColumn(columns, "weights", layout.length) };
}

export function decodeModel(bytes: Uint8Array, game: Game): Model {
  const file = decodeFile(bytes, KIND, VERSION);
  const { origin = {}, ...shape } = file.about;
  return { network: networkFrom(shape, file.columns, game), hash: hashOf(bytes), origin };
}

/** The game and the shape that a model file names itself, whatever this program plays. */
export function describedModel(bytes: Uint8Array) {
  const { about, columns } = decodeFile(bytes, KIND, VERSION);
  const { origin = {}, ...shape } = about;
  if (typeof shape.config_key !== "string") throw corrupt("The model does not say which game it plays.");
  const weights = columns.map(({ name, shape: sides, data }) => ({ name, shape: [...sides], type: typeOf(data) }));
  return { configKey: shape.config_key, network: { shape, columns: weights, origin } };
}
