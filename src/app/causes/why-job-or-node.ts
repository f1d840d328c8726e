import { isIll, type NodeRegistry, type NodeView, type RecoveryBook, repairWords } from "../../cluster/index.ts";
import { type Cause, causeOf } from "../../daemons/index.ts";
import { duration, plural } from "../../surfaces/commands/index.ts";
import { linksWords, type NodeLinks, type Why } from "../../surfaces/index.ts";
import type { JobView, WorkQueue } from "../../work/index.ts";
import { candidateOf, isThere, type WorkFacts, type WorkSources, workFacts } from "./facts.ts";
import { jobCause, nodeCause } from "./job-cause.ts";

type Gate = Why["gates"][number];

export interface QueueAndNodes {
  readonly queue: Pick<
    WorkQueue,
    | "show"
    | "placement"
    | "idle"
    | "whyNotOn"
    | "verdictOn"
    | "fittingFor"
    | "held"
    | "hasClaimable"
    | "workers"
    | "expectedMs"
  >;
  readonly book: Pick<NodeRegistry, "list" | "timing">;
  /** What is being done for nodes that are ill; nothing unless said. */
  readonly recovery?: Pick<RecoveryBook, "open">;
  /** By which of its addresses a node with several is reached. */
  readonly links?: (nodeId: string) => NodeLinks | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly localRoom?: WorkSources["localRoom"];
}

const gate = (name: string, passed: boolean, actual: unknown, required: unknown, more: Partial<Gate> = {}): Gate => ({
  gate: name,
  passed,
  actual,
  required,
  since: more.since ?? null,
  hint: passed ? null : (more.hint ?? null),
});

/** A node may be there without a worker; shortly after a start it has not asked yet. */
const hasWorker = ({ node_id }: NodeView, { workers }: QueueAndNodes["queue"]): boolean =>
  !workers.settled || workers.list().some((known) => known.node_id === node_id);

/** Why a node could not take a job: that it is not there, that nobody asks for work there, or what the queue says. */
const reasonOn = (workId: string, node: NodeView, queue: QueueAndNodes["queue"]): string | undefined => {
  if (!isThere(node)) return `it is ${node.state}`;
  return hasWorker(node, queue) ? queue.whyNotOn(workId, candidateOf(node, queue)) : "no worker asks for jobs there";
};

/** When a job that runs should be done, by what such jobs took there. */
const leftWords = (leftMs: number | undefined): string => {
  if (leftMs === undefined) return "";
  return leftMs === 0 ? ", longer than such jobs take there" : `, done in about ${duration(leftMs)}`;
};

/** How long it would take on each node that could have it, the fastest first. */
function expectedWords(workId: string, nodes: readonly NodeView[], queue: QueueAndNodes["queue"]): string {
  const known = nodes
    .flatMap(({ node_id, label }) => {
      const ms = queue.expectedMs(workId, node_id);
      return ms === undefined ? [] : [{ label, ms }];
    })
    .sort((a, b) => a.ms - b.ms)
    .slice(0, 3);
  return known.length === 0 ? "" : `: ${known.map(({ label, ms }) => `${duration(ms)} on ${label}`).join(", ")}`;
}

/** Finished jobs have passed or not; nothing stands between them and anything. */
const finished = (job: JobView, facts: WorkFacts): Why => {
  const failed = job.state !== "completed";
  const actual = failed ? (job.failure?.error ?? job.state) : "completed";
  const required = failed ? "completed" : "done with evidence";
  const hint = `See all of it: 'ringrift queue show ${job.work_id}'; try it again: 'ringrift queue retry ${job.work_id}'.`;
  return {
    subject: job.work_id,
    kind: "job",
    verdict: failed ? `${job.work_id} is ${job.state}: ${actual}` : `${job.work_id} is completed`,
    since: job.finished_at,
    cause: jobCause(job, facts) ?? null,
    gates: [gate("completed", !failed, actual, required, { since: job.finished_at, hint })],
  };
};

