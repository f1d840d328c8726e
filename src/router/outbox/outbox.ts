import type { Catalog } from "../../events/index.ts";
import { createIds, type Edges, isOperatingError, OperatingError } from "../../kernel/index.ts";
import { isDurable } from "../append-all.ts";
import { type AnyEvent, fromStored, valuesOf } from "../event.ts";
import { type PrepareContext, type Prepared, type PublishOptions, prepare, type Validation } from "../prepare.ts";
import { type OutboxBounds, outboxBounds } from "../settings.ts";
import type { Store } from "../store.port.ts";
import { beginWork, type WorkBody, type WorkOptions } from "../work.ts";
import { whyNodeMayNot } from "./node-rights.ts";
import {
  discardRefused,
  keepEvent,
  type OutboxStatus,
  outboxStatus,
  type RefusedEvent,
  refusedEvents,
  retryRefused,
  type SettleArgs,
  settleEvents,
  waitingEvents,
} from "./tables.ts";

export interface OutboxOptions extends Edges {
  readonly store: Store;
  readonly catalog: Catalog;
  /** Who speaks here. */
  readonly nodeId: string;
  readonly bounds?: OutboxBounds;
  /** Whether a passing event finds somebody who sends it, or is refused: only the process with the forwarder sends. */
  readonly passing?: "sent" | "refused";
}

/** What became of an event beyond this node. */
export type Forwarded =
  | { readonly durability: "cluster"; readonly seq: number | null; readonly suppressed: "event_id" | "content" | null }
  | { readonly durability: "refused"; readonly code: string; readonly reason: string }
  /** A passing event that was sent, or was not. */
  | { readonly durability: "none"; readonly sent: boolean };

/** What `publish` resolves to: the event, and how far it has come. */
export type Kept = AnyEvent & {
  readonly durability: "node" | "none";
  /** One of this id was here already. */
  readonly suppressed: "event_id" | null;
  /** Settles in the process that sends, and never rejects; elsewhere it stays open, and the books tell. */
  readonly forwarded: Promise<Forwarded>;
};

/** The events of a node that the coordinator does not have yet. */
export type Outbox = ReturnType<typeof createOutbox>;

const MAX_PASSING = 256;

const staysHere = (eventType: string) =>
  OperatingError.internal("EVENT_NOT_FORWARDED", `${eventType} never leaves its process`);

const notSent = (eventType: string) =>
  OperatingError.internal("EVENT_NOT_KEPT", `${eventType} is not durable: it is not kept, and it cannot be sent now`, {
    hint: "Durable events are kept until the main process answers; 'ringrift events show' tells the class of an event.",
  });

/** Checks and completes what somebody on the node publishes, and refuses what is not this node's to emit. */
function checkedBy({ catalog, clock, random, log, nodeId, passing }: OutboxOptions) {
  const context: PrepareContext = {
    catalog,
    clock,
    ids: createIds(clock, random),
    nodeId,
    strictNames: false,
    onIncomplete: (eventType, missing) =>
      log.warn("an event was published without all of its fields", { event_type: eventType, missing }),
    onDeprecated: (kind, what, instead) =>
      log.warn("an event contains an old or unknown value", { kind, what, instead }),
  };
  return (eventType: string, payload: unknown, given: PublishOptions, how: Validation): Prepared => {
    const made = prepare(context, eventType, payload, given, how);
    if (made.event.eventClass === "process") throw staysHere(made.event.eventType);
    if (made.event.eventClass === "volatile" && passing !== "sent") throw notSent(made.event.eventType);
    const refusal = whyNodeMayNot(made, (named) => named === nodeId);
    if (refusal !== undefined) throw refusal;
    return made;
  };
}

