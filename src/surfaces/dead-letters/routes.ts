import type { z } from "zod";
import { defined } from "../../kernel/index.ts";
import type { DeadLetterFilter } from "../../router/index.ts";
import { type Call, handle, type Route } from "../http/route.ts";
import {
  cleanUpDeadLetters,
  discardDeadLetters,
  listDeadLetters,
  retryDeadLetters,
  summarizeDeadLetters,
} from "./wire.ts";

type Order = z.output<typeof retryDeadLetters.body>;

const filterOf = (given: Partial<Order>): DeadLetterFilter => {
  const { id, event_id: eventId, consumer, event_type: eventType, fingerprint, before } = given;
  return defined({ id, eventId, consumer, eventType, fingerprint, before });
};

/** Who the record names: what the caller says of itself counts only where nothing better is known of it. */
const actorOf = (said: string, known: string): string =>
  known.startsWith("local:") && said !== "unknown" ? said : known;

const selectionOf = ({ body, caller }: Pick<Call<unknown, unknown, Order>, "body" | "caller">) => ({
  filter: filterOf(body),
  maxEvents: body.max_events,
  dryRun: body.dry_run,
  actor: actorOf(body.actor, caller.actor),
});

export const deadLetterRoutes: readonly Route[] = [
  handle(listDeadLetters, async ({ ports, query: { limit, status, ...rest } }) => ({
    dead_letters: await ports.router.deadLetters.list({ ...filterOf(rest), ...defined({ status }) }, limit),
  })),
  handle(summarizeDeadLetters, async ({ ports: { router } }) => ({
    counts: router.deadLetters.counts(),
    groups: await router.deadLetters.getErrorSummary(100),
  })),
  handle(retryDeadLetters, async (call) => {
    const { ports, body } = call;
    const perSecond = defined({ perSecond: body.per_second });
    const dead_letters = await ports.router.deadLetters.retryAll({ ...selectionOf(call), ...perSecond });
    return { dry_run: body.dry_run, dead_letters };
  }),
  handle(discardDeadLetters, async (call) => ({
    dry_run: call.body.dry_run,
    dead_letters: await call.ports.router.deadLetters.discard(selectionOf(call)),
  })),
  handle(cleanUpDeadLetters, async ({ ports, body }) => ({
    deleted: await ports.router.deadLetters.cleanup(body.older_than_hours),
  })),
];
