/** What the queue would hand out next, and by what it would decide; nothing is handed out by asking. */
import type { Store } from "../router/index.ts";
import { ClaimLines, type Dealt, dealTo } from "./claims/choose-jobs.ts";
import type { UntakenJob } from "./claims/untaken.ts";
import { seqOf, workIdOf } from "./job/job.ts";
import type { Needs, Offer } from "./job/needs.ts";
import { type Urgency, urgencyLevel, urgencyOf } from "./job/urgency.ts";
import { forecastLimits } from "./limits.ts";
import { type Deficits, sharesOf } from "./queue/fair-share.ts";
import type { KnownWorker } from "./queue/known-workers.ts";
import type { Plan } from "./queue/plan.ts";
import type { QueueState } from "./queue/queue-state.ts";
import { choosePreemptions } from "./units/job-scheduler/decide.ts";
import { type HeldJob, type QueueCount, queueCounts } from "./views.ts";
import { untakenJobs, urgentJobs } from "./waiting-jobs.ts";

export interface NextJob {
  readonly work_id: string;
  readonly work_type: string;
  readonly config_key: string | null;
  readonly urgency: Urgency;
  /** The urgency that it has by its waiting. */
  readonly counts_as: Urgency;
  readonly waitedMs: number;
  /** Of its config: the share of all that is handed out, and what it is owed of it, in units of cost. */
  readonly share: number;
  readonly owed: number;
}

export interface NodeForecast {
  readonly node_id: string;
  /** Undefined: it has room now. Otherwise the job that has to end first, and in how long it does, as far as that is known. */
  readonly after: { readonly work_id: string; readonly endsInMs: number | undefined } | undefined;
  readonly jobs: readonly NextJob[];
  /** Why it gets no jobs, or fewer than it has room for. */
  readonly held: string | undefined;
}

export interface Forecast {
  /** In the order in which they would be served. */
  readonly nodes: readonly NodeForecast[];
  /** Configs that have jobs waiting, those that are owed most first. */
  readonly configs: readonly { readonly config_key: string | null; readonly share: number; readonly owed: number }[];
  /** Jobs that would be stopped for more urgent ones, if nothing changes. */
  readonly preemptions: readonly { readonly stop: string; readonly for: string }[];
  /** Jobs at the fronts of their lines that nobody who is there may have. */
  readonly untaken: readonly UntakenJob[];
}

const nextJob = ({ job, lane, level, share, owed }: Dealt, now: number): NextJob => ({
  work_id: workIdOf(job.seq),
  work_type: lane.workType,
  config_key: lane.configKey,
  urgency: urgencyOf(job.urgency),
  counts_as: urgencyOf(level),
  waitedMs: now - job.ready_at,
  share,
  owed,
});

const withAlso = (offer: Offer, needs: Needs): Offer => ({
  ...offer,
  cpu: offer.cpu + needs.cpu,
  gpu: offer.gpu + needs.gpu,
  memory_gb: offer.memory_gb + needs.memory_gb,
});

interface Ending {
  readonly job: HeldJob;
  readonly endsInMs: number | undefined;
  readonly needs: Needs;
}

/** What a busy node will have ended first. */
const firstToEnd = (endings: readonly Ending[]): Ending | undefined =>
  endings.toSorted((a, b) => (a.endsInMs ?? Number.POSITIVE_INFINITY) - (b.endsInMs ?? Number.POSITIVE_INFINITY))[0];

export interface ForecastSources {
  readonly state: QueueState;
  readonly plan: Plan;
  readonly held: readonly HeldJob[];
  readonly endsInMs: (job: HeldJob) => number | undefined;
  readonly store: Pick<Store, "read">;
}

/** Configs with jobs that wait, as the next claim would weigh them. */
function weighed({ shares }: QueueState, deficits: Deficits, counts: readonly QueueCount[]): Forecast["configs"] {
  const waiting = counts.filter(({ state, jobs }) => state === "pending" && jobs > 0);
  const configs = [...new Set(waiting.map(({ config_key }) => config_key ?? ""))];
  return [...sharesOf(configs, shares)]
    .map(([config, share]) => ({ config_key: config === "" ? null : config, share, owed: deficits.get(config) ?? 0 }))
    .toSorted((a, b) => b.owed - a.owed || b.share - a.share);
}

export function forecastNext(sources: ForecastSources): Forecast {
  const { state, plan, held, endsInMs, store } = sources;
  const { now } = plan;
  const lines = new ClaimLines(state, plan, forecastLimits.maxNodes * forecastLimits.maxJobs);
  const forNode = (worker: KnownWorker): NodeForecast => {
    const here = held.filter(({ node_id }) => node_id === worker.node_id);
    const verdict = state.nodePolicy(worker.node_id, now, state.given);
    const isFull = !verdict.accepts && (verdict.slowed === true || verdict.isFull === true);
    if (!verdict.accepts && !isFull)
      return { node_id: worker.node_id, after: undefined, jobs: [], held: verdict.reason };
    const free = verdict.accepts ? worker.all - here.length : 0;
    const endings = here.map((job) => ({ job, endsInMs: endsInMs(job), needs: plan.laneOf(rowOf(plan, job)).needs }));
    const first = free > 0 ? undefined : firstToEnd(endings);
    const request = {
      ...worker,
      most: Math.min(forecastLimits.maxJobs, Math.max(1, free)),
      offer: first === undefined ? worker.offer : withAlso(worker.offer, first.needs),
    };
    return {
      node_id: worker.node_id,
      after: first && { work_id: first.job.work_id, endsInMs: first.endsInMs },
      jobs: dealTo(state, plan, request, verdict.accepts ? verdict : { accepts: true }, lines).map((dealt) =>
        nextJob(dealt, now),
      ),
      held: verdict.accepts ? verdict.slowed : verdict.reason,
    };
  };
  const before: Deficits = state.deficits;
  try {
    return {
      nodes: state.workers.list().slice(0, forecastLimits.maxNodes).map(forNode),
      configs: weighed(state, before, queueCounts(store)),
      preemptions: choosePreemptions(
        urgentJobs(store, state, urgencyLevel("high"), 3, now),
        held.map((job) => ({
          ...job,
          preemptible: state.kinds[job.work_type]?.preemptible ?? false,
          endsInMs: endsInMs(job),
        })),
        now,
      ),
      untaken: untakenJobs(store, state, now),
    };
  } finally {
    // Nobody was served.
    state.deficits = before;
  }
}

const rowOf = (plan: Plan, { work_id }: HeldJob) => plan.job(seqOf(work_id))!;
