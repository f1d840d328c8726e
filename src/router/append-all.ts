import { valuesOf } from "./event.ts";
import { type AppendResult, appendEvents, resultOf } from "./journal/append.ts";
import type { Prepared } from "./prepare.ts";
import type { ResultsOf } from "./store.port.ts";

/** An event that is in the journal now, or was found to repeat one that is. */
export interface Appended {
  readonly prepared: Prepared;
  readonly result: AppendResult;
}

type Append = ReturnType<typeof appendEvents>;

/** What puts these events into the journal: one operation however many they are, and none for none. */
export function appendAll(events: readonly Prepared[], windowSeconds: number): Append[] {
  if (events.length === 0) return [];
  const keys = events.flatMap(({ dedupKey }, at) => (dedupKey === undefined ? [] : [[at, dedupKey] as const]));
  return [
    appendEvents({
      events: events.map(({ event, payloadText }) => valuesOf(event, payloadText)),
      ...(keys.length === 0 ? {} : { dedup: { windowSeconds, keys } }),
    }),
  ];
}

/** What became of them, from the answers to those operations. */
export function appendedOf(events: readonly Prepared[], results: readonly unknown[]): Appended[] {
  const [appended = []] = results as ResultsOf<Append[]>;
  return events.map((prepared, i) => ({ prepared, result: resultOf(appended[i]!) }));
}

export const isDurable = ({ event }: Prepared): boolean => event.eventClass === "durable";
