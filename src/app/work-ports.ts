import type { Clock, Random } from "../kernel/index.ts";
import type { EventRouter, Store } from "../router/index.ts";
import {
  type ClaimDesk,
  createClaimDesk,
  defineKind,
  type NodePolicy,
  storedNodePolicy,
  type WorkKinds,
  WorkQueue,
} from "../work/index.ts";
import type { NamedWorkload } from "./worker/workload-list.ts";

/** The kinds of work that the built-in workload does, and what each has to show when it is done. */
const builtinKinds = {
  selfplay: defineKind({ evidence: { outputs: 1, counts: ["games"] } }),
  validation: defineKind({ evidence: { outputs: 0, counts: ["games"] } }),
  export: defineKind({ evidence: { outputs: 1, counts: ["rows"] } }),
  // The first network is trained on nothing: its maker counts no steps, and the loop looks closer.
  training: defineKind({ evidence: { outputs: 1, counts: [] }, cost: 4, timeoutMs: 6 * 3_600_000 }),
  evaluation: defineKind({ evidence: { outputs: 0, counts: ["games"] } }),
} as const satisfies WorkKinds;

/** Those, and the kinds of the workloads that are declared: of them it is only known that they must bring a file. */
export const kindsOf = (workloads: readonly Pick<NamedWorkload, "declaration">[]): WorkKinds => ({
  ...Object.fromEntries(
    workloads
      .flatMap(({ declaration }) => declaration.kinds)
      .map((kind) => [kind, defineKind({ evidence: { outputs: 1, counts: [] } })]),
  ),
  ...builtinKinds,
});

export interface WorkSurroundings {
  readonly router: EventRouter;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly leaseSilenceMs: number;
  /** The built-in ones unless said. */
  readonly kinds?: WorkKinds;
  /** Why a node gets no work, by what its operators decided; undefined if it may. */
  readonly barred: (nodeId: string) => string | undefined;
}

export interface WorkPorts {
  readonly queue: WorkQueue;
  readonly desk: ClaimDesk;
}

/** The queue of a process, with the policy on nodes that its units keep, and the desk where claims stand in line. */
export function workPortsOf(around: WorkSurroundings): WorkPorts {
  const { router, store, clock, random, leaseSilenceMs, kinds = kindsOf([]), barred } = around;
  const stored = storedNodePolicy(store);
  const nodePolicy: NodePolicy = (nodeId, now) => {
    const reason = barred(nodeId);
    return reason === undefined ? stored(nodeId, now) : { accepts: false, reason };
  };
  const queue = new WorkQueue({
    router,
    store,
    clock,
    random,
    kinds,
    nodePolicy,
    lease: { silentMs: leaseSilenceMs },
  }) as unknown as WorkQueue;
  return { queue, desk: createClaimDesk({ queue, clock }) };
}
