/** What causes are judged by, taken from a running process at one moment. */
import type { NodeRegistry, NodeView } from "../../cluster/index.ts";
import type { Candidate, JobView, Placement, WorkQueue } from "../../work/index.ts";

/** A node as work sees it. */
export interface WorkNode {
  readonly id: string;
  /** What people call it. */
  readonly label: string;
  readonly state: NodeView["state"];
  readonly isThere: boolean;
  /** What its worker takes; undefined where no worker asks for jobs, no kinds where it takes all. */
  readonly worker: { readonly kinds?: readonly string[] | undefined } | undefined;
  readonly cordoned: NodeView["cordoned"];
  /** How it does, by its checks. */
  readonly health: NodeView["health"];
  /** Why it gets no work at all; null if it may have some. */
  readonly heldBy: string | null;
  /** What it is short of, where that is the reason. */
  readonly shortOf: string | null;
  /** It is only slowed: it gets more as soon as what it holds has ended. */
  readonly isSlowed: boolean;
  readonly jobs: number;
  /** The room on its disk, and below which its worker asks for nothing; null where nobody says. */
  readonly disk: NodeView["disk"];
  readonly view: NodeView;
}

export type WorkFacts = ReturnType<typeof workFacts>;

export interface WorkSources {
  readonly queue: Pick<WorkQueue, "show" | "placement" | "idle" | "whyNotOn" | "verdictOn" | "held" | "workers">;
  readonly book: Pick<NodeRegistry, "list">;
  readonly now: number;
  /** The room of the worker beside the main process, which sends no beats; undefined where none is meant to be there. */
  readonly localRoom?: (() => NodeView["disk"] | undefined) | undefined;
}

/** So many nodes are asked why they take nothing; who has more sees the first. */
const MAX_ASKED = 100;

export const isThere = ({ state }: Pick<NodeView, "state">): boolean => state === "online" || state === "suspect";

/** What a node would offer: what it said is free, or else all that it has; what it can do is what its worker asks for. */
export const candidateOf = (
  { node_id, load, capabilities }: NodeView,
  { workers }: Pick<WorkQueue, "workers">,
): Candidate => {
  const worker = workers.list().find((known) => known.node_id === node_id);
  const { cpu = 0, gpu = 0, memory_gb = 0, gpu_memory_gb = 0, tags = [] } = load?.free ?? worker?.offer ?? capabilities;
  return { node_id, offer: { cpu, gpu, memory_gb, gpu_memory_gb, tags }, kinds: worker?.kinds ?? capabilities.kinds };
};

export function workFacts({ queue, book, now, localRoom }: WorkSources) {
  const workers = new Map(queue.workers.list().map((worker) => [worker.node_id, worker]));
  const isSettled = queue.workers.settled;
  const nodeOf = (view: NodeView): WorkNode => {
    const { node_id: id, label, state, cordoned } = view;
    const verdict = queue.verdictOn(id);
    return {
      id,
      label,
      state,
      isThere: isThere(view),
      worker: workers.get(id),
      cordoned,
      health: view.health,
      heldBy: verdict.accepts ? null : verdict.reason,
      shortOf: verdict.accepts ? null : (verdict.shortOf ?? null),
      isSlowed: !verdict.accepts && verdict.slowed === true,
      jobs: queue.held(id).length,
      disk: view.disk ?? (view.local ? localRoom?.() : undefined) ?? null,
      view,
    };
  };
  // Nodes are only looked at where something waits for one.
  let nodes: readonly WorkNode[] | undefined;
  return {
    now,
    /** Whether everybody had the time to ask for work since the start. */
    isSettled,
    get nodes(): readonly WorkNode[] {
      nodes ??= book
        .list()
        .toSorted((a, b) => Number(workers.has(b.node_id)) - Number(workers.has(a.node_id)))
        .slice(0, MAX_ASKED)
        .map(nodeOf);
      return nodes;
    },
    job: (workId: string): JobView | undefined => queue.show(workId),
    placement: (workId: string): Placement | undefined => queue.placement(workId),
    /** For how long a held job has not gone on, and after how long it is given to another. */
    idle: (workId: string): ReturnType<WorkQueue["idle"]> => queue.idle(workId),
    /** Why a node could not take a job now; undefined if it could. */
    whyNotOn: (workId: string, { view }: WorkNode): string | undefined =>
      queue.whyNotOn(workId, candidateOf(view, queue)),
  };
}
