import { z } from "zod";
import { isDeprecated, PROTOCOL, timingOnTheWire } from "../../../cluster/index.ts";
import { isOperatingError, type OperatingError } from "../../../kernel/index.ts";
import type { Prepared } from "../../../router/index.ts";
import { ingestFor } from "../ingest.ts";
import { assertSpeaksFor } from "../node-callers.ts";
import * as node from "../node-schemas.ts";
import type { ControlPorts } from "../ports.ts";
import { type Route, route } from "../route.ts";
import * as schema from "../schemas.ts";

const tag = "nodes";
const needs = ["nodes"] as const;
const MOST_EVENTS_BYTES = 16 * 1_024 * 1_024;
const one = z.strictObject({ id: schema.name });
const nodeAnswer = { 200: { about: "The node as it is now.", schema: node.nodeView } };

/** A node with what it holds and has done, where there is a queue. */
const shown = ({ nodes, work }: ControlPorts, name: string) => {
  const row = nodes!.book.find(name);
  const jobs = (work?.queue.held(row.node_id) ?? []).map((job) => ({ ...job, claimed_at: job.claimed_at / 1_000 }));
  const done = work?.queue.figures(row.node_id);
  return { ...nodes!.book.view(row), jobs, ...(done === undefined ? {} : { work: done }) };
};

/** What an operator may decide about a node. */
const verbs: Readonly<
  Record<
    string,
    { summary: string; run: (ports: ControlPorts, id: string, reason: string, actor: string) => Promise<unknown> }
  >
> = {
  cordon: {
    summary: "Gives a node no new work; what it has goes on.",
    run: ({ nodes }, id, reason, by) => nodes!.book.cordon(id, { reason, by, drain: false }),
  },
  drain: {
    summary: "Gives a node no new work, and lets it give back what it has.",
    run: ({ nodes }, id, reason, by) => nodes!.book.cordon(id, { reason, by, drain: true }),
  },
  uncordon: {
    summary: "Lets a node have work again.",
    run: ({ nodes }, id) => nodes!.book.uncordon(id),
  },
};

type Taken = { readonly prepared: Prepared } | { readonly error: OperatingError };

/** A refusal concerns its event alone; the others of the request are taken. */
const takenOrNot = (read: () => Prepared): Taken => {
  try {
    return { prepared: read() };
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    return { error };
  }
};

