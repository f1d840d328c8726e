/**
 * What the lease and the log have to tell: told by whoever leads, since nobody else can commit it. A term that begins tells how the one
 * before it ended; while it lasts it tells how far the others have come, whether its own renewal is late, and which entries of others
 * the log refused.
 */
import type { EventName, PayloadFor } from "../../events/index.ts";
import { type Clock, isOperatingError, type Log, messageOf } from "../../kernel/index.ts";
import type { EventRouter } from "../../router/index.ts";
import type { ClusterPort } from "./cluster.port.ts";
import type { LeaseTiming } from "./decide.ts";
import type { ClusterView, RefusedEntry } from "./members.ts";

export const LEADER_LEASE = "leader_lease";
export const REPLICATED_LOG = "replicated_log";

type Told<N extends EventName> = { [K in N]: readonly [K, PayloadFor<K>] }[N];
type Durable =
  | "LEADER_ELECTED"
  | "LEADER_LOST"
  | "LEADER_STEPDOWN"
  | "EPOCH_ADVANCED"
  | "SPLIT_BRAIN_DETECTED"
  | "SPLIT_BRAIN_RESOLVED";

/** The begin of the term that is led here, after the end of the one before. */
export function beginOf({ cluster, terms }: ClusterView): Told<Durable>[] {
  const [now, before] = terms;
  if (now === undefined) return [];
  const about = { cluster_id: cluster as PayloadFor<"LEADER_ELECTED">["cluster_id"] };
  const leader_node_id = now.node as PayloadFor<"LEADER_ELECTED">["leader_node_id"];
  const told: Told<Durable>[] = [];
  const previous = before?.node as typeof leader_node_id | undefined;
  if (before !== undefined && previous !== undefined) {
    const ended = { ...about, epoch: before.term, previous_leader_node_id: previous };
    told.push(
      before.stepDown === null
        ? ["LEADER_LOST", { ...ended, reason: `it was silent for a lease, and ${now.node} took over` }]
        : ["LEADER_STEPDOWN", { ...ended, reason: before.stepDown.reason }],
    );
  }
  told.push(["EPOCH_ADVANCED", { ...about, epoch: now.term, previous_epoch: before?.term ?? 0, leader_node_id }]);
  told.push([
    "LEADER_ELECTED",
    { ...about, epoch: now.term, leader_node_id, ...(previous && { previous_leader_node_id: previous }) },
  ]);
  return told;
}

/** What was told of entries that were refused, by the term in which they were sent. */
export type ToldSplits = ReadonlyMap<number, "detected" | "resolved">;

/** Entries that others, or this one in an earlier term, sent as the leader while another led; and whether they follow now. */
export function splitsOf(
  { cluster, name, leader, members, refused, term }: ClusterView,
  told: ToldSplits,
  now: number,
): Told<Durable>[] {
  const others = members.filter((one) => one.name !== name);
  const found: { readonly who: string; readonly evidence: RefusedEntry; readonly follows: boolean }[] = [
    ...(refused === null ? [] : [{ who: name, evidence: refused, follows: true }]),
    ...others.flatMap(({ name: who, refused: evidence, role, term: at }) =>
      evidence === null
        ? []
        : [{ who, evidence, follows: role !== "leader" && at >= Math.min(term, evidence.by_term) }],
    ),
  ];
  return found.flatMap(({ who, evidence, follows }) => {
    const known = told.get(evidence.term);
    const about = { cluster_id: cluster as PayloadFor<"LEADER_ELECTED">["cluster_id"], epoch: evidence.term };
    const stale = who as PayloadFor<"LEADER_ELECTED">["leader_node_id"];
    const out: Told<Durable>[] = [];
    if (known === undefined)
      out.push([
        "SPLIT_BRAIN_DETECTED",
        {
          ...about,
          severity: "warning",
          claiming_node_ids: [stale, evidence.by as typeof stale],
          refused_sequence: evidence.seq,
          standing_epoch: evidence.by_term,
        },
      ]);
    if (follows && known !== "resolved")
      out.push([
        "SPLIT_BRAIN_RESOLVED",
        {
          ...about,
          leader_node_id: (leader?.name ?? name) as typeof stale,
          demoted_node_ids: [stale],
          duration_seconds: Math.max(0, (now - evidence.at) / 1_000),
        },
      ]);
    return out;
  });
}

