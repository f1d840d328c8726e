import { type ContextOf, defineCoordinator, type UnitHealth, type Wiring } from "../../../daemons/index.ts";
import { messageOf } from "../../../kernel/index.ts";
import { defineTable } from "../../../router/index.ts";
import { LeadershipRole, lateBy, leadersByDomain } from "../../leadership/index.ts";
import { leadershipLimits } from "../../limits.ts";
import type { ClusterServices } from "../../services.ts";
import { handTo, type Mark, successors, type TermRow, UNFIT } from "./decide.ts";

const wiring = {
  name: "leadership_coordinator",
  layer: 9,
  placement: "each-node",
  profiles: ["coordinator"],
  feature: "leadership",
  pattern: "WIRE",
  alsoKnownAs: ["LeadershipCoordinator", "EventSubscriptionRegistry (leadership)"],
  dependsOn: ["event_router"],
  emits: [],
} as const satisfies Wiring;

/** By cluster and epoch. */
const terms = defineTable<TermRow>("leadership_terms");
/** The newest epoch of each cluster: who was elected in an older one leads no more. */
const fences = defineTable<{ epoch: number }>("leadership_fences");
/** Entries of stale leaders that were refused, while they do not follow yet. */
const splits = defineTable<{ nodes: readonly string[]; sequence: number; since: number }>("leadership_splits");

interface Cache {
  readonly marks: Map<string, Mark>;
  readonly offline: Set<string>;
  /** Why this process should not lead; null while nothing is wrong with it. */
  unfit: string | null;
  isHandingOver: boolean;
  readonly startedAt: number;
}
type Context = ContextOf<typeof wiring, Cache>;
type Rows = Pick<Context["rows"], "list">;

const keyOf = (cluster: string, epoch: number) => `${cluster}/${String(epoch).padStart(12, "0")}`;
const termsOf = (rows: Rows): TermRow[] =>
  [...rows.list(terms)].map(([, row]) => row).toSorted((one, other) => other.since - one.since);

/**
 * Follows the lease, which is in the log and belongs to nobody here: keeps the last leaderships and how they ended, knows who would
 * take over, and hands the lead on when this process came up with faults and another has everything. There is one lease: whoever holds it leads
 * in all five domains. A coordinator by itself leads alone, in epoch 1, and nothing here costs it anything.
 */
