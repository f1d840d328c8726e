/**
 * Work that prepares data and needs no accelerator. Where some nodes have accelerators and others have none, it is left to those
 * without: a node with accelerators that checks games or writes training files keeps them idle.
 */
import type { KnownWorker } from "../queue/known-workers.ts";
import type { QueueState } from "../queue/queue-state.ts";
import type { PassesOver } from "./left-to-faster.ts";
import { takes } from "./untaken.ts";

const PREPROCESSING: ReadonlySet<string> = new Set(["validation", "export"]);
export const isPreprocessing = (workType: string): boolean => PREPROCESSING.has(workType);

/** So long such a job waits for a node without accelerators; then any may have it. */
const PATIENCE_MS = 20_000;

/** What a node with accelerators leaves to those without that have room for it. */
export function leftToNodesWithoutGpus(parts: QueueState, nodeId: string, now: number): PassesOver {
  const { workers } = parts;
  let others: readonly KnownWorker[] | undefined;
  return (job, lane) => {
    if (!isPreprocessing(lane.workType) || lane.needs.gpu > 0 || now - job.ready_at > PATIENCE_MS) return false;
    others ??= workers.hasGpus(nodeId) ? workers.list().filter((each) => !workers.hasGpus(each.node_id)) : [];
    return others.some((each) => each.slots > 0 && takes(parts, lane, each, now));
  };
}
