import { messageOf, sleep } from "../kernel/index.ts";
import { type Emissions, emissionsOf } from "./append-all.ts";
import type { Cursor } from "./cursor.ts";
import type { AnyEvent } from "./event.ts";
import type { Delivery } from "./lanes.ts";
import type { CommitHooks } from "./parts.ts";
import type { Prepared } from "./prepare.ts";

export interface Failure {
  readonly consumer: string;
  readonly event: AnyEvent;
  readonly kind: "failed" | "timeout";
  readonly error: string;
  readonly attempts: number;
  /** The time limit that this handler has. */
  readonly limitMs: number;
}

/** What follows a delivery, however it ended. */
export interface DeliveryHooks extends CommitHooks {
  readonly onFailure: (failure: Failure) => void;
  /** The router's own report on a delivery that died; none about a delivery of such a report. */
  readonly onDeath: (failure: Failure) => readonly Prepared[];
}

const STORE_RETRY_MS = 1_000;

/**
 * A delivery failed: it is reported, and a try is spent or a dead letter made of it, with the router's report on that. While
 * the disk refuses, it is tried again, until it is over: then the delivery may be somebody else's, and what was not written
 * down never happened.
 */
export async function spendTry(
  hooks: DeliveryHooks,
  cursor: Cursor,
  delivery: Delivery,
  how: Pick<Failure, "kind" | "error" | "limitMs">,
  isOver: (thrown?: unknown) => boolean,
): Promise<"retrying" | "dead"> {
  const { consumer } = cursor;
  const { event } = delivery;
  const failure: Failure = { ...how, consumer, event, attempts: delivery.attempts + 1 };
  hooks.onFailure(failure);
  let report: Emissions | undefined;
  const reportOnce = () => {
    report ??= emissionsOf(hooks, hooks.onDeath(failure));
    return report;
  };
  for (;;) {
    try {
      return await cursor.fail(delivery, failure.error, reportOnce);
    } catch (thrown) {
      if (isOver(thrown)) return "retrying";
      hooks.log.error("a failed delivery could not be stored; trying again", {
        consumer,
        event_id: event.eventId,
        error: messageOf(thrown),
      });
      await sleep(hooks.clock, STORE_RETRY_MS);
      if (isOver()) return "retrying";
    }
  }
}
