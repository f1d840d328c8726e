/**
 * Training rows as a NumPy archive, for trainers in Python: `numpy.load("rows.npz")["policy"]`. The columns have the
 * same names, types and shapes as in our own format; `meta` is a JSON text in bytes that names the game and the version.
 */
import { canonicalJson, type Json } from "../../../kernel/index.ts";
import type { Samples } from "../net/samples.ts";
import { type EncodedFile, encodedFile, MAX_FILE_BYTES } from "./container.ts";
import { corrupt, fileFault } from "./errors.ts";
import { decodeNpy, encodeNpy } from "./npy.ts";
import { columnsOf, SAMPLES_VERSION, type SamplesFile, samplesFrom } from "./samples-file.ts";
import { decodeZip, encodeZip, type ZipLimits } from "./zip.ts";

const FORMAT = "ringrift-arena-samples";
const SUFFIX = ".npy";
const DEFAULT_LIMITS: ZipLimits = { members: 32, bytes: MAX_FILE_BYTES };

/**
 * Plain unless asked: packing makes a file a tenth as large but writing it dozens of times slower, and what is plain is read
 * without a copy. NumPy's own `savez` does the same.
 */
export function encodeNpz(samples: Samples, origin: Json = {}, compress = false): EncodedFile {
  const meta = { format: FORMAT, version: SAMPLES_VERSION, config_key: samples.configKey, origin };
  const text = Buffer.from(canonicalJson(meta));
  const columns = [{ name: "meta", shape: [text.length], data: Uint8Array.from(text) }, ...columnsOf(samples)];
  const bytes = encodeZip(
    columns.map(({ name, shape, data }) => ({ name: `${name}${SUFFIX}`, data: encodeNpy(data, shape) })),
    compress,
  );
  return encodedFile(bytes);
}

const parseMeta = (bytes: Uint8Array | undefined): Record<string, Json> => {
  if (!bytes) throw fileFault("ARENA_FILE_VERSION", 'The archive has no "meta": it does not say its version.');
  let meta: unknown;
  try {
    meta = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw corrupt('The archive\'s "meta" is no JSON.', cause);
  }
  if (typeof meta !== "object" || meta === null || (meta as { format?: unknown }).format !== FORMAT)
    throw fileFault("ARENA_FILE_KIND", `The archive's "meta" does not say "${FORMAT}".`);
  return meta as Record<string, Json>;
};

export function decodeNpz(bytes: Uint8Array, limits: ZipLimits = DEFAULT_LIMITS): SamplesFile {
  const columns = decodeZip(bytes, limits).map(({ name, data }) => ({
    name: name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name,
    ...decodeNpy(data, name),
  }));
  const data = columns.find(({ name }) => name === "meta")?.data;
  const meta = parseMeta(data instanceof Uint8Array ? data : undefined);
  if (meta.version !== SAMPLES_VERSION)
    throw fileFault(
      "ARENA_FILE_VERSION",
      meta.version === undefined
        ? "The archive does not say its version."
        : `The archive has version ${String(meta.version)}; this program reads version ${SAMPLES_VERSION}.`,
    );
  return { samples: samplesFrom(meta.config_key, columns), origin: meta.origin ?? {} };
}
