import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { recoveryLimits } from "../../limits.ts";
import { dropNode } from "../../nodes/node-rows.ts";
import { recoveryCases, recoveryRequests } from "../../recovery/recovery-book.ts";
import { fleetFacts, isPatient, type RecoveryServices } from "./facts.ts";
import { openCase, type TreatmentCache, treat } from "./treatment.ts";

const wiring = {
  name: "node_recovery",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["AVAILABILITY_RECOVERY_ENGINE", "NODE_RECOVERY", "RECOVERY_ORCHESTRATOR"],
  alsoKnownAs: [
    "NodeRecoveryDaemon",
    "RecoveryOrchestrator (nodes)",
    "EventEmissionMixin (retirement)",
    "EventSubscriptionRegistry (suspects)",
  ],
  dependsOn: ["node_health"],
  emits: ["RECOVERY_INITIATED", "RECOVERY_COMPLETED", "RECOVERY_FAILED", "NODE_RECOVERED", "NODE_RETIRED"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring, TreatmentCache>;
type NodeId = PayloadFor<"NODE_RETIRED">["node_id"];

/** Each is a reason to look at once; what is done follows from the rows alone. */
const REASONS = [
  "NODE_UNHEALTHY",
  "NODE_SUSPECT",
  "P2P_NODE_DEAD",
  "P2P_NODES_DEAD",
  "P2P_CLUSTER_UNHEALTHY",
  "P2P_HEALTH_RECOVERED",
  "CLUSTER_STALL_DETECTED",
  "HEALTH_CHECK_PASSED",
  "HEALTH_CHECK_FAILED",
  "SYNC_NODE_UNREACHABLE",
] as const;

/** Whoever is watched for less than the usual pause is looked at as often. Where units are only declared there is no number. */
const lookEveryMs = (observeMs: number, { everyMs, leastMs }: typeof recoveryLimits): number =>
  typeof observeMs === "number" ? Math.max(leastMs, Math.min(everyMs, observeMs)) : everyMs;

/**
 * The one arbiter of repair for nodes. Whoever is ill gets a case; a case climbs one ladder (`decide.ts`), each rung with its evidence as a
 * row, and never while jobs there make progress or files lie nowhere else. Before a hard rung the node's jobs are fenced and given to
 * others. All of it is decided anew from rows at each look: a crash in between costs nothing.
 */
export const nodeRecoveryDaemon = (services: RecoveryServices, limits = recoveryLimits) => {
  const { nodes } = services;

  /** Who was forgotten, or has been away for so long that nobody waits for it, is no node any more. */
  const retire = ({ rows, emit, afterCommit }: Context): void => {
    for (const { row, reason } of nodes.gone()) {
      // Whoever is still there is told to be gone first: that is `membership`.
      if (row.state === "online" || row.state === "suspect") continue;
      emit.NODE_RETIRED({
        node_id: row.node_id as NodeId,
        reason,
        ...(row.last_seen_at === null ? {} : { last_seen_at: row.last_seen_at / 1_000 }),
      });
      rows.apply(dropNode({ nodeId: row.node_id }));
      afterCommit(() => nodes.dropped(row.node_id));
    }
  };

  const look = async (context: Context): Promise<void> => {
    const { rows, now, signal, cache } = context;
    cache.lookedAt = now;
    const known = new Map(rows.list(recoveryCases));
    for (const node of nodes.list().filter(isPatient)) if (!known.has(node.node_id)) openCase(services, node, context);
    let fleet = fleetFacts(services, now);
    for (const [nodeId, patient] of known) {
      if (signal.aborted) return;
      fleet = await treat(services, nodeId, patient, fleet, context);
    }
  };

  /** A whole fleet that falls silent is one look at all of them, not one for each; the loop makes up for what is passed over. */
  const wake = (_event: unknown, context: Context): Promise<void> | undefined =>
    context.now - context.cache.lookedAt < limits.leastMs ? undefined : look(context);

  return defineDaemon({
    ...wiring,
    state: {
      tables: { recoveryCases, recoveryRequests },
      cache: (): TreatmentCache => ({ asked: new Map(), lookedAt: Number.NEGATIVE_INFINITY }),
    },
    on: {
      ...onEach(REASONS, wake),
      TASK_ORPHANED({ payload: { node_id } }, { rows }) {
        const patient = rows.get(recoveryCases, node_id);
        if (patient !== undefined) rows.put(recoveryCases, node_id, { ...patient, orphans: patient.orphans + 1 });
      },
    },
    loop: {
      everyMs: lookEveryMs(services.settings.recovery.observeMs, limits),
      async tick(context) {
        retire(context);
        await look(context);
      },
    },
    health: ({ rows }) => {
      const cases = rows.list(recoveryCases);
      return {
        status: "running",
        message: cases.length === 0 ? "" : `${cases.length} nodes are ill`,
        details: { cases: Object.fromEntries(cases.map(([node, { rung, waits_for }]) => [node, { rung, waits_for }])) },
      };
    },
    timeoutMs: 120_000,
  });
};
