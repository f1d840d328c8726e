import { isOperatingError } from "../../../kernel/index.ts";
import { defineTable, sweepDeadLetters } from "../../../router/index.ts";
import { type DlqRetryLimits, dlqRetryDefaults } from "../../limits.ts";
import type { DaemonsServices } from "../../services.ts";
import { type ContextOf, defineDaemon, onEach, type Wiring } from "../../unit/shape.ts";
import { discardedBefore, dueLetters, pendingByConsumer, recoveredBefore, unreportedRecoveries } from "./letters.ts";

const wiring = {
  name: "dlq_retry",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["DLQ_RETRY"],
  alsoKnownAs: ["DeadLetterQueue", "SubscriptionStore"],
  dependsOn: ["event_router"],
  emits: ["DLQ_STALE_EVENTS", "DLQ_EVENTS_REPLAYED", "DLQ_EVENTS_PURGED"],
} as const satisfies Wiring;

/** The threshold that was told last; 0 when there was nothing to tell. */
const alerts = defineTable<{ level: number; at: number }>("dlq_alerts");
/** Recovered letters that were told. */
const reported = defineTable<{ told: true }>("dlq_reported");

/** The highest threshold that is reached; 0 below all of them. */
export const alertLevel = (pending: number, alertAt: readonly number[]): number =>
  Math.max(0, ...alertAt.filter((level) => pending >= level));

type Context = ContextOf<typeof wiring>;

/**
 * Sends dead letters back to their own consumer, later and later, and then leaves them to a person; tells when they become
 * many, when they were delivered in the end, and when discarded ones are forgotten. It never deletes an unresolved one.
 */
export const dlqRetry = (
  { router, store }: Pick<DaemonsServices, "router" | "store">,
  given: Partial<DlqRetryLimits> = {},
) => {
  const { deadLetters } = router;
  const settings = { ...dlqRetryDefaults, ...given };

  /** Once for each threshold on the way up; below all of them the count begins anew. */
  const alertIfMany = ({ now, rows, emit, log }: Context) => {
    const pending = deadLetters.getPendingCount();
    const level = alertLevel(pending, settings.alertAt);
    const before = rows.get(alerts, "pending") ?? { level: 0, at: Number.NEGATIVE_INFINITY };
    if (level === before.level) return;
    if (level < before.level) return rows.put(alerts, "pending", { ...before, level });
    if (now - before.at < settings.alertPauseMs) return;
    rows.put(alerts, "pending", { level, at: now });
    log.warn("dead letters wait", { pending, threshold: level });
    for (const { consumer, letters, oldest_at, event_types } of pendingByConsumer(store))
      emit.DLQ_STALE_EVENTS({
        consumer,
        dead_letters: letters,
        oldest_at: oldest_at / 1_000,
        event_types: [...event_types],
      });
  };

  const reportRecovered = ({ rows, emit }: Context): { more: boolean } => {
    const found = unreportedRecoveries(store, reported.table, 500);
    for (const [consumer, letters] of Map.groupBy(found, (letter) => letter.consumer)) {
      for (const { id } of letters) rows.put(reported, String(id), { told: true });
      const event_types = [...new Set(letters.map(({ event_type }) => event_type))].sort();
      emit.DLQ_EVENTS_REPLAYED({ consumer, dead_letters: letters.length, event_types });
    }
    return { more: found.length === 500 };
  };

  const forgetResolved = ({ now, rows, emit }: Context) => {
    const resolvedBefore = now - settings.keepResolvedMs;
    for (const { consumer, letters, oldest_at, event_types } of discardedBefore(store, resolvedBefore))
      emit.DLQ_EVENTS_PURGED({
        consumer,
        dead_letters: letters,
        event_types: [...event_types],
        reason: "discarded long ago; now forgotten",
        requested_by: wiring.name,
        oldest_at: oldest_at / 1_000,
      });
    for (const id of recoveredBefore(store, resolvedBefore)) rows.delete(reported, String(id));
    rows.apply(sweepDeadLetters({ resolvedBefore }));
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { alerts, reported } },
    on: onEach(["HANDLER_FAILED", "HANDLER_TIMEOUT"], (_event, context: Context) => alertIfMany(context)),
    loop: {
      everyMs: settings.everyMs,
      async tick(context) {
        const present = Object.keys(router.consumerLag());
        for (const { id } of dueLetters(store, settings, present, context.now, settings.batch)) {
          if (context.signal.aborted) return;
          await deadLetters.retryEvent(id, { actor: wiring.name }).catch((thrown: unknown) => {
            // Somebody else has just resolved it or sent it back.
            if (!isOperatingError(thrown, "DEAD_LETTER_NOT_FOUND")) throw thrown;
          });
        }
        alertIfMany(context);
        if (!reportRecovered(context).more) forgetResolved(context);
      },
    },
    health: () => {
      const { pending, retrying } = deadLetters.counts();
      const details = { pending, retrying };
      return alertLevel(pending, settings.alertAt) > 0
        ? { status: "degraded", message: `${pending} dead letters wait`, details }
        : { status: "running", message: pending === 0 ? "" : `${pending} dead letters wait`, details };
    },
  });
};
