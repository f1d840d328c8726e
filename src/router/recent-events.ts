import { createRing } from "../kernel/index.ts";
import { type AnyEvent, bytesOf } from "./event.ts";
import type { HistoryFilter } from "./journal/queries.ts";
import { HISTORY_BYTES } from "./limits.ts";

/** What events in memory are chosen by, as those of the journal are. */
const SAME = ["eventType", "origin", "source", "orderKey"] as const;

/** The last events of this process, those that only pass by included; bounded in number and bytes. */
export function createRecentEvents(size: number) {
  const events = createRing<AnyEvent>(size, { max: HISTORY_BYTES, of: bytesOf });
  return {
    push: (event: AnyEvent): void => events.push(event),
    /** Newest last. */
    find(filter: HistoryFilter): AnyEvent[] {
      const { since, until, limit = size } = filter;
      const found: AnyEvent[] = [];
      events.newestFirst((event) => {
        if (since !== undefined && event.timestamp < since) return false;
        const fits =
          SAME.every((key) => filter[key] === undefined || event[key] === filter[key]) &&
          (until === undefined || event.timestamp < until);
        if (fits) found.push(event);
        return found.length < limit;
      });
      return found.reverse();
    },
  };
}

export type RecentEvents = ReturnType<typeof createRecentEvents>;