/** Renewals that may be missed before somebody is told. */
const LATE_BEATS = 2;

/** For how long the lease was not renewed, in milliseconds; undefined while it is in time, and when it is over. */
export function lateBy(trustedForMs: number, { leaseMs, marginMs, beatMs }: LeaseTiming): number | undefined {
  const silentMs = leaseMs - marginMs - trustedForMs;
  return trustedForMs > 0 && silentMs >= LATE_BEATS * beatMs ? silentMs : undefined;
}

const LOOK_MS = 1_000;

export interface LeaseNewsOptions {
  readonly router: Pick<EventRouter, "prepare" | "publish" | "publishAll">;
  readonly cluster: Pick<ClusterPort, "view" | "trustedForMs" | "timing">;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
}

/** Tells the begin of the term, and goes on to tell what becomes of it. Resolves when the begin is committed. */
export async function tellLeaseNews(options: LeaseNewsOptions): Promise<{ stop(): void }> {
  const { router, cluster, clock, log } = options;
  const splits = new Map<number, "detected" | "resolved">();
  const persisted = new Map<string, number>();
  let isLate = false;
  let isTelling = false;
  const commit = async (all: readonly Told<Durable>[]): Promise<void> => {
    if (all.length === 0) return;
    await router.publishAll(
      all.map(([type, payload]) => router.prepare(type, payload, { source: LEADER_LEASE }, "strict")),
    );
  };

  const tellSplits = async (view: ClusterView): Promise<void> => {
    const news = splitsOf(view, splits, clock.now());
    await commit(news);
    for (const [type, { epoch }] of news) splits.set(epoch, type === "SPLIT_BRAIN_RESOLVED" ? "resolved" : "detected");
  };

  const tellLate = async ({ cluster: id, name }: ClusterView): Promise<void> => {
    const silentMs = lateBy(cluster.trustedForMs(), cluster.timing);
    if (silentMs === undefined) {
      isLate = false;
      return;
    }
    if (isLate) return;
    isLate = true;
    const about = { cluster_id: id, leader_node_id: name, silent_seconds: silentMs / 1_000 };
    const payload = { ...about, interval_seconds: cluster.timing.beatMs / 1_000 };
    await router.publish("LEADER_HEARTBEAT_MISSING", payload as never, { source: LEADER_LEASE });
  };

  const tellPersisted = async ({ name, members, seq, term }: ClusterView): Promise<void> => {
    const all = [{ name, seq, term }, ...members.filter((one) => one.name !== name)];
    for (const { name: node_id, seq: last_sequence, term: epoch } of all) {
      if (persisted.get(node_id) === last_sequence) continue;
      persisted.set(node_id, last_sequence);
      const payload = { node_id, epoch, last_sequence, pending_commits: Math.max(0, seq - last_sequence) };
      await router.publish("STATE_PERSISTED", payload as never, { source: REPLICATED_LOG });
    }
  };

  const look = async (): Promise<void> => {
    if (isTelling) return;
    isTelling = true;
    try {
      const view = cluster.view();
      await tellLate(view);
      await tellPersisted(view);
      await tellSplits(view);
    } catch (thrown) {
      // A term that is over has nothing more to tell; all else is told at the next look.
      if (!isOperatingError(thrown, "STORE_FENCED"))
        log.warn("news of the lease could not be told", { error: messageOf(thrown) });
    } finally {
      isTelling = false;
    }
  };
  await commit(beginOf(cluster.view()));
  let isStopped = false;
  const again = () => {
    if (isStopped) return;
    void look();
    timer = clock.after(LOOK_MS, again);
  };
  let timer = clock.after(LOOK_MS, again);
  return {
    stop() {
      isStopped = true;
      timer.cancel();
    },
  };
}
