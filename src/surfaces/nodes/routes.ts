import {
  isDeprecated,
  isGuest,
  nodeHealthReport,
  PRESENT_MS,
  PROTOCOL,
  settingDifferences,
  timingOnTheWire,
} from "../../cluster/index.ts";
import { defined, isOperatingError, type OperatingError, sumOf } from "../../kernel/index.ts";
import type { Prepared } from "../../router/index.ts";
import { ingestFor } from "../events/ingest.ts";
import { inSlices } from "../http/in-slices.ts";
import { assertSpeaksFor } from "../http/node-callers.ts";
import type { ControlPorts } from "../http/ports.ts";
import { refusalOf } from "../http/problem.ts";
import { type Caller, handle, type Route } from "../http/route.ts";
import { settingsThatAreSet } from "../http/settings-report.ts";
import { linksOf } from "./node-links.ts";
import * as wire from "./wire.ts";

/** How many jobs at once the worker of each node asked for at most. */
const workerSlots = ({ workers }: ControlPorts["work"]["queue"]) =>
  new Map(workers.list().map(({ node_id, all }) => [node_id, { slots: all }]));

/** A node with what it holds and has done. */
const nodeIn = async (
  { nodes: { book, reach }, work: { queue, settings }, fleet, copies }: ControlPorts,
  name: string,
  signal?: AbortSignal,
) => {
  const row = book.find(name);
  const done = await queue.figures(row.node_id, signal);
  const jobs = queue.held(row.node_id);
  const siblings = book.withSameToken(row.node_id);
  const counts = siblings && (await queue.heldCounts(signal));
  return {
    ...book.view(row),
    slots: queue.slots().get(row.node_id) ?? null,
    idle_since: queue.idleSince().get(row.node_id) ?? null,
    games_per_hour: done.games_per_hour,
    jobs,
    work: done,
    held: { jobs: jobs.length, max: settings.maxHeldByNode, ...workerSlots(queue).get(row.node_id) },
    ...defined({
      rented: fleet?.machineOf(row.node_id),
      reach: reach.of(row.node_id),
      reaches: reach.saidBy(row.node_id),
      links: linksOf(row.node_id, book, copies),
    }),
    ...(siblings && {
      held_by_token: { jobs: sumOf(siblings, (each) => counts!.get(each) ?? 0), max: settings.maxHeldByToken },
    }),
  };
};

interface Decision {
  readonly ports: ControlPorts;
  readonly params: { readonly id: string };
  readonly body: { readonly reason?: string | undefined; readonly dry_run: boolean };
  readonly caller: Caller;
}

const withdraw =
  (drain: boolean) =>
  async ({ ports, params: { id }, body, caller: { actor: by } }: Decision) => {
    const reason = body.reason ?? `${drain ? "drain" : "cordon"} asked for by ${by}`;
    const applied = !body.dry_run;
    if (applied) {
      const row = await ports.nodes.book.cordon(id, { reason, by, drain });
      // A node with a key hears of it with its next sign of life; one with a token when it beats for its jobs.
      if (drain && isGuest(row)) await ports.work.queue.preemptAll(row.node_id, reason);
    }
    return { ...(await nodeIn(ports, id)), applied };
  };

/** A refusal concerns its event alone; the others of the request are taken. */
const takenOrNot = (read: () => Prepared): Prepared | OperatingError => {
  try {
    return read();
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    return error;
  }
};

