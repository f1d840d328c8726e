/** Says which disk or bucket a place is. One without it is where ours should be, and is not: nothing is concluded from it. */
export const DISK_MARKER = ".ringrift-disk";
