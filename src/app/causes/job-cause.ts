/** Why a job does not go on: from the job over what it waits for to the node and the gate there. Pure. */
import { isIll, type NodeView } from "../../cluster/index.ts";
import { type Cause, causeOf } from "../../daemons/index.ts";
import { bytes, duration, plural } from "../../surfaces/commands/index.ts";
import type { JobView } from "../../work/index.ts";
import type { WorkFacts, WorkNode } from "./facts.ts";

/** A chain of jobs that wait for jobs is followed so far. */
const MAX_DEPTH = 10;
/** So long a job may wait that somebody could take. */
const PATIENCE_MS = 60_000;
/** So long after its limit at most the reaper has looked at a job that does not go on. */
const LOOK_MS = 15_000;

const jobStep = ({ work_id, work_type, state }: JobView) => ({
  kind: "job",
  subject: work_id,
  what: `${work_type}, ${state}`,
});
const nodeStep = ({ label }: WorkNode, what: string) => ({ kind: "node", subject: label, what });

const listed = (items: readonly string[], max = 3): string =>
  items.slice(0, max).join(", ") + (items.length > max ? ` and ${items.length - max} more` : "");

/** What makes a node ill: the same words wherever it is told. */
export const illNodeCause = ({ label, health }: Pick<NodeView, "label" | "health">): Cause => {
  const { condition, reason, since } = health;
  return causeOf("warn", `node_${condition}`, label, `${label} is ${condition}: ${reason ?? "its checks fail"}`, {
    actual: reason ?? condition,
    required: "healthy",
    since,
    advice: { action: "node_health", subject: label },
    because: [{ kind: "node", subject: label, what: condition }],
  });
};

/** What keeps a node from all work. */
export function nodeCause(node: WorkNode): Cause | undefined {
  const { label, heldBy, shortOf, cordoned, state, health } = node;
  if (!node.isThere)
    return causeOf("warn", "node_away", label, `${label} is ${state}`, {
      actual: state,
      required: "online",
      since: node.view.state_since,
      advice: { action: "show_node", subject: label },
      because: [nodeStep(node, state)],
    });
  if (cordoned !== null)
    return causeOf(
      "warn",
      "node_cordoned",
      label,
      `${label} gets no work: ${cordoned.by} said so (${cordoned.reason})`,
      {
        actual: cordoned.reason,
        required: "not cordoned",
        since: cordoned.at,
        advice: { action: "uncordon", subject: label },
        because: [nodeStep(node, "cordoned")],
      },
    );
  if (isIll(health.condition)) return illNodeCause(node.view);
  if (heldBy === null) return undefined;
  if (node.isSlowed)
    return causeOf("note", "node_slowed", label, `${label} gets no new jobs for now: ${heldBy}`, {
      actual: heldBy,
      because: [nodeStep(node, heldBy)],
    });
  const what = `${label} gets no work: ${heldBy}`;
  const held = { actual: heldBy, required: "no reason to hold it back", because: [nodeStep(node, heldBy)] };
  if (shortOf === null)
    return causeOf("bad", "node_held", label, what, { ...held, advice: { action: "show_node", subject: label } });
  if (shortOf === "disk")
    return causeOf("bad", "node_short_of_disk", label, what, {
      ...held,
      advice: { action: "free_disk", subject: label },
    });
  const advice = { action: "unburden", subject: label } as const;
  return causeOf("bad", `node_short_of_${shortOf}`, label, what, { ...held, advice });
}

/** Those that did such jobs and are silent, the one heard last first: whoever looks for a worker looks there. */
const silentOnes = ({ work_type }: JobView, { nodes, now }: WorkFacts): string[] =>
  nodes
    .filter(
      ({ state, view: { capabilities } }) =>
        (state === "suspect" || state === "dead") && capabilities.kinds?.includes(work_type) !== false,
    )
    .flatMap(({ label, state, view: { last_seen_at: at } }) => (at === null ? [] : [{ label, state, at }]))
    .sort((a, b) => b.at - a.at)
    .map(({ label, state, at }) => `${label} is ${state}, heard ${duration(now - at)} ago`);

/** A node whose worker asks for nothing, because too little is free on its disk. */
const fullDisk = ({ nodes }: WorkFacts): Cause | undefined => {
  const node = nodes.find(
    ({ isThere, worker, disk }) =>
      isThere && worker === undefined && disk !== null && disk.free_bytes < disk.reserve_bytes,
  );
  if (node === undefined) return undefined;
  const { label, disk } = node;
  const actual = `${bytes(disk!.free_bytes)} free`;
  const required = `${bytes(disk!.reserve_bytes)} free (worker.disk_reserve_gb)`;
  return causeOf(
    "bad",
    "node_short_of_disk",
    label,
    `the disk of ${label} is too full: ${actual}, needed are ${required}`,
    {
      ...{ actual, required },
      advice: { action: "free_disk", subject: label },
      because: [nodeStep(node, actual)],
    },
  );
};

