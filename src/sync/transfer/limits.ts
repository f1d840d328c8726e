/** Numbers of transfers that no operator changes. */

/** Files up to this size travel in packs, so many and so much of them in one. */
export const PACKED_BYTES = 1_024 ** 2;
export const MAX_PACK_FILES = 4_096;
export const MAX_PACK_BYTES = 64 * 1_024 ** 2;

/** Files up to this size stay together where so many of them came in one pack, on a node that keeps packs. */
export const KEPT_BYTES = 64 * 1_024;
export const KEPT_FILES = 16;
/** Packs that are held open for those who read from them. */
export const OPEN_PACKS = 32;

/** A pack of so many files is worth a thread that makes them. */
export const MANY_FILES = 256;

/** Bytes that gather before they are written; the next ones gather meanwhile. */
export const WRITE_BYTES = 1_024 ** 2;
/** A large file goes to the disk while it comes, so that nobody waits for all of it at the end. */
export const FLUSH_BYTES = 64 * 1_024 ** 2;

/** Large files that come at once. */
export const FILES_AT_ONCE = 4;

/** Tries in a row of one way that bring not one byte. */
export const IDLE_TRIES = 2;
/** Tries of one way for one file, whatever they bring. */
export const MAX_TRIES = 1_000;

/** Files of one try that are named as wrong. */
export const MAX_WRONG = 20;
/** Wrong bytes that are set aside for a person to look at: so many files, and none that is larger. */
export const MAX_ASIDE_FILES = 20;
export const MAX_ASIDE_BYTES = 64 * 1_024 ** 2;

/** Silence, in spans of `stallMs`, that is no fault of one who waits for the file itself. */
export const COMING_WAITS = 3;
/** How long one who waits for the file itself may take to say so. */
export const COMING_ANSWER_MS = 5_000;

/** Chunks of one file at most: beyond it they are larger, so that a list of their hashes stays small. */
const MAX_CHUNKS = 4_096;

/** The chunks by which a file of this size is judged. */
export const chunkBytesFor = (bytes: number, chunkBytes: number): number =>
  chunkBytes * Math.max(1, Math.ceil(bytes / (chunkBytes * MAX_CHUNKS)));

export const transferDefaults = {
  /** What a damaged transfer loses at most, and what is passed on at once: where two sides differ is known to a chunk. */
  chunkBytes: 256 * 1_024,
  /** Silence of the other side, in listening time, after which the next way is taken. */
  stallMs: 20_000,
  /** Failures in a row that close a way, and for how long. */
  breaker: { threshold: 3, openMs: 60_000 },
};