/** Nodes say who they are with a signature; to join they need the token of a worker. */
export const nodeRoutes: readonly Route[] = [
  route({
    id: "joinNode",
    method: "POST",
    path: "/v1/nodes/join",
    tag,
    summary: "Makes a machine a node, known by its key.",
    scope: "worker",
    limit: "write",
    body: node.joinBody,
    answers: { 200: { about: "Who it is from here on, and how often it shall speak.", schema: node.joinAnswer } },
    needs,
    async handle({ ports, body, caller: { actor, from } }) {
      const { book, gate, version } = ports.nodes!;
      const row = await book.join(body, { actor, address: from });
      return {
        node_id: row.node_id,
        label: row.label,
        protocol: PROTOCOL,
        deprecated: isDeprecated(body.version, version),
        timing: timingOnTheWire(book.timing),
        boot: gate.boot,
        server_time: ports.clock.now() / 1_000,
      };
    },
  }),
  route({
    id: "beatNode",
    method: "POST",
    path: "/v1/nodes/beat",
    tag,
    summary: "A node's sign of life, with its load; what it shall do comes back.",
    scope: "worker",
    limit: "beat",
    record: "no",
    body: node.beatBody,
    answers: { 200: { about: "How it is seen, and whether it shall give back its work.", schema: node.beatAnswer } },
    needs,
    async handle({ ports, body, caller }) {
      assertSpeaksFor(caller, [body.node_id], ports);
      const { book } = ports.nodes!;
      const row = await book.beat(body);
      return {
        // Whoever beats is there; that it is written down follows within a second.
        state: row.state === "left" || row.state === "joined" ? "online" : row.state,
        drain: row.draining === 1,
        timing: timingOnTheWire(book.timing),
        server_time: ports.clock.now() / 1_000,
      };
    },
  }),
  route({
    id: "publishNodeEvents",
    method: "POST",
    path: "/v1/nodes/events",
    tag,
    summary: "The events of a node's outbox, oldest first. Each is answered by itself; sent again it counts once.",
    scope: "worker",
    limit: "traffic",
    // The journal tells of each event and which node it is of.
    record: "no",
    body: node.nodeEventsBody,
    mostBodyBytes: MOST_EVENTS_BYTES,
    answers: { 200: { about: "Those that are taken are on disk.", schema: node.nodeEventsAnswer } },
    needs,
    async handle({ ports, body: { node_id, events }, caller }) {
      assertSpeaksFor(caller, [node_id], ports);
      const read = ingestFor(ports, { ...caller, scope: "worker", nodeId: node_id });
      const taken = events.map((json) => takenOrNot(() => read(json)));
      const good = taken.flatMap((each) => ("prepared" in each ? [each.prepared] : []));
      const published = (await ports.router.publishAll(good)).values();
      return {
        answers: taken.map((each) => {
          if ("error" in each) {
            const { code, message, retryable } = each.error;
            return { ok: false, error: { code, message, retryable } };
          }
          const { eventId: event_id, seq, suppressed } = published.next().value!;
          return { ok: true, value: { event_id, seq, suppressed } };
        }),
      };
    },
  }),
  route({
    id: "leaveNode",
    method: "POST",
    path: "/v1/nodes/leave",
    tag,
    summary: "A node says goodbye: its silence from here on is no alarm.",
    scope: "worker",
    limit: "beat",
    body: node.leaveBody,
    answers: { 200: { about: "The node as it is now.", schema: node.nodeView } },
    needs,
    async handle({ ports, body: { node_id, reason }, caller }) {
      assertSpeaksFor(caller, [node_id], ports);
      const { book } = ports.nodes!;
      return book.view(await book.leave(node_id, reason));
    },
  }),
  route({
    id: "listNodes",
    method: "GET",
    path: "/v1/nodes",
    tag,
    summary: "All nodes.",
    scope: "read",
    limit: "read",
    answers: { 200: { about: "One row for each.", schema: z.object({ nodes: z.array(node.nodeView) }) } },
    needs,
    handle: ({ ports }) => ({ nodes: ports.nodes!.book.list() }),
  }),
  route({
    id: "getNode",
    method: "GET",
    path: "/v1/nodes/{id}",
    tag,
    summary: "One node, by its id or its label, with the jobs it holds and what it has done.",
    scope: "read",
    limit: "heavy",
    params: one,
    answers: nodeAnswer,
    needs,
    handle: ({ ports, params: { id } }) => shown(ports, id),
  }),
  ...Object.entries(verbs).map(([verb, { summary, run }]) =>
    route({
      id: `${verb}Node`,
      method: "POST",
      path: `/v1/nodes/{id}/${verb}`,
      tag,
      summary,
      scope: "operator",
      limit: "write",
      params: one,
      body: schema.optionalReasonBody,
      answers: nodeAnswer,
      needs,
      async handle({ ports, params: { id }, body: { reason }, caller: { actor } }) {
        await run(ports, id, reason ?? `${verb} asked for by ${actor}`, actor);
        return shown(ports, id);
      },
    }),
  ),
  route({
    id: "forgetNode",
    method: "POST",
    path: "/v1/nodes/{id}/forget",
    tag,
    summary: "Takes a node out for good: its key opens nothing any more, and its jobs come back.",
    scope: "operator",
    limit: "write",
    params: one,
    body: schema.optionalReasonBody,
    answers: { 200: { about: "Who is forgotten.", schema: z.object({ node_id: z.string(), label: z.string() }) } },
    needs,
    async handle({ ports, params: { id } }) {
      const { node_id, label } = await ports.nodes!.book.forget(id);
      await ports.work?.queue.evict(node_id, "the node was forgotten");
      return { node_id, label };
    },
  }),
];
