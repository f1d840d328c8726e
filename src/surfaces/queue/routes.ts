import { parseTraceparent } from "../../events/index.ts";
import { defined, isOperatingError, OperatingError, sleep } from "../../kernel/index.ts";
import { plannedJobs } from "../../pipeline/index.ts";
import { type Answer, failureGroups, type JobView } from "../../work/index.ts";
import { assertSpeaksFor, enlist } from "../http/node-callers.ts";
import type { ControlPorts } from "../http/ports.ts";
import { refusalOf } from "../http/problem.ts";
import { handle, type Route } from "../http/route.ts";
import { pipelineWith } from "../pipeline/routes.ts";
import * as wire from "./wire.ts";

/** The signal of a caller that is answered at once. */
const STAYS = new AbortController().signal;
/** A node that gets nothing for now comes back after this. */
const HELD_BACK_SECONDS = 10;
const PIECE = 100;

const settled = async <T>(asked: Promise<T>): Promise<Answer<T>> => {
  try {
    return { ok: true, value: await asked };
  } catch (thrown) {
    if (!isOperatingError(thrown)) throw thrown;
    return { ok: false, error: thrown };
  }
};

/** Each of many is answered by itself. */
const inOrder = async <T>(asked: Promise<readonly Answer<T>[]>) => ({
  answers: (await asked).map((answer) =>
    answer.ok ? answer : ({ ok: false, error: refusalOf(answer.error) } as const),
  ),
});

/** Many are worked through piece by piece: whoever else asks has a turn in between. */
const inPieces = async <A, T>(
  { clock }: Pick<ControlPorts, "clock">,
  all: readonly A[],
  run: (some: readonly A[]) => Promise<readonly T[]>,
): Promise<T[]> => {
  const answers: T[] = [];
  for (let at = 0; at < all.length; at += PIECE) {
    if (at > 0) await sleep(clock, 0);
    answers.push(...(await run(all.slice(at, at + PIECE))));
  }
  return answers;
};

const nodesOf = (items: readonly { readonly ref: { readonly node_id: string } }[]): string[] => [
  ...new Set(items.map(({ ref }) => ref.node_id)),
];

/** What workers do with jobs; saying the same again changes nothing. */
const workerRoutes: readonly Route[] = [
  handle(wire.claimWork, async (call) => {
    const { ports, body, caller } = call;
    assertSpeaksFor(caller, [body.node_id], ports);
    await enlist(caller, body, ports);
    const { wait_seconds, ...request } = body;
    // Listening for a caller that hangs up has its price, and pays only while somebody waits.
    const signal = wait_seconds > 0 ? call.signal : STAYS;
    const answer = await settled(ports.work.desk.claim(request, wait_seconds * 1_000, signal));
    if (answer.ok) return { leases: answer.value, server_time: ports.clock.now() };
    const { code } = answer.error;
    if (code !== "NODE_HELD_BACK" && code !== "TOO_MANY_JOBS_HELD") throw answer.error;
    const { retryAfterSeconds = HELD_BACK_SECONDS } = answer.error.details as { retryAfterSeconds?: number };
    return { leases: [], retry_after_seconds: retryAfterSeconds, reason: answer.error.message, code };
  }),
  handle(wire.startWork, ({ ports, body: { leases }, caller }) => {
    assertSpeaksFor(caller, nodesOf(leases), ports);
    const { queue } = ports.work;
    return inOrder(Promise.all(leases.map(({ ref, pid }) => settled(queue.start(ref, pid)))));
  }),
  handle(wire.beatWork, ({ ports, body: { beats }, caller }) => {
    const nodes = nodesOf(beats);
    assertSpeaksFor(caller, nodes, ports);
    for (const nodeId of nodes) ports.nodes.book.heard(nodeId);
    const watched = nodes.some((nodeId) => ports.work.boards.isWanted(nodeId));
    const answers = inPieces(ports, beats, (some) => ports.work.queue.heartbeatAll(some));
    if (!watched) return inOrder(answers);
    return inOrder(
      answers.then((all) =>
        all.map((answer) => (answer.ok ? { ok: true, value: { ...answer.value, watched } } : answer)),
      ),
    );
  }),
  handle(wire.tellBoards, ({ ports, body: { node_id, boards }, caller }) => {
    assertSpeaksFor(caller, [node_id, ...nodesOf(boards)], ports);
    const { queue, boards: live } = ports.work;
    // What a job is, its row says; a board is shown only of one that its teller really has.
    const held = boards.flatMap(({ ref, board }) => {
      const job = queue.show(ref.work_id);
      if (job?.node_id !== node_id || job.state !== "running" || ref.node_id !== node_id) return [];
      const { work_id, work_type, config_key } = job;
      return [{ ...board, work_id, work_type, config_key, node_id, at: ports.clock.now() }];
    });
    return { watched: live.tell(node_id, held) };
  }),
  handle(wire.tellCurves, async ({ ports, body: { curves }, caller }) => {
    assertSpeaksFor(caller, nodesOf(curves), ports);
    const taken = await Promise.all(curves.map(({ ref, points }) => ports.work.curves.tell(ref, points)));
    return { taken: taken.filter((each) => each).length };
  }),
  handle(wire.completeWork, ({ ports, body: { completions }, caller }) => {
    assertSpeaksFor(caller, nodesOf(completions), ports);
    return inOrder(inPieces(ports, completions, (some) => ports.work.queue.completeAll(some)));
  }),
  handle(wire.failWork, ({ ports, body: { failures }, caller }) => {
    assertSpeaksFor(caller, nodesOf(failures), ports);
    const { queue } = ports.work;
    return inOrder(Promise.all(failures.map(({ ref, failure }) => settled(queue.fail(ref, failure)))));
  }),
  handle(wire.releaseWork, ({ ports, body: { releases }, caller }) => {
    assertSpeaksFor(caller, nodesOf(releases), ports);
    const { queue } = ports.work;
    return inOrder(Promise.all(releases.map(({ ref, reason, saved }) => settled(queue.release(ref, reason, saved)))));
  }),
];