/** Nodes say who they are with a signature; to join they need the token of a worker. */
export const nodeRoutes: readonly Route[] = [
  handle(wire.joinNode, async ({ ports, body, caller: { actor, from, tokenId, onlyJoins } }) => {
    const { book, gate, version } = ports.nodes;
    // The place is taken first: of two that come at once with the last one, one is refused.
    if (tokenId !== null) await ports.tokens.useToJoin(tokenId, book.identify(body));
    const by = { actor, address: from, tokenId: onlyJoins === true ? null : tokenId };
    const { node_id, label } = await book.join(body, by);
    return {
      node_id,
      label,
      protocol: PROTOCOL,
      deprecated: isDeprecated(body.version, version),
      timing: timingOnTheWire(book.timing),
      boot: gate.boot,
      server_time: ports.clock.now(),
    };
  }),
  handle(wire.beatNode, async ({ ports, body, caller }) => {
    assertSpeaksFor(caller, [body.node_id], ports);
    const { book } = ports.nodes;
    const { clock: own, ...beat } = body;
    const row = await book.beat({ ...beat, ...defined({ clockAheadMs: own && own - ports.clock.now() }) });
    return {
      // Whoever beats is there; that it is written down follows within a second.
      state: row.state === "left" || row.state === "joined" ? "online" : row.state,
      drain: row.draining === 1,
      restart: ports.recovery.orderFor(body.node_id, body.incarnation),
      ask: ports.copies.isWanted(body.node_id),
      tell_idle: ports.nodes.idleRequests.take(body.node_id),
      coordinators: (ports.cluster?.view().members ?? []).map(({ url, fingerprint }) => ({ url, fingerprint })),
      peers: ports.nodes.reach.peersFor(body.node_id),
      timing: timingOnTheWire(book.timing),
      server_time: ports.clock.now(),
    };
  }),
  handle(wire.publishNodeEvents, async ({ ports, body: { node_id, events }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    const read = ingestFor(ports, { ...caller, scope: "worker", nodeId: node_id });
    const taken = await inSlices(events, (json) => takenOrNot(() => read(json)));
    const good = taken.flatMap((each) => (isOperatingError(each) ? [] : [each]));
    const published = (await ports.router.publishAll(good)).values();
    return {
      answers: taken.map((each) => {
        if (isOperatingError(each)) return { ok: false, error: refusalOf(each) } as const;
        const { eventId: event_id, seq, suppressed } = published.next().value!;
        return { ok: true, value: { event_id, seq, suppressed } } as const;
      }),
    };
  }),
  handle(wire.leaveNode, async ({ ports, body: { node_id, reason }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    const { book } = ports.nodes;
    return book.view(await book.leave(node_id, reason));
  }),
  handle(wire.reportNodeSettings, async ({ ports, body: { node_id, incarnation, settings }, caller }) => {
    assertSpeaksFor(caller, [node_id], ports);
    await ports.nodes.book.reportSettings(node_id, incarnation, settings);
    return { settings: settings.length };
  }),
  handle(wire.compareNodeSettings, ({ ports: { nodes, settings, version } }) => {
    const reported = nodes.book.settings();
    const here = { node: "main process", version, settings: settingsThatAreSet(settings) };
    const known = new Set(reported.map(({ node }) => node));
    const joined = nodes.book.list().filter(({ local, with_token }) => !local && !with_token);
    return {
      nodes: [here, ...reported].map((each) => ({ node: each.node, version: each.version })),
      unknown: joined.map(({ node_id }) => nodes.book.nameOf(node_id)).filter((name) => !known.has(name)),
      differences: settingDifferences([here, ...reported]).map(({ key, values }) => ({
        key,
        values: values.map((value) => defined({ value })),
      })),
    };
  }),
  handle(wire.listNodes, async ({ ports: { nodes, work, fleet, cluster }, signal }) => {
    const members = cluster?.view().members;
    const held = await work.queue.heldCounts(signal);
    const slots = work.queue.slots();
    const idle = work.queue.idleSince();
    const rates = await work.queue.rates(signal);
    const max = work.settings.maxHeldByNode;
    const asked = workerSlots(work.queue);
    const usd = fleet?.lastDayUsd();
    const perThousand = (nodeId: string): number | undefined => {
      const cost = usd?.get(nodeId);
      const games = rates.get(nodeId)?.games ?? 0;
      return cost === undefined || games === 0 ? undefined : (cost / games) * 1_000;
    };
    return {
      nodes: nodes.book.list().map((node) => ({
        ...node,
        held: { jobs: held.get(node.node_id) ?? 0, max, ...asked.get(node.node_id) },
        slots: slots.get(node.node_id) ?? null,
        idle_since: idle.get(node.node_id) ?? null,
        games_per_hour: rates.get(node.node_id)?.games_per_hour ?? null,
        ...defined({
          reach: nodes.reach.of(node.node_id),
          reaches: nodes.reach.saidBy(node.node_id),
          usd_per_1000_games: perThousand(node.node_id),
        }),
      })),
      ...(members && {
        coordinators: {
          present: members.filter(({ heardMsAgo }) => heardMsAgo <= PRESENT_MS).length,
          of: members.length,
        },
      }),
    };
  }),
  handle(wire.getNode, ({ ports, params: { id }, signal }) => nodeIn(ports, id, signal)),
  handle(wire.getNodeHealth, ({ ports: { nodes, recovery, clock }, params: { id } }) => {
    const row = nodes.book.find(id);
    const [act] = recovery.history({ nodeId: row.node_id, limit: 1 });
    return nodeHealthReport(nodes.book.view(row), nodes, clock.now(), act);
  }),
  handle(wire.cordonNode, withdraw(false)),
  handle(wire.drainNode, withdraw(true)),
  handle(wire.uncordonNode, async ({ ports, params: { id }, body }) => {
    const applied = !body.dry_run;
    if (applied) await ports.nodes.book.uncordon(id);
    return { ...(await nodeIn(ports, id)), applied };
  }),
  handle(wire.setNodePolicy, async ({ ports, params: { id }, body, caller: { actor: by } }) => {
    const { dry_run, reason = `asked for by ${by}`, ...said } = body;
    const isEmpty = said.except_kinds.length === 0 && said.max_jobs === null && said.repair === "replace";
    const policy = isEmpty ? null : { ...said, reason, by };
    if (!dry_run) await ports.nodes.book.allow(id, policy);
    const node = await nodeIn(ports, id);
    return {
      ...node,
      policy: dry_run && policy !== null ? { ...policy, at: ports.clock.now() } : node.policy,
      applied: !dry_run,
    };
  }),
  handle(wire.forgetNode, async ({ ports, params: { id }, body }) => {
    const { jobs = [] } = await nodeIn(ports, id);
    const { node_id, label } = await ports.nodes.book.forget(id, body.dry_run);
    if (!body.dry_run) await ports.work.queue.evict(node_id, "the node was forgotten");
    return { node_id, label, jobs: jobs.map(({ work_id }) => work_id), applied: !body.dry_run };
  }),
];
