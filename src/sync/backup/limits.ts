/** Numbers of backups that no operator changes. */

export const MAX_BACKUP_FILES = 1_000_000;
export const MAX_MANIFEST_BYTES = 256 * 1_024 ** 2;
/** Files of the data folder that go along sealed: keys and tokens are small. */
export const MAX_PRIVATE_BYTES = 64 * 1_024;
export const MAX_PRIVATE_FILES = 50;
/** Files that are copied side by side. */
export const COPIED_AT_ONCE = 4;
/** What must be left on a disk beside what is restored to it. */
export const RESTORE_RESERVE_BYTES = 100_000_000;
/** Files that one prune takes away unless it is told otherwise. */
export const MAX_PRUNED = 10_000;

/** How backups are seen to. */
export const backupLimits = {
  everyMs: 15_000,
  /** After a failure; each further one waits twice as long. */
  retryMs: 5 * 60_000,
  /** Champions may come every minute; they are backed up together. */
  spacingMs: 10 * 60_000,
  failures: 3,
  keepTasksMs: 90 * 86_400_000,
};
