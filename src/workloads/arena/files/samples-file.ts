import type { Json } from "../../../kernel/index.ts";
import { createGame } from "../games/catalog.ts";
import { COLUMNS, makeSamples, type Samples } from "../net/samples.ts";
import { decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { corrupt } from "./errors.ts";
import { type Column, columnOf, type NamedColumn } from "./frame.ts";

const KIND = "samples";
export const SAMPLES_VERSION = 1;

export interface SamplesFile {
  readonly samples: Samples;
  readonly origin: Json;
}

/** The columns of a set of rows, under the names that they have in every format. */
export const columnsOf = (samples: Samples): NamedColumn[] =>
  COLUMNS.map(([name, , side]) => ({
    name,
    shape: side === undefined ? [samples.count] : [samples.count, samples[side]],
    data: samples[name],
  }));

const SUM_TOLERANCE = 1e-3;

const checkShares = (name: string, values: Float32Array, width: number): void => {
  for (let row = 0; row * width < values.length; row += 1) {
    let sum = 0;
    for (let i = row * width; i < (row + 1) * width; i += 1) {
      const value = values[i]!;
      if (!(value >= 0 && value <= 1 + SUM_TOLERANCE))
        throw corrupt(`Row ${row} of "${name}" has a share of ${value}.`);
      sum += value;
    }
    if (Math.abs(sum - 1) > SUM_TOLERANCE) throw corrupt(`Row ${row} of "${name}" sums to ${sum}, not to 1.`);
  }
};

/** Builds rows from columns, and believes nothing: shapes, codes, legality and sums are checked. */
export function samplesFrom(configKey: unknown, columns: readonly NamedColumn[]): Samples {
  if (typeof configKey !== "string") throw corrupt("The file does not say which game it holds.");
  const game = createGame(configKey);
  const count = columns.find(({ name }) => name === "ply")?.shape[0] ?? 0;
  const samples = makeSamples(game, count, (name, type, shape) => columnOf<Column>(columns, name, type, shape));
  const { codes, legal, policy, moves, players } = samples;
  const strange = codes.find((code) => code >= game.codes);
  if (strange !== undefined) throw corrupt(`Code ${strange} is none of ${configKey}.`);
  for (let i = 0; i < legal.length; i += 1) {
    if (legal[i]! > 1) throw corrupt("A move is legal (1) or not (0), nothing else.");
    if (legal[i]! === 0 && policy[i]! !== 0)
      throw corrupt(`Row ${Math.floor(i / moves)} gives an illegal move a share.`);
  }
  checkShares("policy", policy, moves);
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
