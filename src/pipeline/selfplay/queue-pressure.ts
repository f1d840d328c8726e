import type { ReadRows } from "../../daemons/index.ts";
import { QUEUE_SCOPE, type QueueLevel, queuePressures } from "../../work/index.ts";

/** The pressure on the queue, as it was last decided. Read from the row, so that a lost event changes nothing. */
export const queuePressure = (rows: Pick<ReadRows, "get">): QueueLevel =>
  rows.get(queuePressures, QUEUE_SCOPE)?.level ?? "none";
