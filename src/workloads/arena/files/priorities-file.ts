/** How much each row of a window surprised a network, in the order of the window. */
import type { Json } from "../../../kernel/index.ts";
import { decodeFile, type EncodedFile, encodeFile } from "./container.ts";
import { corrupt } from "./errors.ts";
import { finiteColumn } from "./frame.ts";

const KIND = "priorities";
export const PRIORITIES_VERSION = 1;

export const encodePriorities = (configKey: string, priorities: Float32Array, origin: Json = {}): EncodedFile =>
  encodeFile({
    kind: KIND,
    version: PRIORITIES_VERSION,
    about: { config_key: configKey, rows: priorities.length, origin },
    columns: [{ name: "priority", shape: [priorities.length], data: priorities }],
  });

export function decodePriorities(bytes: Uint8Array, configKey: string): Float32Array {
  const { about, columns } = decodeFile(bytes, KIND, PRIORITIES_VERSION);
  const { rows, config_key } = about;
  if (config_key !== configKey) throw corrupt(`The priorities are of ${String(config_key)}, not of ${configKey}.`);
  if (typeof rows !== "number" || !Number.isSafeInteger(rows) || rows < 1)
    throw corrupt("The priorities do not say of how many rows they are.");
  const found = finiteColumn(columns, "priority", rows);
  if (found.some((priority) => priority < 0)) throw corrupt("A priority is below zero.");
  return found;
}
