import type { Store } from "../../router/index.ts";
import { notFound, seqOf, workIdOf } from "../job/job.ts";
import { fits, type Lane, type Needs, type Offer, whyNotThere } from "../job/needs.ts";
import type { Lanes } from "../queue/lanes.ts";
import type { NodeVerdict, QueueState } from "../queue/queue-state.ts";

type Reader = Pick<Store, "read">;

/** A node that might take a job. */
export interface Candidate {
  readonly node_id: string;
  readonly offer: Offer;
  readonly kinds?: readonly string[] | undefined;
}

/** What a job needs, and where it may run. */
export interface Placement {
  readonly needs: Needs;
  readonly targets: readonly string[] | null;
  readonly excluded: readonly string[];
  /** Jobs that must be done before it. */
  readonly waitsFor: readonly { readonly work_id: string; readonly state: string }[];
}

/** What of the needs an offer does not cover, in words. */
export function lacking(needs: Needs, offer: Offer): string {
  const short = (["cpu", "gpu", "memory_gb"] as const)
    .filter((name) => needs[name] > offer[name])
    .map((name) => `${name} ${offer[name]} of ${needs[name]}`);
  if (needs.gpu > 0 && needs.gpu_memory_gb > offer.gpu_memory_gb)
    short.push(`gpu_memory_gb ${offer.gpu_memory_gb} of ${needs.gpu_memory_gb}`);
  const tags = needs.tags.filter((tag) => !offer.tags.includes(tag));
  return [...short, ...tags.map((tag) => `no tag ${tag}`)].join(", ");
}

/** Why a node could not take a job of this lane now; undefined if it could. The same rules as those of a claim. */
export function whyNotOn(lane: Lane, { node_id, offer, kinds }: Candidate, verdict: NodeVerdict): string | undefined {
  if (!verdict.accepts) return verdict.reason;
  if (verdict.room !== undefined && verdict.room < 1) return "it has no room for one more";
  if (verdict.excludedKinds?.includes(lane.workType) === true) return `its policy allows no ${lane.workType} jobs`;
  if (verdict.exceptKinds?.includes(lane.workType) === true) return `it runs as many ${lane.workType} jobs as it may`;
  if (lane.configKey !== null && verdict.exceptConfigs?.includes(lane.configKey) === true)
    return `it cannot run ${lane.configKey}`;
  const barred = whyNotThere(lane, node_id, kinds === undefined ? undefined : new Set(kinds));
  if (barred !== undefined) return barred;
  return fits(lane.needs, offer) ? undefined : `it has too little free: ${lacking(lane.needs, offer)}`;
}

/** What a job needs, and where it may run; undefined for one that nobody knows. */
export function placementOf(store: Reader, lanes: Lanes, workId: string): Placement | undefined {
  const lane = laneOfJob(store, lanes, workId);
  if (lane === undefined) return undefined;
  const { needs, targets, excluded } = lane;
  return { needs, targets, excluded, waitsFor: waitsFor(store, seqOf(workId)) };
}

/** Why a node could not take a job now; undefined if it could. */
export function whyJobNotOn(
  store: Reader,
  { lanes, nodePolicy }: QueueState,
  workId: string,
  candidate: Candidate,
  now: number,
): string | undefined {
  const lane = laneOfJob(store, lanes, workId);
  if (lane === undefined) throw notFound(workId);
  return whyNotOn(lane, candidate, nodePolicy(candidate.node_id, now));
}

function laneOfJob(store: Reader, lanes: Lanes, workId: string): Lane | undefined {
  const [row] = store.read<{ lane: number }>("SELECT lane FROM work_jobs WHERE seq = ?", seqOf(workId));
  return row === undefined ? undefined : lanes.get(row.lane);
}

/** Jobs that a job waits for and that are not done. */
const waitsFor = (store: Reader, seq: number): { work_id: string; state: string }[] =>
  store
    .read<{ seq: number; state: string }>(
      `SELECT j.seq, j.state FROM work_dependencies d JOIN work_jobs j ON j.seq = d.depends_on
       WHERE d.seq = ? AND j.state <> 'completed' ORDER BY j.seq`,
      seq,
    )
    .map((row) => ({ work_id: workIdOf(row.seq), state: row.state }));
