/** Sends what is in an outbox to the coordinator: in order, in batches, one request at a time, until it has answered. */
import { backoffMs, type Edges, messageOf, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import { type AnyEvent, whyUnreadable } from "../event.ts";
import type { Forwarded, Outbox } from "./outbox.ts";

/** What the coordinator says of one event: it has it, or it will never take it as it is. */
export type ForwardVerdict = Exclude<Forwarded, { durability: "none" }>;

export interface ForwardPort {
  /** One verdict for each, in the order of the events. Throws when there is no answer, or none that is about the events. */
  send(events: readonly AnyEvent[], signal: AbortSignal): Promise<readonly ForwardVerdict[]>;
  /** Whether what `send` threw lies in what was sent, so that the same will never be taken. */
  isRefusal(thrown: unknown): { readonly code: string; readonly reason: string } | undefined;
}

export interface ForwarderOptions extends Edges {
  readonly outbox: Outbox;
  readonly port: ForwardPort;
  readonly maxEvents?: number;
}

export type Forwarder = ReturnType<typeof createForwarder>;

/** How often it looks for what other processes of the node have kept. */
const LOOK_EVERY_MS = 1_000;
const MAX_EVENTS = 200;
const MAX_BYTES = 1_000_000;

export function createForwarder(options: ForwarderOptions) {
  const { outbox, port, clock, random, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Cut down to one when a whole request was refused, so that only the bad one is set aside. */
  let max = options.maxEvents ?? MAX_EVENTS;
  /** Tries in a row that got no answer. */
  let failures = 0;
  let wake: (() => void) | undefined;
  const whenEmpty = new Set<() => void>();
  const unlisten = outbox.onNews(() => wake?.());

  const asVerdict = (thrown: unknown, count: number): readonly ForwardVerdict[] | undefined => {
    const refusal = port.isRefusal(thrown);
    return refusal !== undefined && count === 1 ? [{ durability: "refused", ...refusal }] : undefined;
  };

  const settle = async (verdicts: Parameters<Outbox["settle"]>[0]): Promise<void> => {
    if (verdicts.length === 0) return;
    await outbox.settle(verdicts);
    for (const { eventId, outcome } of verdicts)
      if (outcome.durability === "refused") {
        const { code, reason } = outcome;
        log.error("an event of this node is refused and set aside", { event_id: eventId, code, reason });
      }
  };

  /** Sends one batch; false if there was none. */
  const round = async (): Promise<boolean> => {
    const batch = outbox.next(max, MAX_BYTES);
    const unreadable = batch.flatMap(({ seq, event }) => {
      const reason = whyUnreadable(event);
      const outcome = { durability: "refused", code: "EVENT_UNREADABLE", reason: reason ?? "" } as const;
      return reason === undefined ? [] : [{ seq, eventId: event.eventId, outcome }];
    });
    if (unreadable.length > 0) {
      await settle(unreadable);
      return true;
    }
    const passing = outbox.takePassing();
    if (batch.length + passing.length === 0) return false;
    const events = [...batch.map(({ event }) => event), ...passing];
    let verdicts: readonly ForwardVerdict[];
    try {
      verdicts = await port.send(events, signal);
      max = options.maxEvents ?? MAX_EVENTS;
    } catch (thrown) {
      // Nobody waits for what is passing: it goes with the try that was for it.
      outbox.settlePassing(passing, false);
      if (batch.length === 0 || signal.aborted) throw thrown;
      const verdict = asVerdict(thrown, events.length);
      if (verdict === undefined && port.isRefusal(thrown) !== undefined) {
        max = 1;
        return true;
      }
      if (verdict === undefined) throw thrown;
      verdicts = verdict;
    }
    const settled = batch.map(({ seq, event }, i) => ({ seq, eventId: event.eventId, outcome: verdicts[i]! }));
    await settle(settled);
    if (verdicts.length === events.length) outbox.settlePassing(passing, true);
    return true;
  };

  const idle = async (): Promise<void> => {
    for (const resolve of whenEmpty) resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = clock.after(LOOK_EVERY_MS, resolve);
    const end = () => resolve();
    signal.addEventListener("abort", end, { once: true });
    await promise;
    signal.removeEventListener("abort", end);
    timer.cancel();
    wake = undefined;
  };

  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const sent = await round();
        if (sent && failures >= 3) log.info("events are forwarded again", { tries: failures });
        if (sent) failures = 0;
        else await idle();
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        const error = messageOf(thrown);
        if (failures === 3)
          log.warn("events are not forwarded; they stay in the outbox", { error, ...outbox.status() });
        await sleep(clock, backoffMs(PEER_BACKOFF, failures, random), signal).catch(() => undefined);
      }
    }
  };
  const running = loop();

  return {
    /** Resolves when nothing waits, or after so long. */
    async flush(limitMs: number) {
      const { promise, resolve } = Promise.withResolvers<void>();
      whenEmpty.add(resolve);
      const timer = clock.after(limitMs, resolve, "hold");
      wake?.();
      await promise;
      whenEmpty.delete(resolve);
      timer.cancel();
    },
    /** Stops trying; what waits stays in the outbox. */
    async stop() {
      stopping.abort(new Error("the forwarder stops"));
      unlisten();
      await running;
    },
  };
}