export function createOutbox(options: OutboxOptions) {
  const { store, clock, log, nodeId, bounds = outboxBounds } = options;
  const waiters = new Map<string, ((outcome: Forwarded) => void)[]>();
  const listeners = new Set<() => void>();
  const lost = { passing: 0, turnedAway: 0 };
  let passing: AnyEvent[] = [];
  let full = false;

  const prepared = checkedBy(options);

  const news = () => {
    for (const listen of listeners) listen();
  };
  const pass = (event: AnyEvent) => {
    passing.push(event);
    if (passing.length > MAX_PASSING) settlePassing(passing.splice(0, 1), false);
  };
  const settleWaiters = (eventId: string, outcome: Forwarded) => {
    for (const resolve of waiters.get(eventId) ?? []) resolve(outcome);
    waiters.delete(eventId);
  };
  const settlePassing = (events: readonly AnyEvent[], sent: boolean) => {
    if (!sent) lost.passing += events.length;
    for (const { eventId } of events) settleWaiters(eventId, { durability: "none", sent });
  };
  const forwardedOf = (eventId: string) =>
    new Promise<Forwarded>((resolve) => {
      waiters.set(eventId, [...(waiters.get(eventId) ?? []), resolve]);
    });

  const keep = ({ event, payloadText }: Prepared) =>
    keepEvent({ event: valuesOf(event, payloadText), at: clock.now(), ...bounds });

  /** The bound is said once when it is reached and once when there is room again; each refusal is an error of its own. */
  const watched = async <T>(count: number, commit: () => Promise<T>): Promise<T> => {
    try {
      const done = await commit();
      if (full && count > 0) log.info("the outbox has room again", { turned_away: lost.turnedAway });
      if (count > 0) full = false;
      return done;
    } catch (thrown) {
      if (isOperatingError(thrown, "OUTBOX_FULL")) {
        lost.turnedAway += count;
        if (!full) log.error("the outbox is full: events of this node are refused", { error: thrown.message });
        full = true;
      }
      throw thrown;
    }
  };

  const publishPrepared = async (made: Prepared): Promise<Kept> => {
    const { event } = made;
    const forwarded = forwardedOf(event.eventId);
    if (event.eventClass === "volatile") {
      pass(event);
      news();
      return { ...event, durability: "none", suppressed: null, forwarded };
    }
    try {
      const [{ isNew }] = await watched(1, () => store.commit([keep(made)]));
      news();
      return { ...event, durability: "node", suppressed: isNew ? null : "event_id", forwarded };
    } catch (thrown) {
      waiters.delete(event.eventId);
      throw thrown;
    }
  };

  return {
    nodeId,
    store,
    /** Passing events that nobody heard, and events that found no room, in this process. */
    lost,
    publish: async (
      eventType: string,
      payload: unknown,
      given: PublishOptions = {},
      how: Validation = "tolerant",
    ): Promise<Kept> => publishPrepared(prepared(eventType, payload, given, how)),
    /** Work whose rows and emissions are one commit here; emissions are checked strictly. */
    async transact({ source, signal }: Pick<WorkOptions, "source" | "signal">, body: WorkBody) {
      const prepareEmission = (eventType: string, payload: unknown) =>
        prepared(eventType, payload, { source }, "strict");
      const work = beginWork({ store, source, signal, what: "its work", prepareEmission });
      await body(work.context);
      signal?.throwIfAborted();
      const keeps = work.emitted.filter(isDurable).map(keep);
      const operations = [...work.rows.operations(), ...keeps];
      if (operations.length > 0) await watched(keeps.length, () => store.commit(operations));
      for (const made of work.emitted) if (!isDurable(made)) pass(made.event);
      work.runAfterCommit(log);
      if (work.emitted.length > 0) news();
    },
    status: (): OutboxStatus => outboxStatus(store),
    refused: (limit: number): RefusedEvent[] => refusedEvents(store, limit),
    /** How many go to the end of the line once more. */
    async retry(eventId?: string) {
      const [count] = await store.commit([retryRefused({ eventId: eventId ?? null })]);
      if (count > 0) news();
      return count;
    },
    /** How many are given up for good. */
    async discard(eventId?: string) {
      const [count] = await store.commit([discardRefused({ eventId: eventId ?? null })]);
      return count;
    },
    /** For whoever sends: the oldest that wait, as they are to be sent, with their place. */
    next: (maxEvents: number, maxBytes: number): { readonly seq: number; readonly event: AnyEvent }[] =>
      waitingEvents(store, maxEvents, maxBytes).map((stored) => ({
        seq: stored.seq,
        // Its place here is none in the journal.
        event: { ...fromStored(options.catalog, stored), seq: null },
      })),
    /** For whoever sends: passing events since the last call. */
    takePassing(): AnyEvent[] {
      const taken = passing;
      passing = [];
      return taken;
    },
    async settle(verdicts: readonly { readonly seq: number; readonly eventId: string; readonly outcome: Forwarded }[]) {
      const args: { -readonly [K in keyof SettleArgs]: SettleArgs[K] } = {
        at: clock.now(),
        forwarded: verdicts.filter(({ outcome }) => outcome.durability === "cluster").map(({ seq }) => seq),
        refused: verdicts.flatMap(({ seq, outcome }) =>
          outcome.durability === "refused" ? [{ seq, code: outcome.code, reason: outcome.reason }] : [],
        ),
      };
      await store.commit([settleEvents(args)]);
      for (const { eventId, outcome } of verdicts) settleWaiters(eventId, outcome);
    },
    settlePassing,
    /** Told when there is something to send. */
    onNews(listen: () => void): () => void {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
  };
}
