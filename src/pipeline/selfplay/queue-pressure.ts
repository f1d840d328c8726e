import type { ReadRows } from "../../daemons/index.ts";
import { defineTable } from "../../router/index.ts";
import type { QueueLevel } from "../../work/index.ts";

/** The rows of `work_queue_monitor`, by scope. Read only: it alone decides how much pressure there is. */
const pressures = defineTable<{ level: QueueLevel; since: number }>("work_pressures");
const QUEUE = "work_queue";

/** The pressure on the queue, as it was last decided. Read from the row, so that a lost event changes nothing. */
export const queuePressure = (rows: Pick<ReadRows, "get">): QueueLevel => rows.get(pressures, QUEUE)?.level ?? "none";