/** A job with the names of its nodes beside the ids. */
/** Jobs that are looked at for what fails. */
const MAX_FAILURES = 1_000;

const named = ({ nodes: { book } }: ControlPorts, job: JobView) => ({
  ...job,
  node: job.node_id === null ? null : book.nameOf(job.node_id),
  lapses: job.lapses.map((lapse) => ({ ...lapse, node: book.nameOf(lapse.node_id) })),
});

const curvesOf = ({ work }: ControlPorts, workId: string) =>
  work.curves.of(workId).map(({ fence, points }) => ({ fence, points: [...points] }));

const jobIn = (ports: ControlPorts, id: string) => {
  const found = ports.work.queue.show(id);
  if (found === undefined) throw OperatingError.notFound("JOB_NOT_FOUND", `there is no job '${id}'`);
  return named(ports, found);
};

/** The job as it is now; after a dry run also what it would be. */
const decided = (ports: ControlPorts, id: string, dryRun: boolean, would_be: JobView["state"]) => ({
  ...jobIn(ports, id),
  ...(dryRun ? { would_be } : {}),
});

/** The id of the node that somebody means: what nobody knows is taken as it is, since it may come. */
const nodeIdIn = ({ nodes: { book } }: ControlPorts, name: string): string => {
  try {
    return book.find(name).node_id;
  } catch (thrown) {
    if (isOperatingError(thrown, "NODE_NOT_FOUND")) return name;
    throw thrown;
  }
};

/** How many jobs there are, by state. */
const byState = (counts: readonly { state: string; jobs: number }[]) => {
  const sums: Record<string, number> = {};
  for (const { state, jobs } of counts) sums[state] = (sums[state] ?? 0) + jobs;
  return sums;
};