export const leadershipCoordinator = (
  { nodeId, clock, leadership }: Pick<ClusterServices, "nodeId" | "clock" | "leadership">,
  limits = leadershipLimits,
) => {
  const begun = ({ rows, now }: Context, row: Omit<TermRow, "since" | "ended" | "endedAt" | "reason">) => {
    const key = keyOf(row.cluster_id, row.epoch);
    if (rows.get(terms, key) !== undefined) return;
    rows.put(terms, key, { ...row, since: now, ended: null, endedAt: null, reason: null });
    for (const [old] of [...rows.list(terms)].toSorted(([, a], [, b]) => b.since - a.since).slice(limits.keptTerms))
      rows.delete(terms, old);
  };
  const ended = (
    { rows, now }: Context,
    about: { readonly cluster_id: string; readonly epoch: number; readonly previous_leader_node_id: string },
    how: TermRow["ended"],
    reason: string,
  ) => {
    const { cluster_id, epoch, previous_leader_node_id: leader } = about;
    const key = keyOf(cluster_id, epoch);
    const known = rows.get(terms, key) ?? { cluster_id, epoch, leader, since: now };
    rows.put(terms, key, { ...known, ended: how, endedAt: now, reason });
  };

  /** Hands the lead on when somebody else should have it; called from whatever may have changed that. */
  const consider = ({ rows, cache, now, afterCommit, log }: Context, unfit = cache.unfit): void => {
    if (leadership === undefined || unfit === null || cache.isHandingOver) return;
    const able = successors(cache.marks, { self: nodeId, offline: cache.offline, now }, limits);
    const to = handTo(unfit, able, termsOf(rows), now, limits);
    if (to === undefined) return;
    const reason = `${UNFIT}: ${unfit}`;
    afterCommit(() => {
      cache.isHandingOver = true;
      log.warn(`hands the lead to ${to}`, { reason });
      // What handles this ends with the term: it comes first.
      clock.after(0, () =>
        leadership.stepDown(to, reason).catch((thrown: unknown) => {
          cache.isHandingOver = false;
          log.warn("the lead was not handed over", { error: messageOf(thrown) });
        }),
      );
    });
  };

  return defineCoordinator({
    ...wiring,
    state: {
      tables: { terms, fences, splits },
      cache: (): Cache => ({
        ...{ marks: new Map(), offline: new Set(), unfit: null, isHandingOver: false },
        startedAt: clock.now(),
      }),
    },
    on: {
      EPOCH_ADVANCED({ payload: { cluster_id, epoch } }, { rows }) {
        if (epoch > (rows.get(fences, cluster_id)?.epoch ?? -1)) rows.put(fences, cluster_id, { epoch });
      },
      LEADER_ELECTED({ payload: { cluster_id, epoch, leader_node_id } }, context) {
        // A word about an older leadership is no news.
        if (epoch < (context.rows.get(fences, cluster_id)?.epoch ?? epoch)) return;
        begun(context, { cluster_id, epoch, leader: leader_node_id });
      },
      LEADER_LOST: ({ payload }, context) => ended(context, payload, "lost", payload.reason),
      LEADER_STEPDOWN: ({ payload }, context) => ended(context, payload, "handed over", payload.reason),
      SPLIT_BRAIN_DETECTED({ payload }, { rows, now, log }) {
        const { cluster_id, epoch, claiming_node_ids: nodes, refused_sequence: sequence } = payload;
        rows.put(splits, keyOf(cluster_id, epoch), { nodes, sequence, since: now });
        log.warn("a stale leader was refused by the log", { epoch, nodes, sequence });
      },
      SPLIT_BRAIN_RESOLVED({ payload: { cluster_id, epoch } }, { rows }) {
        rows.delete(splits, keyOf(cluster_id, epoch));
      },
      LEADER_HEARTBEAT_MISSING({ payload: { silent_seconds, interval_seconds } }, { log }) {
        log.warn("the lease was not renewed in time: nothing is done outside once it has run out", {
          silent_seconds,
          interval_seconds,
        });
      },
      STATE_PERSISTED({ payload: { node_id, pending_commits: pending = 0 } }, context) {
        const { cache, now, afterCommit } = context;
        afterCommit(() => {
          cache.marks.set(node_id, { pending, at: now });
          if (cache.marks.size > limits.maxMarks) cache.marks.delete(cache.marks.keys().next().value!);
        });
        // Its own first term may have begun before it was there to hear of it.
        const { cluster, term, role } = leadership?.view() ?? {};
        if (cluster !== undefined && term !== undefined && role === LeadershipRole.LEADER)
          begun(context, { cluster_id: cluster, epoch: term, leader: nodeId });
        consider(context);
      },
      HOST_ONLINE({ payload: { node_id } }, { cache, afterCommit }) {
        if (cache.offline.has(node_id)) afterCommit(() => void cache.offline.delete(node_id));
      },
      HOST_OFFLINE({ payload: { node_id } }, { cache, afterCommit }) {
        // Only those matter that could lead; the rest of the nodes would fill it.
        if (cache.marks.has(node_id)) afterCommit(() => void cache.offline.add(node_id));
      },
      STARTUP_STATE_VALIDATED({ payload: { node_id, passed, problems = [] } }, context) {
        // Alone there is nobody to hand the lead to: what is wrong is told by others.
        if (leadership === undefined || node_id !== nodeId) return;
        const unfit = passed ? null : (problems[0] ?? "it does not say which");
        context.afterCommit(() => {
          context.cache.unfit = unfit;
        });
        consider(context, unfit);
      },
    },
    health: ({ cache, rows, now }): UnitHealth => {
      const open = [...rows.list(splits)].map(([, split]) => split);
      const fence = Math.max(0, ...[...rows.list(fences)].map(([, { epoch }]) => epoch));
      const able = successors(cache.marks, { self: nodeId, offline: cache.offline, now }, limits);
      // What was told while several shared a log stays to be looked at.
      const past = { fence, refused: open, terms: termsOf(rows).map((row) => ({ ...row, since: row.since / 1_000 })) };
      if (leadership === undefined)
        return {
          status: "running",
          message: "leads alone",
          details: {
            role: LeadershipRole.LEADER,
            epoch: 1,
            successors: able,
            domains: leadersByDomain(nodeId),
            ...past,
          },
        };
      const { role, term, leader } = leadership.view();
      const lateMs = lateBy(leadership.trustedForMs(), leadership.timing);
      const faults = [
        ...(cache.unfit === null ? [] : [`this coordinator ${UNFIT.replace("it ", "")}: ${cache.unfit}`]),
        ...(lateMs === undefined ? [] : [`its lease was not renewed for ${Math.round(lateMs / 1_000)} s`]),
        ...open.map(({ nodes, sequence }) => `${nodes.join(" and ")} both led; entry ${sequence} was refused`),
        ...(able.length > 0 || now - cache.startedAt < limits.graceMs ? [] : ["no other coordinator would take over"]),
      ];
      return {
        status: faults.length === 0 ? "running" : "degraded",
        message: faults.join("; "),
        details: {
          ...{ role, epoch: term, successors: able, ...past },
          domains: leadersByDomain(leader?.name ?? null),
        },
      };
    },
  });
};