/** Nobody is there who does this kind of work. */
const noWorker = (job: JobView, facts: WorkFacts): Cause => {
  const { isSettled, nodes } = facts;
  const full = isSettled ? fullDisk(facts) : undefined;
  if (full !== undefined) return full;
  const others = nodes.filter(({ worker }) => worker !== undefined).map(({ label }) => label);
  const silent = silentOnes(job, facts);
  const none = others.length === 0 ? "no worker is connected" : `no worker does ${job.work_type} jobs`;
  const there = silent.length === 0 ? none : `${none}: ${listed(silent)}`;
  // Where nobody is there at all, the kinds of the jobs that wait make no difference: it is one root.
  const isForAll = others.length === 0 || !isSettled;
  return causeOf(
    isSettled ? "bad" : "note",
    "no_worker",
    isForAll ? "worker" : job.work_type,
    isSettled ? there : "no worker has asked for jobs yet",
    {
      actual: others.length === 0 ? "no worker" : `workers on ${listed(others)}`,
      required: `a worker that does ${job.work_type} jobs`,
      since: job.queued_at,
      advice: { action: "add_worker", subject: job.work_type },
    },
  );
};

/** Shortly after a start a node may have a worker that has not asked yet. */
const mayWork = ({ isThere, worker }: WorkNode, { work_type }: JobView, isSettled: boolean): boolean =>
  isThere && (worker === undefined ? !isSettled : (worker.kinds?.includes(work_type) ?? true));

function waitingJobCause(job: JobView, facts: WorkFacts): Cause | undefined {
  const placement = facts.placement(job.work_id);
  const workers = facts.nodes.filter((node) => mayWork(node, job, facts.isSettled));
  const refusals = workers.map((node) => ({ node, reason: facts.whyNotOn(job.work_id, node) }));
  const able = refusals.filter(({ reason }) => reason === undefined).map(({ node }) => node);
  if (workers.length === 0 || (able.length > 0 && able.every(({ worker }) => worker === undefined)))
    return noWorker(job, facts);
  const since = job.queued_at;
  if (able.length > 0) {
    // Whoever has other work comes to it in its turn.
    const idle = able.filter(({ jobs }) => jobs === 0);
    if (idle.length === 0 || facts.now - since < PATIENCE_MS) return undefined;
    const [{ label }] = idle as [WorkNode];
    const what = `${job.work_id} has waited ${duration(facts.now - since)}, but ${label} could take it`;
    return causeOf("warn", "job_not_taken", label, what, { since, advice: { action: "show_node", subject: label } });
  }
  const held = workers.map(nodeCause).filter((found) => found !== undefined);
  // One that holds jobs has no room for one more: it takes this when it is done.
  const busy = workers.filter((node) => node.jobs > 0 && nodeCause(node) === undefined);
  const allowed = ({ id }: WorkNode) =>
    placement?.excluded.includes(id) !== true && placement?.targets?.includes(id) !== false;
  if (busy.some(allowed)) return undefined;
  const [first] = held;
  if (first !== undefined)
    return held.length === 1 ? first : { ...first, what: `${first.what}; so do ${held.length - 1} more` };
  const reasons = refusals.map(({ node, reason }) => `${node.label}: ${reason}`);
  return causeOf(
    "bad",
    "job_for_nobody",
    job.work_id,
    `no connected worker may take ${job.work_id} (${listed(reasons)})`,
    {
      actual: listed(reasons),
      required: "a worker that may take it",
      since,
      advice: { action: "why", subject: job.work_id },
    },
  );
}

/** A job that is in somebody's hands and does not go on, or did not in the hands of another. */
function stillCause(job: JobView, facts: WorkFacts): Cause | undefined {
  const { work_id, node_id, claimed_at: since } = job;
  const { ms = 0, limitMs, isGuess } = facts.idle(work_id) ?? {};
  const about = { since, advice: { action: "show_job", subject: work_id }, because: [jobStep(job)] } as const;
  if (limitMs !== undefined && ms > limitMs / 2) {
    const measured = { actual: duration(ms), required: `less than ${duration(limitMs)}` };
    // The reaper takes it away at its next look, unless nobody else could have it.
    if (isGuess === true && ms > limitMs + LOOK_MS) {
      const what = `${work_id} has made no progress on ${node_id} for ${duration(ms)}, and there is no other worker to take it`;
      const advice = { action: "add_worker", subject: job.work_type } as const;
      return causeOf("warn", "job_unrelieved", work_id, what, { ...about, ...measured, advice });
    }
    const what = `${work_id} has made no progress on ${node_id} for ${duration(ms)}; after ${duration(limitMs)} it goes to another worker`;
    return causeOf("note", "job_without_progress", work_id, what, { ...about, ...measured });
  }
  const nodes = hadInVain(job);
  if (nodes.length === 0) return undefined;
  const what = isSilence(job)
    ? `${listed(nodes)} had ${work_id} more than once and fell silent each time; ${node_id} has it now, and the first result counts`
    : `${work_id} made no progress on ${listed(nodes)}; ${node_id} has it now, and the first result counts`;
  return causeOf("warn", "job_stuck", work_id, what, { ...about, actual: listed(nodes), required: "progress" });
}