/** What stands between a job and its end: each gate with what is and what must be, and each node that could not take it. */
function whyJob(job: JobView, { queue, book, now, localRoom }: QueueAndNodes): Why {
  const facts = workFacts({ queue, book, now, localRoom });
  if (job.finished_at !== null && ["completed", "failed", "cancelled"].includes(job.state)) return finished(job, facts);
  const placement = queue.placement(job.work_id)!;
  const { waitsFor, needs } = placement;
  const retryIn = job.retry_at === null ? 0 : Math.max(0, Math.ceil((job.retry_at - now) / 1_000));
  const held = job.state === "claimed" || job.state === "running";
  const nodes = book.list();
  const nameOf = (nodeId: string | null) => nodes.find(({ node_id }) => node_id === nodeId)?.label ?? nodeId;
  const refused = nodes.flatMap((node) => {
    const reason = reasonOn(job.work_id, node, queue);
    return reason === undefined ? [] : [{ node, reason }];
  });
  const able = nodes.length - refused.length;
  const fitting = nodes.filter((node) => !refused.some((each) => each.node === node));
  const wanted = Object.entries(needs)
    .filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value !== 0))
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
  const gates = [
    gate(
      "dependencies",
      waitsFor.length === 0,
      waitsFor.length === 0
        ? "none to wait for"
        : waitsFor.map(({ work_id, state }) => `${work_id} is ${state}`).join(", "),
      "all completed",
      { hint: `Ask for the first: 'ringrift why ${waitsFor[0]?.work_id}'.` },
    ),
    gate(
      "time",
      retryIn === 0 || job.state !== "delayed",
      retryIn === 0
        ? "it may run"
        : `${retryIn} s until attempt ${job.attempts + 1}: ${job.failure?.error ?? "it failed"}`,
      "its time has come",
      { hint: `Wait; see its attempts with 'ringrift queue show ${job.work_id}'.` },
    ),
    ...(held
      ? [
          gate(
            "held",
            true,
            `${job.state} on ${nameOf(job.node_id)}${leftWords(queue.expectedMs(job.work_id, job.node_id!))}`,
            "a node works on it",
            { since: job.claimed_at },
          ),
        ]
      : [
          gate(
            "a_node_for_it",
            able > 0,
            able > 0
              ? `${able} of ${nodes.length} nodes could take it${expectedWords(job.work_id, fitting, queue)}`
              : `none of ${plural(nodes.length, "node")} can take it`,
            wanted === "" ? "a node that takes work" : wanted,
            { hint: "Let one of the nodes below have it, or add one: 'ringrift nodes' says how." },
          ),
          ...(able > 0
            ? []
            : refused.map(({ node, reason }) =>
                gate(`node:${node.label}`, false, reason, "a node that can take it", {
                  hint: `See why: 'ringrift why ${node.label}'.`,
                }),
              )),
        ]),
  ];
  const cause = jobCause(job, facts) ?? null;
  const failing = gates.find(({ passed }) => !passed);
  const verdict =
    cause !== null && held
      ? `${job.work_id} is ${job.state} on ${nameOf(job.node_id)}: ${cause.what}`
      : cause !== null && cause.level !== "note"
        ? `${job.work_id} waits: ${cause.what}`
        : failing !== undefined
          ? `${job.work_id} waits: ${String(failing.actual)}`
          : held
            ? `${job.work_id} is ${job.state} on ${nameOf(job.node_id)}`
            : `${job.work_id} waits for its turn; ${able} nodes could take it`;
  return { subject: job.work_id, kind: "job", verdict, since: held ? job.claimed_at : job.queued_at, cause, gates };
}

/** What a gate that does not pass says of its node. */
const HELD_UP: Readonly<Record<string, (label: string, actual: string) => string>> = {
  there: (label, actual) => `${label} is ${actual}`,
  worker: (label) => `${label} has no worker, and neither has any other node`,
  heard: (label, actual) => `${label} was last heard ${actual}`,
  links: (label, actual) => `${label} is not reached at an address of its own: ${actual}`,
  version: (label, actual) => `${label} runs an older version: ${actual}`,
  health: (label, actual) => `${label} is ${actual}`,
  repair: (label, actual) => `${label} is being repaired: ${actual}`,
  work_for_it: (label, actual) => `${label} has nothing to do: ${actual}`,
};

const heldUpWords = ({ label }: NodeView, failing: Gate): string =>
  HELD_UP[failing.gate]?.(label, String(failing.actual)) ?? `${label} gets no work: ${failing.actual}`;

/** The root at a node. That it is older, or that nothing waits that it could do, holds nobody up. */
function causeAt(node: NodeView, failing: Gate | undefined, sources: QueueAndNodes): Cause | null {
  if (failing === undefined) return null;
  const known = workFacts(sources).nodes.find(({ id }) => id === node.node_id);
  const found = known && nodeCause(known);
  if (found !== undefined) return found;
  const isIdle = failing.gate === "worker" && !sources.queue.hasClaimable();
  const level = isIdle || ["version", "links", "work_for_it"].includes(failing.gate) ? "note" : "warn";
  return causeOf(level, `gate_${failing.gate}`, node.label, heldUpWords(node, failing), {
    actual: String(failing.actual),
    required: String(failing.required),
    since: failing.since,
    advice: { action: "show_node", subject: node.label },
  });
}

/** What is being done for it, and what a person can do. */
function repairGates({ node_id, label }: NodeView, { recovery }: QueueAndNodes): Gate[] {
  const act = recovery?.open(node_id);
  if (act === undefined) return [];
  const hint =
    act.rung === "person"
      ? `Mend it; it comes back by itself, or at once: 'ringrift recovery run ${label} --rung observe'.`
      : `See what follows: 'ringrift recovery plan'.`;
  return [gate("repair", false, repairWords[act.rung], "nothing to repair", { since: act.begun_at, hint })];
}

/** Its addresses, where it has several, and who reaches it at which. */
function linkGates({ node_id }: NodeView, { links }: QueueAndNodes): Gate[] {
  const found = links?.(node_id);
  if (found === undefined) return [];
  const isReached = found.used.every(({ host }) => host !== "");
  return [
    gate("links", isReached, linksWords(found), "an address that answers those who fetch from it", {
      hint: "Look at its addresses (RINGRIFT_TRANSFERS_FURTHER_NAMES there) and at its VPN; files come by other ways until then.",
    }),
  ];
}

