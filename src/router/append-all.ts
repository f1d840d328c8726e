import { valuesOf } from "./event.ts";
import { appendEvents, resultOf } from "./journal/append.ts";
import type { Appended, CommitHooks } from "./parts.ts";
import type { Prepared } from "./prepare.ts";

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

/** What became of them, from the results of a commit that ended with that operation. */
export function appendedOf(events: readonly Prepared[], results: readonly unknown[]): Appended[] {
  const places = results.at(-1) as NonNullable<Append["result"]>;
  return events.map((prepared, i) => ({ prepared, result: resultOf(places[i]!) }));
}

export type Emissions = ReturnType<typeof emissionsOf>;

/** What a piece of work has emitted, on its way out with the commit of that work. */
export function emissionsOf(hooks: CommitHooks, emitted: readonly Prepared[]) {
  const durable = emitted.filter(isDurable);
  const appends = appendAll(durable, hooks.settings.dedupWindowSeconds);
  return {
    /** What puts the durable ones into the journal; the last operations of the commit that they belong to. */
    appends,
    /** That commit is on disk, with these results: durable ones are delivered, and the others go out. */
    onCommitted(results: readonly unknown[]) {
      hooks.onCommitted(appendedOf(durable, results));
      for (const prepared of emitted) if (!isDurable(prepared)) hooks.publishPassing(prepared);
    },
  };
}

export const isDurable = ({ event }: Prepared): boolean => event.eventClass === "durable";
