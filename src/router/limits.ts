/** Numbers of this room that no operator changes: what may be in memory, however large events are. */

const MEGABYTE = 1_024 ** 2;

/** Events on their way to one consumer, and to all of them. One event may be on its way to each in any case. */
export const CONSUMER_BYTES = 8 * MEGABYTE;
export const CONSUMERS_BYTES = 128 * MEGABYTE;

/** Events that are read from the journal at once. */
export const PAGE_BYTES = 8 * MEGABYTE;

/** Events that are kept for `history`, beside the number that is set. */
export const HISTORY_BYTES = 32 * MEGABYTE;
