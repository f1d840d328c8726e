/** What a database needs from time to time, and what neither the main loop nor the writer should wait for. */
export interface DatabaseCare {
  /**
   * Looks through the whole database; what is wrong with it, in the database's own words. Empty when it is sound.
   * Rejects as soon as the signal aborts.
   */
  check(signal?: AbortSignal): Promise<readonly string[]>;
  /** Bytes of the write-ahead log beside the database. */
  walBytes(): number;
  /** Brings the write-ahead log into the database and makes it short again. False when somebody still reads from it. */
  truncateWal(): Promise<boolean>;
}
