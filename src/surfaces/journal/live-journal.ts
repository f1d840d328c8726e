import { fromCloudEvent } from "../../events/index.ts";
import type { Clock, Random } from "../../kernel/index.ts";
import type { AnyEvent, DeadLetterFilter, HistoryFilter } from "../../router/index.ts";
import { getAudit } from "../audit/wire.ts";
import type { DeadLetterSelection, EventNote, LiveJournal } from "../cli/journal-view.port.ts";
import type { MainProcess } from "../cli/main-process.ts";
import { Client } from "../consumers/client.ts";
import {
  cleanUpDeadLetters,
  discardDeadLetters,
  listDeadLetters,
  retryDeadLetters,
  summarizeDeadLetters,
} from "../dead-letters/wire.ts";
import { getEvent, getTrace, listEvents } from "../events/wire.ts";
import type { Answer } from "../http/wire.ts";
import { followJournal } from "./follow-journal.ts";

export interface LiveJournalOptions {
  readonly clock: Clock;
  readonly random: Random;
}

const PUBLISH_PATIENCE_MS = 5_000;
const MAX_TRACED = 10_000;

const eventOf = (json: unknown): AnyEvent => fromCloudEvent(json) as AnyEvent;
const noteOf = ({ event, deliveries }: Answer<typeof getEvent>): EventNote => ({
  event: eventOf(event),
  deliveries: deliveries as EventNote["deliveries"],
});

const wireFilter = ({ id, eventId, consumer, eventType, fingerprint }: DeadLetterFilter) => ({
  id,
  event_id: eventId,
  consumer,
  event_type: eventType,
  fingerprint,
});

/** The journal of a running process, through its API. */
export function openLiveJournal(main: MainProcess, { clock, random }: LiveJournalOptions): LiveJournal {
  const { call, dataDir, endpoint } = main;
  /** Page by page: one page has a bound of bytes. */
  const history = async ({ eventType, orderKey, origin, source, since, until, limit = 100 }: HistoryFilter) => {
    const found: AnyEvent[] = [];
    for (let before: number | null | undefined; before !== null && found.length < limit; ) {
      const rest = { event_type: eventType, order_key: orderKey, origin, source, since, until };
      const page: Answer<typeof listEvents> = await call(listEvents, {
        query: { ...rest, before, limit: limit - found.length },
      });
      found.unshift(...page.events.map(eventOf));
      before = page.next_before;
    }
    return found;
  };
  const act = async (route: typeof retryDeadLetters, selection: DeadLetterSelection) => {
    const { filter, maxEvents: max_events, dryRun: dry_run, actor } = selection;
    return (await call(route, { body: { ...wireFilter(filter), max_events, dry_run, actor } })).dead_letters;
  };
  return {
    from: "process",
    startedAt: endpoint.started_at,
    history,
    event: async (id) => noteOf(await call(getEvent, { params: { id } })),
    async trace(id) {
      let page = await call(getTrace, { params: { id } });
      const events = page.events.map(noteOf);
      while (page.next_after !== null && events.length < MAX_TRACED) {
        page = await call(getTrace, { params: { id }, query: { after: page.next_after } });
        events.push(...page.events.map(noteOf));
      }
      return { trace_id: page.trace_id, events };
    },
    deadLetters: async (filter, limit) =>
      (await call(listDeadLetters, { query: { ...wireFilter(filter), status: filter.status, limit } })).dead_letters,
    deadLetterSummary: () => call(summarizeDeadLetters),
    audit: () => call(getAudit),
    async publish(eventType, payload, source) {
      const patienceMs = PUBLISH_PATIENCE_MS;
      const client = new Client({ endpoint: { socketPath: endpoint.socket_path }, source, clock, random, patienceMs });
      try {
        return await client.publishUnchecked(eventType, payload);
      } finally {
        await client.close();
      }
    },
    follow: (options) => followJournal({ ...options, dataDir, clock }),
    retryDeadLetters: (selection) => act(retryDeadLetters, selection),
    discardDeadLetters: (selection) => act(discardDeadLetters, selection),
    cleanUpDeadLetters: async (older_than_hours) =>
      (await call(cleanUpDeadLetters, { body: { older_than_hours } })).deleted,
    [Symbol.dispose]: () => main[Symbol.dispose](),
  };
}
