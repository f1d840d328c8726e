import type { Json } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import type { Samples } from "../net/samples.ts";
import { columnOf, decodeFile, type EncodedFile, encodeFile, type NamedColumn } from "./container.ts";
import { fileFault } from "./errors.ts";

const KIND = "samples";
export const SAMPLES_VERSION = 1;

export interface SamplesFile {
  readonly samples: Samples;
  readonly origin: Json;
}

/** The columns of a set of rows, under the names that they have in every format. */
export const columnsOf = (samples: Samples): NamedColumn[] => {
  const { count, cells, moves, players } = samples;
  return [
    { name: "codes", shape: [count, cells], data: samples.codes },
    { name: "legal", shape: [count, moves], data: samples.legal },
    { name: "policy", shape: [count, moves], data: samples.policy },
    { name: "search", shape: [count, players], data: samples.search },
    { name: "outcome", shape: [count, players], data: samples.outcome },
    { name: "ply", shape: [count], data: samples.ply },
    { name: "game", shape: [count], data: samples.game },
  ];
};

const SUM_TOLERANCE = 1e-3;

const checkShares = (name: string, values: Float32Array, width: number): void => {
  for (let row = 0; row * width < values.length; row += 1) {
    let sum = 0;
    for (let i = row * width; i < (row + 1) * width; i += 1) {
      const value = values[i]!;
      if (!(value >= 0 && value <= 1 + SUM_TOLERANCE))
        throw fileFault("ARENA_FILE_CORRUPT", `Row ${row} of "${name}" has a share of ${value}.`);
      sum += value;
    }
    if (Math.abs(sum - 1) > SUM_TOLERANCE)
      throw fileFault("ARENA_FILE_CORRUPT", `Row ${row} of "${name}" sums to ${sum}, not to 1.`);
  }
};

/** Builds rows from columns, and believes nothing: shapes, codes, legality and sums are checked. */
export function samplesFrom(configKey: unknown, columns: readonly NamedColumn[]): Samples {
  if (typeof configKey !== "string")
    throw fileFault("ARENA_FILE_CORRUPT", "The file does not say which game it holds.");
  const { cells, moves, players, codes: base } = createGame(configKey);
  const count = columns.find(({ name }) => name === "ply")?.shape[0] ?? 0;
  const samples: Samples = {
    configKey,
    count,
    cells,
    moves,
    players,
    codes: columnOf(columns, "codes", Uint8Array, [count, cells]),
    legal: columnOf(columns, "legal", Uint8Array, [count, moves]),
    policy: columnOf(columns, "policy", Float32Array, [count, moves]),
    search: columnOf(columns, "search", Float32Array, [count, players]),
    outcome: columnOf(columns, "outcome", Float32Array, [count, players]),
    ply: columnOf(columns, "ply", Uint16Array, [count]),
    game: columnOf(columns, "game", Uint32Array, [count]),
  };
  for (let i = 0; i < samples.codes.length; i += 1)
    if (samples.codes[i]! >= base)
      throw fileFault("ARENA_FILE_CORRUPT", `Code ${samples.codes[i]} is none of ${configKey}.`);
  for (let i = 0; i < samples.legal.length; i += 1) {
    if (samples.legal[i]! > 1) throw fileFault("ARENA_FILE_CORRUPT", "A move is legal (1) or not (0), nothing else.");
    if (samples.legal[i]! === 0 && samples.policy[i]! !== 0)
      throw fileFault("ARENA_FILE_CORRUPT", `Row ${Math.floor(i / moves)} gives an illegal move a share.`);
  }
  checkShares("policy", samples.policy, moves);
  checkShares("search", samples.search, players);
  checkShares("outcome", samples.outcome, players);
  return samples;
}

export const encodeSamples = (samples: Samples, origin: Json = {}): EncodedFile =>
  encodeFile({
    kind: KIND,
    version: SAMPLES_VERSION,
    about: { config_key: samples.configKey, origin },
    columns: columnsOf(samples),
  });

export function decodeSamples(bytes: Uint8Array): SamplesFile {
  const file = decodeFile(bytes, KIND, SAMPLES_VERSION);
  const { config_key: configKey, origin = {} } = file.about;
  return { samples: samplesFrom(configKey, file.columns), origin };
}
