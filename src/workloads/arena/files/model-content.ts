/** A network as its file has it, for whoever has read the file. */
import { canonicalJson, type Json } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import { layoutOf, type NetworkShape, shapeOf } from "../net/layout.ts";
import type { Network } from "../net/network.ts";
import { corrupt, fileFault } from "./errors.ts";
import { type FileContent, finiteColumn, type NamedColumn } from "./frame.ts";

export const MODEL = { kind: "model", version: 1 } as const;
const MAX_WIDTH = 1024;

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

/** The network of a file, and where it comes from as its maker wrote it. */
export function modelIn(file: FileContent, game: Game): { readonly network: Network; readonly origin: Json } {
  const { origin = {}, ...shape } = file.about;
  return { network: networkFrom(shape, file.columns, game), origin };
}
