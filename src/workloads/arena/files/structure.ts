/** What a file is, as its own bytes say. It may come from anybody: nothing of it is believed, and all that is read is bounded. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import { CONFIG_KEYS, createGame } from "../games/catalog.ts";
import type { Samples } from "../net/samples.ts";
import { decodeCheckpoint } from "./checkpoint-file.ts";
import { decodeFile, MAGIC, MAX_FILE_BYTES } from "./container.ts";
import { fileFault } from "./errors.ts";
import { saidBy } from "./frame.ts";
import { decodeGames, decodeUnplayedGames } from "./games-file.ts";
import { decodeModel, describedModel } from "./model-file.ts";
import { decodeNpy } from "./npy.ts";
import { decodeNpz } from "./npz.ts";
import { decodePriorities, PRIORITIES_VERSION } from "./priorities-file.ts";
import { decodeRecords } from "./records-file.ts";
import { decodeSamples } from "./samples-file.ts";
import { decodeZip, type ZipMember } from "./zip.ts";

export interface ReadFile {
  /** Other files are somebody else's: nothing is known of them but their bytes. */
  readonly format: "arena" | "npz" | "jsonl" | "other";
  /** As the workload calls it; null where the file does not say. */
  readonly kind: "games" | "samples" | "model" | "checkpoint" | null;
  readonly config_key: string | null;
  readonly games: number;
  readonly rows: number;
}

/** Archives of others may have more arrays than ours, and no more bytes. */
const ANY_ARCHIVE = { members: 1_000, bytes: MAX_FILE_BYTES };
const ZIP_MAGIC = Buffer.from("PK\x03\x04", "latin1");
const CHECKPOINT_VERSION = 1;
const UNKNOWN: ReadFile = { format: "other", kind: null, config_key: null, games: 0, rows: 0 };

/** The bytes of a plain file, up to a limit. A link is not followed, and what grows meanwhile is cut. */
export async function readPlainFile(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const about = await file.stat();
  if (!about.isFile()) throw fileFault("ARENA_FILE_KIND", `${path} is no plain file.`);
  if (about.size > maxBytes)
    throw fileFault("ARENA_FILE_TOO_LARGE", `${path} has ${about.size} bytes; at most ${maxBytes} are read.`);
  const bytes = Buffer.allocUnsafe(about.size);
  let at = 0;
  while (at < bytes.length) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return bytes.subarray(0, at);
}

const rowsOf = (format: "arena" | "npz", samples: Samples): ReadFile => ({
  format,
  kind: "samples",
  config_key: samples.configKey,
  games: new Set(samples.game).size,
  rows: samples.count,
});

function arenaFile(bytes: Buffer, replay: boolean): ReadFile {
  const { kind } = saidBy(bytes);
  const unplayed = { format: "arena", games: 0, rows: 0 } as const;
  if (kind === "games") {
    const { configKey, games } = replay ? decodeGames(bytes) : decodeUnplayedGames(bytes);
    return { format: "arena", kind, config_key: configKey, games: games.length, rows: games.length };
  }
  if (kind === "samples") return rowsOf("arena", decodeSamples(bytes).samples);
  if (kind === "model") {
    const { configKey } = describedModel(bytes);
    if (replay && CONFIG_KEYS.includes(configKey)) decodeModel(bytes, createGame(configKey));
    return { ...unplayed, kind, config_key: configKey };
  }
  if (kind === "checkpoint") {
    const { config_key: named } = decodeFile(bytes, kind, CHECKPOINT_VERSION).about;
    const config_key = typeof named === "string" ? named : null;
    if (replay && config_key !== null && CONFIG_KEYS.includes(config_key))
      decodeCheckpoint(bytes, createGame(config_key));
    return { ...unplayed, kind, config_key };
  }
  if (kind === "priorities") {
    const config_key = String(decodeFile(bytes, kind, PRIORITIES_VERSION).about.config_key);
    return { ...unplayed, kind: null, config_key, rows: decodePriorities(bytes, config_key).length };
  }
  throw fileFault("ARENA_FILE_KIND", `The file holds "${kind.slice(0, 100)}", which is nothing that jobs make.`);
}

const META = "meta.npy";

/** An archive of rows is read as one; of any other every array is looked at. */
function archive(bytes: Buffer): ReadFile {
  const members = decodeZip(bytes, ANY_ARCHIVE);
  const isOurs = members.some(({ name, data }: ZipMember) => name === META && data.includes("ringrift-arena-samples"));
  if (isOurs) return rowsOf("npz", decodeNpz(bytes).samples);
  const arrays = members.filter(({ name }) => name.endsWith(".npy"));
  if (arrays.length === 0) return UNKNOWN;
  let rows = 0;
  for (const { name, data } of arrays)
    try {
      rows = Math.max(rows, decodeNpy(data, name).shape[0] ?? 0);
    } catch (thrown) {
      // Types that our trainer does not read are no fault of somebody else's file.
      if (!isOperatingError(thrown, "ARENA_FILE_KIND")) throw thrown;
    }
  return { ...UNKNOWN, format: "npz", rows };
}

/** Lines of games are always played through: there is no other way to know what they are. */
function lines(bytes: Buffer): ReadFile {
  const found = decodeRecords(bytes);
  const games = [...found.values()].reduce((sum, own) => sum + own.length, 0);
  const [only, ...others] = found.keys();
  const config_key = others.length === 0 ? (only ?? null) : null;
  return { format: "jsonl", kind: "games", config_key, games, rows: games };
}

/**
 * Whether a file is whole and within its bounds, whatever it says: the frame and the columns of ours, the members of archives of
 * rows. Files of other programs are theirs to judge. What is wrong is a typed error.
 */
export function checkFrame(bytes: Buffer): ReadFile {
  if (bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    const { kind, version } = saidBy(bytes);
    decodeFile(bytes, kind, version);
    return { ...UNKNOWN, format: "arena" };
  }
  if (!bytes.subarray(0, ZIP_MAGIC.length).equals(ZIP_MAGIC) || !bytes.includes(META)) return UNKNOWN;
  for (const { name, data } of decodeZip(bytes, ANY_ARCHIVE)) if (name.endsWith(".npy")) decodeNpy(data, name);
  return { ...UNKNOWN, format: "npz" };
}

/** What bytes are that were read from a file of this name. */
export function readBytes(path: string, bytes: Buffer, replay: boolean): ReadFile {
  try {
    if (bytes.subarray(0, MAGIC.length).equals(MAGIC)) return arenaFile(bytes, replay);
    if (bytes.subarray(0, ZIP_MAGIC.length).equals(ZIP_MAGIC)) return archive(bytes);
    return path.toLowerCase().endsWith(".jsonl") ? lines(bytes) : UNKNOWN;
  } catch (thrown) {
    if (isOperatingError(thrown)) throw thrown;
    throw OperatingError.internal("ARENA_FILE_CORRUPT", "The file cannot be read.", { cause: thrown });
  }
}

/** Reads a file to its end; with `replay` its games are played through by the rules, and its network is built. What is wrong with it is a typed error. */
export const readStructure = async (path: string, replay = false, maxBytes = MAX_FILE_BYTES): Promise<ReadFile> =>
  readBytes(path, await readPlainFile(path, maxBytes), replay);
