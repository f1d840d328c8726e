import type { WorkQueue } from "../work/index.ts";
import type { StageWork } from "./stage-work.ts";

/**
 * Parts whose jobs wait for a node that is no longer there: all that are may not have them. Whoever asked for them asks anew,
 * with those who are there.
 */
export function strandedParts(
  queue: Pick<WorkQueue, "show" | "placement">,
  jobs: StageWork["jobs"],
  nodes: readonly string[],
): ReadonlySet<string> {
  const stranded = Object.entries(jobs).filter(([, workId]) => {
    const excluded = queue.placement(workId)?.excluded ?? [];
    if (excluded.length === 0 || nodes.length === 0 || !nodes.every((node) => excluded.includes(node))) return false;
    const state = queue.show(workId)?.state;
    return state === "pending" || state === "delayed";
  });
  return new Set(stranded.map(([part]) => part));
}