/** Nodes on which it did not go on, or of which nothing was heard twice. */
const hadInVain = ({ lapses }: JobView): string[] =>
  [...Map.groupBy(lapses, ({ node_id }) => node_id)].flatMap(([node, all]) =>
    all.some(({ why }) => why === "stuck") || all.filter(({ why }) => why === "silent").length > 1 ? [node] : [],
  );

/** Whether nobody stood still over it: what was heard of its holders last is nothing. */
const isSilence = ({ lapses }: JobView): boolean => lapses.every(({ why }) => why !== "stuck");

/** Nobody need have taken at once what has just come back. */
function waitsBecause(job: JobView, facts: WorkFacts): Cause | undefined {
  const found = waitingJobCause(job, facts);
  return found === undefined || found.code === "job_not_taken" ? (stuckAndWaiting(job) ?? found) : found;
}

/** It waits for somebody else, because it stood still where it was. */
function stuckAndWaiting(job: JobView): Cause | undefined {
  const nodes = hadInVain(job);
  const [first] = nodes;
  if (first === undefined) return undefined;
  const what = isSilence(job)
    ? `${listed(nodes)} had ${job.work_id} more than once and fell silent each time; it waits for another worker`
    : `${job.work_id} made no progress on ${listed(nodes)}, and waits for another worker`;
  const advice = { action: "show_node", subject: first } as const;
  const since = job.lapses.at(-1)?.lapsed_at ?? job.queued_at;
  return causeOf("warn", "job_stuck", job.work_id, what, {
    since,
    advice,
    actual: listed(nodes),
    required: "progress",
  });
}

/** What failed before and is under way again: until it gets anywhere, what failed is what there is to know. */
function triedAgain(job: JobView): Cause | undefined {
  const { work_id, failure, progress, attempts, max_attempts } = job;
  if (failure === null || (progress ?? 0) > 0) return undefined;
  const what = `${work_id} failed: ${failure.error}; attempt ${attempts} of ${max_attempts} is under way`;
  const advice = { action: "show_job", subject: work_id } as const;
  return causeOf("warn", "job_failing", work_id, what, { ...aboutFailing(job, failure.error), advice });
}

const aboutFailing = (job: JobView, error: string) => ({
  actual: error,
  required: "completed",
  since: job.queued_at,
  because: [jobStep(job)],
});

/** The root of why a job is not done; undefined for one that is at work, or whose turn comes. */
export function jobCause(job: JobView, facts: WorkFacts, depth = 0): Cause | undefined {
  const { work_id, state, failure } = job;
  const because = [jobStep(job)];
  const withStep = (found: Cause | undefined): Cause | undefined =>
    found && { ...found, because: [...because, ...found.because] };
  if (state === "completed") return undefined;
  if (state === "claimed" || state === "running") return stillCause(job, facts) ?? triedAgain(job);
  if (state === "failed" || state === "cancelled")
    return causeOf("warn", "job_failed", work_id, `${work_id} is ${state}: ${failure?.error ?? "no reason given"}`, {
      actual: failure?.error ?? state,
      required: "completed",
      since: job.finished_at,
      advice: { action: "retry_job", subject: work_id },
      because,
    });
  if (state === "blocked") {
    const [first] = facts.placement(work_id)?.waitsFor ?? [];
    const before = first === undefined || depth >= MAX_DEPTH ? undefined : facts.job(first.work_id);
    return before && withStep(jobCause(before, facts, depth + 1));
  }
  const waitMs = job.retry_at === null ? 0 : Math.max(0, job.retry_at - facts.now);
  // Once its time has come it waits like any other, for somebody who takes it.
  if (failure !== null && waitMs > 0) {
    const again = `attempt ${job.attempts + 1} of ${job.max_attempts} in ${duration(waitMs)}`;
    const what = `${work_id} fails: ${failure.error}; ${again}`;
    const advice = { action: "show_job", subject: work_id } as const;
    return causeOf("warn", "job_failing", work_id, what, { ...aboutFailing(job, failure.error), advice });
  }
  return waitMs > 0 ? undefined : withStep(waitsBecause(job, facts));
}

export const jobsWords = (jobs: readonly JobView[]): string => {
  const open = jobs.filter(({ state }) => state === "pending" || state === "delayed" || state === "blocked");
  return `${plural(open.length, "job")} wait${open.length === 1 ? "s" : ""}`;
};
