/**
 * worker: the other side of a lease, as a value with ports. It knows neither HTTP nor programs: whoever has a queue, an
 * executor, a place for files and a folder can run one.
 *
 * It guarantees that nothing is claimed that does not fit; that beats wait for nobody; that a job whose lease is lost is
 * stopped and its result is never told as done; that a finished job is on the disk before the queue hears of it and until
 * the queue has answered, over restarts and kill -9; that a worker which leaves gives back what it cannot end; and that
 * what a killed life held is told at the next start.
 */
export { type Capacity, createAdmission } from "./admission.ts";
export type { ArtifactPort, ExecutorPort, MadeFile, QueuePort, SavedFile, WorkResult } from "./ports.ts";
export { openSpool, type SpoolEntry } from "./spool.ts";
export { createWorker, type Worker } from "./worker.ts";
export { type WorkerTiming, workerTimingDefaults } from "./worker-options.ts";
