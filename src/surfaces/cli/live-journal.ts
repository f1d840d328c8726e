import type { AuditReport } from "../../daemons/index.ts";
import { fromCloudEvent } from "../../events/index.ts";
import type { Clock, Random } from "../../kernel/index.ts";
import type { AnyEvent, ConsumerStatus, DeadLetter, DeadLetterFilter, HistoryFilter } from "../../router/index.ts";
import { openChannel } from "../client/channel.ts";
import { Client } from "../client/client.ts";
import type { EndpointFile } from "../client/endpoint.ts";
import { followJournal } from "./follow.ts";
import type { DeadLetterSelection, DeadLetterSummary, EventNote, LiveJournal } from "./journal-view.port.ts";
import { probe } from "./main-process.ts";

export interface LiveJournalOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
}

/** A healthy process answers in milliseconds; one that hangs shall not hang its commands. */
const PROBE_TIMEOUT_MS = 5_000;
const PUBLISH_PATIENCE_MS = 5_000;

type Wire<T> = Omit<T, "event"> & { readonly event: unknown };

interface HistoryPage {
  readonly events: readonly unknown[];
  readonly next_before: number | null;
}

interface TracePage {
  readonly trace_id: string;
  readonly events: readonly Wire<EventNote>[];
  readonly next_after: number | null;
}

const MOST_TRACED = 10_000;

const eventOf = (json: unknown): AnyEvent => fromCloudEvent(json) as AnyEvent;
const noteOf = ({ event, ...rest }: Wire<EventNote>): EventNote => ({ ...rest, event: eventOf(event) });

const query = (given: Readonly<Record<string, string | number | undefined>>): string => {
  const pairs = Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]));
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs as [string, string][])}`;
};

const wireFilter = (filter: DeadLetterFilter) => ({
  id: filter.id,
  event_id: filter.eventId,
  consumer: filter.consumer,
  event_type: filter.eventType,
  fingerprint: filter.fingerprint,
});

/** Field by field: a command's other options are none of the route's business, and it says so. */
const historyQuery = (filter: HistoryFilter, before: number | undefined) => {
  const { eventType, orderKey, origin, source, since, until, limit } = filter;
  return query({ event_type: eventType, order_key: orderKey, origin, source, since, until, limit, before });
};

/** The journal of a running process, through its API. */
export function openLiveJournal(
  endpoint: EndpointFile,
  { dataDir, clock, random }: LiveJournalOptions,
): LiveJournal & { probe(): Promise<void> } {
  const address = { socketPath: endpoint.socket_path };
  const channel = openChannel(address);
  const get = <T>(path: string) => channel.send<T>("GET", path);
  /** Page by page: one page has a bound of bytes. */
  const history = async (filter: HistoryFilter) => {
    const found: AnyEvent[] = [];
    const { limit = 100 } = filter;
    for (let before: number | null | undefined; before !== null && found.length < limit; ) {
      const path: string = `/v1/events${historyQuery({ ...filter, limit: limit - found.length }, before)}`;
      const page: HistoryPage = await get<HistoryPage>(path);
      found.unshift(...page.events.map(eventOf));
      before = page.next_before;
    }
    return found;
  };
  const act = async (what: "retry" | "discard", selection: DeadLetterSelection): Promise<DeadLetter[]> => {
    const body = {
      ...wireFilter(selection.filter),
      max_events: selection.maxEvents,
      dry_run: selection.dryRun,
      actor: selection.actor,
    };
    return (await channel.send<{ dead_letters: DeadLetter[] }>("POST", `/v1/dead-letters/${what}`, body)).dead_letters;
  };
  return {
    from: "process",
    dataDir,
    startedAt: endpoint.started_at,
    async probe() {
      await probe(() => channel.send("GET", "/livez", undefined, { timeoutMs: PROBE_TIMEOUT_MS }));
    },
    history,
    event: async (eventId) => noteOf(await get<Wire<EventNote>>(`/v1/events/${encodeURIComponent(eventId)}`)),
    async trace(eventId) {
      const path = `/v1/events/${encodeURIComponent(eventId)}/trace`;
      let page = await get<TracePage>(path);
      const events = page.events.map(noteOf);
      while (page.next_after !== null && events.length < MOST_TRACED) {
        page = await get<TracePage>(`${path}?after=${page.next_after}`);
        events.push(...page.events.map(noteOf));
      }
      return { trace_id: page.trace_id, events };
    },
    async deadLetters(filter, limit) {
      const path = `/v1/dead-letters${query({ ...wireFilter(filter), status: filter.status, limit })}`;
      return (await get<{ dead_letters: DeadLetter[] }>(path)).dead_letters;
    },
    deadLetterSummary: () => get<DeadLetterSummary>("/v1/dead-letters/summary"),
    consumers: async () => (await get<{ consumers: ConsumerStatus[] }>("/v1/consumers")).consumers,
    audit: () => get<AuditReport>("/v1/audit"),
    async publish(eventType, payload, source) {
      const client = new Client({ endpoint: address, source, clock, random, patienceMs: PUBLISH_PATIENCE_MS });
      try {
        return await client.publish(eventType, payload);
      } finally {
        await client.close();
      }
    },
    follow: (options) => followJournal({ ...options, dataDir, clock }),
    retryDeadLetters: (selection) => act("retry", selection),
    discardDeadLetters: (selection) => act("discard", selection),
    async cleanUpDeadLetters(olderThanHours) {
      const body = { older_than_hours: olderThanHours };
      return (await channel.send<{ deleted: number }>("POST", "/v1/dead-letters/cleanup", body)).deleted;
    },
    close: () => channel.close(),
  };
}
