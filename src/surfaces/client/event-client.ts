/** The way of a node's events to its coordinator: what `src/router/outbox` asks for, in the words of the API. */
import { z } from "zod";
import { toCloudEvent } from "../../events/index.ts";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { ForwardPort, ForwardVerdict } from "../../router/outbox/index.ts";
import type { NodeLink } from "./node-link.ts";

const answer = z.object({
  answers: z.array(
    z.union([
      z.object({
        ok: z.literal(true),
        value: z.object({
          seq: z.int().nullable(),
          suppressed: z.enum(["event_id", "content"]).nullable(),
        }),
      }),
      z.object({
        ok: z.literal(false),
        error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }),
      }),
    ]),
  ),
});

/** The request itself cannot be understood because of what is in it. Who we are and when we ask is no such thing. */
const ABOUT_THE_BODY: ReadonlySet<unknown> = new Set([400, 413, 422]);

export const eventsOver = (link: NodeLink, nodeId: string): ForwardPort => ({
  async send(events, signal): Promise<readonly ForwardVerdict[]> {
    const body = { node_id: nodeId, events: events.map((event) => toCloudEvent(event as never)) };
    const got = answer.safeParse(await link.send<unknown>("POST", "/v1/nodes/events", body, { signal }));
    if (!got.success || got.data.answers.length !== events.length)
      throw new OperatingError("UNEXPECTED_ANSWER", "the main process answered something else", { retryable: true });
    for (const each of got.data.answers)
      if (!each.ok && each.error.retryable)
        throw new OperatingError(each.error.code, each.error.message, { retryable: true });
    return got.data.answers.map((each) =>
      each.ok
        ? { durability: "cluster", ...each.value }
        : { durability: "refused", code: each.error.code, reason: each.error.message.slice(0, 2_000) },
    );
  },
  isRefusal(thrown) {
    if (!isOperatingError(thrown) || thrown.retryable || !ABOUT_THE_BODY.has(thrown.details.status)) return undefined;
    return { code: thrown.code, reason: thrown.message.slice(0, 2_000) };
  },
});
