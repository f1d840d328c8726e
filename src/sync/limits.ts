/** Numbers of this room that no operator changes. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A file that is read whole into memory: results of matches are small, and what is larger is none. */
export const MAX_READ_BYTES = 64_000_000;

/** Files up to this size are copied when they are adopted: that is cheaper than to find out whether anybody writes to them. */
export const COPIED_BYTES = 8 * 1_024 ** 2;

/** Files that are known to be sound, so that they are not hashed again at once. */
export const MAX_SOUND_REMEMBERED = 10_000;

export const MAX_LISTED = 10_000;
export const MAX_RELATIVES = 1_000;
export const MAX_REASON_LENGTH = 200;

/** Files that are hashed side by side, and rows that change in one commit. */
export const INSPECTED_AT_ONCE = 4;
export const NOTED_AT_ONCE = 200;

export const SWEEP_EVERY_MS = 60_000;
/** Calls of one chore: it must take away at least as much as a busy loop makes in the time between. */
export const SWEEPS_IN_A_ROW = 25;
export const SCRUB_EVERY_MS = HOUR;

/** Files of one call; those that were looked at since so long are left alone. */
export const scrubDefaults = { max: 200, everyMs: DAY, bytesPerSecond: 50_000_000 };

export const sweepDefaults = {
  /** How long damaged files lie in quarantine. */
  quarantineMs: 7 * DAY,
  /** How long the row of a file that is gone is kept, and with it its history. */
  keepRowsMs: 30 * DAY,
  /** Beyond so many rows, those of files that are gone are forgotten sooner. */
  maxRows: 500_000,
  /** Files of one call, of each sort. */
  max: 200,
  /** Folders, of 256, that one call looks through for files that nobody recorded. */
  folders: 16,
};
