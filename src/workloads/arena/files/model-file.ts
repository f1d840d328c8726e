import { canonicalJson, type Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import { layoutOf, type NetworkShape, shapeOf } from "../net/layout.ts";
import type { Network } from "../net/network.ts";
import { columnOf, decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { fileFault } from "./errors.ts";

const KIND = "model";
const VERSION = 1;
const MOST_WIDTH = 1024;

export interface Model {
  readonly network: Network;
  readonly hash: string;
  /** Where it comes from, as its maker wrote it. */
  readonly origin: Json;
}

/** The whole shape goes into the header, so that a reader in any language can run the network. */
const describe = (shape: NetworkShape): { readonly [key: string]: Json } => ({
  config_key: shape.configKey,
  cells: shape.cells,
  codes: shape.codes,
  moves: shape.moves,
  players: shape.players,
  tuples: shape.tuples,
  wide: shape.wide,
  narrow: shape.narrow,
});

export const encodeModel = ({ layout, weights }: Network, origin: Json = {}): EncodedFile =>
  encodeFile({
    kind: KIND,
    version: VERSION,
    about: { ...describe(layout.shape), origin },
    columns: [{ name: "weights", shape: [layout.length], data: weights }],
  });

const isWidth = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MOST_WIDTH && value % 8 === 0;

/** Reads a model for a game; a model of another game or of another shape is refused. */
export function decodeModel(bytes: Uint8Array, game: Game): Model {
  const file = decodeFile(bytes, KIND, VERSION);
  const { wide, narrow, origin = {}, ...rest } = file.about;
  if (rest.config_key !== game.configKey)
    throw fileFault("ARENA_FILE_KIND", `The model plays "${String(rest.config_key)}", not "${game.configKey}".`);
  if (!isWidth(wide) || !isWidth(narrow))
    throw fileFault("ARENA_FILE_CORRUPT", "The model's hidden layers have impossible widths.");
  const shape = shapeOf(game, wide, narrow);
  if (canonicalJson({ ...rest, wide, narrow }) !== canonicalJson(describe(shape)))
    throw fileFault("ARENA_FILE_KIND", `The model sees ${game.configKey} through other tuples than this program.`);
  const layout = layoutOf(shape);
  const weights = columnOf(file.columns, "weights", Float32Array, [layout.length]);
  for (let i = 0; i < weights.length; i += 1)
    if (!Number.isFinite(weights[i]!)) throw fileFault("ARENA_FILE_CORRUPT", `Weight ${i} is no finite number.`);
  return { network: { layout, weights }, hash: file.hash, origin };
}