/** Jobs are done by workers. A main process may leave them to other machines. */
function workerGate(node: NodeView, queue: QueueAndNodes["queue"]): Gate {
  const isHere = hasWorker(node, queue);
  const all = queue.workers.list();
  const othersWords = all.length === 0 ? "there is none" : `none here, ${all.length} on other nodes`;
  // Shortly after a start one that is there has not asked yet.
  const asks = all.some((known) => known.node_id === node.node_id);
  const hereWords = asks ? "it asks for jobs" : "too early to say";
  return gate("worker", isHere || all.length > 0, isHere ? hereWords : othersWords, "a worker that asks for jobs", {
    hint: "Start one here with 'ringrift worker', or join another machine: 'ringrift token create <label> --join' prints the command to run there.",
  });
}

/** What stands between a node and work. */
function whyNode(node: NodeView, sources: QueueAndNodes): Why {
  const { queue, book, now } = sources;
  const silent = node.last_seen_at === null ? null : Math.max(0, Math.round((now - node.last_seen_at) / 1_000));
  const there = isThere(node);
  const verdict = queue.verdictOn(node.node_id);
  const held = queue.held(node.node_id).length;
  const waiting = there && verdict.accepts ? queue.fittingFor(candidateOf(node, queue)) : 0;
  const gates = [
    gate("there", there, node.state, "online", {
      since: node.state_since,
      hint: "Look at the machine: is 'ringrift worker' running there, and does it reach this address?",
    }),
    ...(there ? [workerGate(node, queue)] : []),
    gate(
      "heard",
      node.local || (silent !== null && silent * 1_000 <= book.timing.suspectMs),
      node.local ? "this process" : silent === null ? "never" : `${silent} s ago`,
      `at most ${book.timing.suspectMs / 1_000} s ago`,
      { since: node.last_seen_at, hint: "Its beats do not come: look at its log, its network and its clock." },
    ),
    ...linkGates(node, sources),
    gate("version", !node.deprecated, node.version, "not older than the coordinator's", {
      hint: "Upgrade ringrift on the node; it keeps working until then.",
    }),
    gate(
      "health",
      !isIll(node.health.condition),
      node.health.reason === null ? node.health.condition : `${node.health.condition}: ${node.health.reason}`,
      "healthy",
      { since: node.health.since, hint: `See its checks: 'ringrift nodes health ${node.label}'.` },
    ),
    ...repairGates(node, sources),
    gate(
      "not_cordoned",
      node.cordoned === null,
      node.cordoned === null
        ? "it may have work"
        : `${node.draining ? "draining" : "cordoned"}: ${node.cordoned.reason}`,
      "not cordoned",
      { since: node.cordoned?.at ?? null, hint: `Let it have work again: 'ringrift nodes uncordon ${node.label}'.` },
    ),
    gate(
      "takes_work",
      // That it gets none because it is away or cordoned was just said.
      verdict.accepts || !there || node.cordoned !== null,
      verdict.accepts
        ? `it holds ${held} jobs${verdict.slowed === undefined ? "" : `; ${verdict.slowed}`}`
        : verdict.reason,
      "no reason to hold it back",
      {
        hint: "The hold ends by itself when the reason is gone; 'ringrift queue stats' shows it.",
      },
    ),
    gate(
      "work_for_it",
      held > 0 || waiting > 0 || !verdict.accepts || !queue.hasClaimable(),
      !verdict.accepts
        ? "it takes none now"
        : waiting > 0
          ? `${waiting} lines of jobs fit`
          : queue.hasClaimable()
            ? "jobs wait, and none fits it"
            : "nothing waits",
      "a job that fits, or none at all",
      { hint: "'ringrift queue list --state pending' shows what waits; 'ringrift why <job>' says what it needs." },
    ),
  ];
  const failing = gates.find(({ passed }) => !passed);
  return {
    subject: node.node_id,
    label: node.label,
    kind: "node",
    verdict:
      failing === undefined ? `${node.label} is ${node.state} and holds ${held} jobs` : heldUpWords(node, failing),
    since: failing?.since ?? node.state_since,
    cause: causeAt(node, failing, sources),
    gates,
  };
}

/** The answer for a job or a node; undefined for what is neither. */
export function whyJobOrNode(subject: string, facts: QueueAndNodes): Why | undefined {
  if (/^w[1-9]\d{0,14}$/.test(subject)) {
    const job = facts.queue.show(subject);
    if (job !== undefined) return whyJob(job, facts);
  }
  const nodes = facts.book.list();
  const begun = /^n[0-9a-f]{3,16}$/.test(subject) ? nodes.filter(({ node_id }) => node_id.startsWith(subject)) : [];
  const node =
    nodes.find(({ node_id }) => node_id === subject) ??
    nodes.find(({ label }) => label === subject) ??
    (begun.length === 1 ? begun[0] : undefined);
  return node === undefined ? undefined : whyNode(node, facts);
}
