import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import { defined } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { CLUSTER_ID, capacityLimits } from "../../limits.ts";
import type { NodeView } from "../../nodes/node-view.ts";
import type { ClusterServices } from "../../services.ts";
import type { ClusterSettings } from "../../settings.ts";

const wiring = {
  name: "resource_coordinator",
  layer: 1,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "resources",
  alsoKnownAs: ["ResourceMonitoringCoordinator", "CapacityCoordinator"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["CLUSTER_CAPACITY_CHANGED", "CAPACITY_LOW", "CAPACITY_RESTORED"],
} as const satisfies Wiring;

/** What the cluster has, as it was emitted last. */
export type Capacity = {
  readonly healthy_nodes: number;
  readonly total_nodes: number;
  readonly total_gpus: number;
  readonly low: boolean;
};
const capacities = defineTable<Capacity>("cluster_capacity");
/** What each node offers, by node. */
export type NodeOffer = {
  /** Absent where nobody counts them: a node without the tools to look joined with what its owner says. */
  readonly gpus?: number;
  readonly free_slots: number;
  readonly slots: number;
};
const offers = defineTable<NodeOffer>("cluster_offers");
const WHOLE = "cluster";

interface Whole {
  readonly healthy_nodes: number;
  readonly total_nodes: number;
  readonly total_gpus: number;
  readonly free_gpus: number;
}

/** Accelerators of a node: those that it joined with, as far as its own last sample still finds them. */
const gpusOf = (joined: number, offer: NodeOffer | undefined): number =>
  offer?.gpus === undefined ? joined : Math.min(joined, offer.gpus);

/** What all nodes that are there offer together. */
function wholeOf(nodes: readonly NodeView[], offerOf: (nodeId: string) => NodeOffer | undefined): Whole {
  const there = nodes.filter(({ state }) => state === "online" || state === "suspect");
  const able = there.filter(({ state, cordoned }) => state === "online" && cordoned === null);
  const gpus = (all: readonly NodeView[]) =>
    all.reduce((sum, { node_id, capabilities: { gpu = 0 } }) => sum + gpusOf(gpu, offerOf(node_id)), 0);
  // A node whose sample says that it can take nothing more has nothing free, whatever its leases leave.
  const free = able
    .filter(({ node_id }) => offerOf(node_id)?.free_slots !== 0)
    .reduce((sum, { load, capabilities: { gpu = 0 } }) => sum + (load?.free.gpu ?? gpu), 0);
  return {
    healthy_nodes: able.length,
    total_nodes: nodes.filter(({ state }) => state !== "left").length,
    total_gpus: Math.floor(gpus(there)),
    free_gpus: Math.floor(Math.min(free, gpus(there))),
  };
}

interface Cache {
  /** What would be emitted if it lasts, and since when it is so. */
  pending: { readonly key: string; readonly since: number } | undefined;
}
type Context = ContextOf<typeof wiring, Cache>;

const keyOf = ({ healthy_nodes, total_nodes, total_gpus }: Whole | Capacity): string =>
  `${healthy_nodes}/${total_nodes}/${total_gpus}`;

/**
 * Keeps the table of what each node offers, and judges whether the whole suffices. A change is emitted once it has lasted:
 * a node that comes and goes makes no noise.
 */
export const resourceCoordinator = (
  { nodes, settings }: Pick<ClusterServices, "nodes"> & { readonly settings: Pick<ClusterSettings, "nodes"> },
  limits = capacityLimits,
) => {
  const { requiredGpus } = settings.nodes;

  const judge = ({ rows, emit, now, cache, log, afterCommit }: Context) => {
    const whole = wholeOf(nodes.list(), (nodeId) => rows.get(offers, nodeId));
    const before = rows.get(capacities, WHOLE);
    const low = whole.total_gpus < requiredGpus;
    const isNews = before === undefined || keyOf(before) !== keyOf(whole) || before.low !== low;
    const key = `${keyOf(whole)}/${low}`;
    const since = cache.pending?.key === key ? cache.pending.since : now;
    if (!isNews || now - since < limits.settleMs) {
      afterCommit(() => {
        cache.pending = isNews ? { key, since } : undefined;
      });
      return;
    }
    rows.put(capacities, WHOLE, {
      healthy_nodes: whole.healthy_nodes,
      total_nodes: whole.total_nodes,
      total_gpus: whole.total_gpus,
      low,
    });
    log.info(`${whole.healthy_nodes} of ${whole.total_nodes} nodes take work`, { ...whole, low });
    if (before === undefined || keyOf(before) !== keyOf(whole))
      emit.CLUSTER_CAPACITY_CHANGED({
        cluster_id: CLUSTER_ID,
        ...whole,
        ...(before === undefined ? {} : { reason: `it was ${before.healthy_nodes} nodes, ${before.total_gpus} GPUs` }),
      });
    const capacity = { scope: WHOLE, gpus: whole.total_gpus, required_gpus: requiredGpus };
    if (low && before?.low !== true) emit.CAPACITY_LOW(capacity);
    if (!low && before?.low === true) emit.CAPACITY_RESTORED(capacity);
    afterCommit(() => {
      cache.pending = undefined;
    });
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { capacities, offers }, cache: (): Cache => ({ pending: undefined }) },
    on: {
      NODE_CAPACITY_UPDATED({ payload: { node_id, slots, free_slots, gpus } }, context) {
        const { rows } = context;
        const known = rows.get(offers, node_id);
        const offer = { slots, free_slots, ...defined({ gpus }) };
        if (JSON.stringify(known) === JSON.stringify(offer)) return;
        rows.put(offers, node_id, offer);
        // Slots come and go with every job; an accelerator that is gone is another cluster.
        if (known?.gpus !== offer.gpus) judge(context);
      },
      HOST_ONLINE: (_event, context) => judge(context),
      ...onEach(["HOST_OFFLINE", "NODE_RETIRED"], ({ payload: { node_id } }, context: Context) => {
        if (context.rows.get(offers, node_id) !== undefined) context.rows.delete(offers, node_id);
        judge(context);
      }),
    },
    loop: { everyMs: limits.everyMs, tick: judge },
    health: ({ rows }) => {
      const now = rows.get(capacities, WHOLE);
      const details = { offers: rows.list(offers).length, ...(now ?? {}), required_gpus: requiredGpus };
      return now?.low === true
        ? {
            status: "degraded",
            message: `${now.total_gpus} of ${requiredGpus} accelerators are there`,
            details,
          }
        : { status: "running", message: "", details };
    },
  });
};