/** What operators see and decide. */
const operatorRoutes: readonly Route[] = [
  handle(wire.listBoards, ({ ports }) => ({
    boards: ports.work.boards
      .look()
      .map((board) => ({ ...board, lines: [...board.lines], node: ports.nodes.book.nameOf(board.node_id) })),
  })),
  handle(wire.addWork, async ({ ports, body: { jobs }, caller: { actor }, headers }) => {
    const specs = jobs.map((job) => ({
      ...job,
      requested_by: job.requested_by ?? actor,
      ...defined({ target_nodes: job.target_nodes?.map((name) => nodeIdIn(ports, name)) }),
      ...defined({ excluded_nodes: job.excluded_nodes?.map((name) => nodeIdIn(ports, name)) }),
    }));
    return { added: await ports.work.queue.addAll(specs, undefined, parseTraceparent(headers.traceparent)) };
  }),
  handle(wire.listWork, async ({ ports, query, signal }) => {
    const { config_key: configKey, work_type: workType, node_id: nodeId, batch_id: batchId, ...rest } = query;
    const asked = defined({ ...rest, configKey, workType, nodeId: nodeId && nodeIdIn(ports, nodeId), batchId });
    const jobs = await ports.work.queue.find(asked, signal);
    return { jobs: jobs.map((job) => named(ports, job)) };
  }),
  handle(wire.listFailures, async ({ ports, signal }) => {
    const { queue } = ports.work;
    const newest = { order: "newest", limit: MAX_FAILURES } as const;
    const failed = await queue.find({ ...newest, state: "failed" }, signal);
    const delayed = await queue.find({ ...newest, state: "delayed" }, signal);
    const { book } = ports.nodes;
    return {
      failures: failureGroups([...failed, ...delayed]).map((group) => ({
        ...group,
        nodes: group.nodes.map((id) => book.nameOf(id)),
      })),
    };
  }),
  handle(wire.getWork, ({ ports, params: { id } }) => jobIn(ports, id)),
  handle(wire.getCurve, ({ ports, params: { id } }) => {
    const { work_id } = jobIn(ports, id);
    return { work_id, curves: curvesOf(ports, work_id) };
  }),
  handle(wire.listCurves, async ({ ports, params: { config: configKey }, query: { limit }, signal }) => {
    pipelineWith(ports, configKey);
    const asked = { configKey, workType: "training", order: "newest", limit } as const;
    const runs = (await ports.work.queue.find(asked, signal)).map(({ work_id, state, started_at }) => ({
      ...{ work_id, state, started_at },
      curves: curvesOf(ports, work_id),
    }));
    return { runs: runs.filter(({ curves }) => curves.length > 0) };
  }),
  handle(wire.cancelWork, async ({ ports, params: { id }, body: { reason, dry_run: dryRun }, caller: { actor } }) => {
    const { state } = await ports.work.queue.cancel(id, { reason, requested_by: actor, dryRun });
    return decided(ports, id, dryRun, state);
  }),
  handle(wire.retryWork, async ({ ports, params: { id }, body, caller: { actor } }) => {
    const { reason = "asked for", dry_run: dryRun } = body;
    const { state } = await ports.work.queue.retry(id, { reason, requested_by: actor, dryRun });
    return decided(ports, id, dryRun, state);
  }),
  handle(wire.getWorkStats, ({ ports }) => {
    const { queue, desk } = ports.work;
    const { oldestSeconds, waitedSeconds: _, ...load } = queue.load();
    const counts = queue.counts();
    return {
      unfinished: queue.unfinished,
      states: byState(counts),
      ...load,
      oldest_seconds: oldestSeconds,
      oldest_by_kind: Object.fromEntries(Object.entries(queue.oldestByKind()).map(([kind, ms]) => [kind, ms / 1_000])),
      claims_waiting: desk.waiting,
      kinds: queue.kinds,
      slots: [...queue.slots()]
        .filter(([, { slots, of }]) => slots < of)
        .map(([node_id, row]) => ({ node: ports.nodes.book.nameOf(node_id), ...row })),
      counts,
    };
  }),
  handle(wire.forecastWork, async ({ ports }) => {
    const { nodes, configs, preemptions, untaken } = await ports.work.queue.forecast();
    return {
      nodes: nodes.map(({ node_id, after, jobs, held }) => ({
        node: ports.nodes.book.nameOf(node_id),
        after:
          after === undefined
            ? null
            : {
                work_id: after.work_id,
                ends_in_seconds: after.endsInMs === undefined ? null : after.endsInMs / 1_000,
              },
        jobs: jobs.map(({ waitedMs, ...job }) => ({ ...job, waited_seconds: waitedMs / 1_000 })),
        held: held ?? null,
      })),
      configs,
      preemptions,
      untaken: untaken.map(({ waitedMs, ...job }) => ({ ...job, waited_seconds: waitedMs / 1_000 })),
    };
  }),
  handle(wire.getLoadForecast, ({ ports }) => ports.work.queue.loadForecast(plannedJobs(ports.store))),
];

export const workRoutes: readonly Route[] = [...workerRoutes, ...operatorRoutes];
