/** What a node says of itself over the wire, in the words of the API. */
import { PROTOCOL } from "../../cluster/index.ts";
import { type PayloadFor, toCloudEvent } from "../../events/index.ts";
import { isBodyRefused, OperatingError } from "../../kernel/index.ts";
import type { ForwardPort, ForwardVerdict } from "../../router/outbox/index.ts";
import { callTo } from "../client/call.ts";
import type { NodeLink } from "../client/node-link.ts";
import { type ConfigReport, settingsThatAreSet } from "../http/settings-report.ts";
import type { Answer, Input } from "../http/wire.ts";
import { beatNode, joinNode, leaveNode, publishNodeEvents, reportNodeSettings } from "./wire.ts";

export type Joined = Answer<typeof joinNode>;
type Sent<W extends typeof joinNode | typeof beatNode> = Input<W>["body"];
export type NodeAbout = Sent<typeof joinNode>["capabilities"];

/** A sign of life that is late is none. */
const BEAT_MS = 10_000;
const LEAVE_MS = 2_000;
const REASON_CHARACTERS = 2_000;

export const joinOver = (link: NodeLink, node: Omit<Sent<typeof joinNode>, "protocol">): Promise<Joined> =>
  callTo(link, joinNode, { body: { ...node, protocol: PROTOCOL.current } });

export const beatOver = (link: NodeLink, body: Sent<typeof beatNode>) =>
  callTo(link, beatNode, { body }, { timeoutMs: BEAT_MS });

export const leaveOver = (link: NodeLink, node_id: string, reason: string): Promise<unknown> =>
  callTo(link, leaveNode, { body: { node_id, reason } }, { timeoutMs: LEAVE_MS });

export const settingsOver = (
  link: NodeLink,
  node: { readonly node_id: string; readonly incarnation: number },
  report: ConfigReport,
): Promise<unknown> =>
  callTo(link, reportNodeSettings, { body: { ...node, settings: settingsThatAreSet(report) } }, { timeoutMs: BEAT_MS });

/** The way of a node's events to its coordinator: what `src/router/outbox` asks for. */
export const eventsOver = (link: NodeLink, nodeId: string): ForwardPort => ({
  async send(events, signal): Promise<readonly ForwardVerdict[]> {
    const body = { node_id: nodeId, events: events.map((event) => toCloudEvent(event as never)) };
    const { answers } = await callTo(link, publishNodeEvents, { body }, { signal });
    if (answers.length !== events.length)
      throw OperatingError.unavailable("UNEXPECTED_ANSWER", "the main process answered something else");
    for (const each of answers)
      if (!each.ok && each.error.retryable) throw OperatingError.unavailable(each.error.code, each.error.message);
    return answers.map((each) => {
      if (!each.ok) return { durability: "refused", ...refusal(each.error) };
      const { seq, suppressed } = each.value;
      return { durability: "cluster", seq, suppressed };
    });
  },
  isRefusal: (thrown) => (isBodyRefused(thrown) ? refusal(thrown) : undefined),
});

/** What a worker measures of itself; the next one replaces it, so nobody keeps one that did not arrive. */
export const metricsOver = (
  link: NodeLink,
  { id, node_id, metrics }: { readonly id: string } & PayloadFor<"METRICS_UPDATED">,
): Promise<unknown> => {
  const source = `/ringrift/${encodeURIComponent(node_id)}/worker`;
  const event = { specversion: "1.0", id, type: "METRICS_UPDATED", source, data: { node_id, metrics } };
  return callTo(link, publishNodeEvents, { body: { node_id, events: [event] } }, { timeoutMs: BEAT_MS });
};

const refusal = ({ code, message }: { readonly code: string; readonly message: string }) => ({
  code,
  reason: message.slice(0, REASON_CHARACTERS),
});
