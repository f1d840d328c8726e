/** Champions whose files are kept, newest first; the first one always is. */
export const CHAMPIONS_KEPT = 16;
