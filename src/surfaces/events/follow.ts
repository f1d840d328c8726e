/**
 * Server-sent events: the journal from any place on, and then what happens, without a gap and without a repeat between the
 * two. A reader that is too slow for what happens is sent back to the journal, so that a durable event is never missed; of
 * the passing ones it is told how many it missed.
 */
import type { z } from "zod";
import { type Clock, OperatingError, sleep } from "../../kernel/index.ts";
import { type AnyEvent, type EventRouter, fromStored, headSeq } from "../../router/index.ts";
import type { Share } from "../http/backlog.ts";
import { onTheWire } from "../http/cloud-event.ts";
import type { Out } from "../http/route.ts";
import { journalAfter } from "./journal-pages.ts";
import { listenLive, PIECE_BYTES } from "./live-events.ts";
import type { followEvents } from "./wire.ts";

type FollowFilter = Omit<z.output<typeof followEvents.query>, "after">;

interface FollowOptions {
  readonly router: EventRouter;
  readonly clock: Clock;
  readonly filter: FollowFilter;
  /** Begin after this place; with what comes from now on unless given. */
  readonly after: number | undefined;
  readonly waiting: Share;
}

const BEAT_MS = 15_000;
/** What a reader is asked to wait before it comes back. */
const RETRY_MS = 2_000;

/** The canonical names that the filter leaves, or undefined for all of them. */
function typesOf(router: EventRouter, { event_type, category }: FollowFilter): readonly string[] | undefined {
  const { catalog } = router;
  const named = event_type?.map((name) => catalog.names.resolve(name)?.name ?? name);
  if (category === undefined) return named;
  const rows = Object.values(catalog.rows);
  for (const each of category)
    if (!rows.some((row) => row.category === each))
      throw OperatingError.invalid("INVALID_REQUEST", `category: there is no category '${each}'`, {
        hint: `There are: ${[...new Set(rows.map((row) => row.category))].join(", ")}.`,
      });
  const within = rows.filter((row) => category.includes(row.category)).map(({ name }) => name);
  return named === undefined ? within : named.filter((name) => within.includes(name));
}

const oneOf = (wanted: readonly string[] | undefined, ...values: unknown[]): boolean =>
  wanted === undefined || values.some((value) => typeof value === "string" && wanted.includes(value));

const fitting = (filter: FollowFilter, types: readonly string[] | undefined) => {
  const names = types === undefined ? undefined : new Set(types);
  return (event: AnyEvent): boolean =>
    (names === undefined || names.has(event.eventType)) &&
    (filter.class === undefined || event.eventClass === filter.class) &&
    oneOf(filter.config_key, event.payload.config_key) &&
    oneOf(filter.node_id, event.nodeId, event.payload.node_id) &&
    oneOf(filter.source, event.source) &&
    oneOf(filter.order_key, event.orderKey);
};

const message = (text: string, seq: number | null): string =>
  seq === null ? `data: ${text}\n\n` : `id: ${seq}\ndata: ${text}\n\n`;
const notice = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** Begins to listen at once, so that a name that is refused is an answer of its own; `run` writes until the signal aborts. */
export function openFollow(options: FollowOptions): { run(out: Out): Promise<void> } {
  const { router, clock, filter } = options;
  const { store, catalog } = router;
  const types = typesOf(router, filter);
  const fits = fitting(filter, types);
  // From now on means from the newest committed event: what is committed and still on its way here is news.
  const head = headSeq(store);
  const live = listenLive(router, types, fits, options.waiting);
  let sent = Math.min(options.after ?? head, head);
  /** Whether the journal may hold more than was heard. */
  let behind = true;

  const fromJournal = async ({ write, signal }: Out): Promise<void> => {
    const { rows, seen, more } = journalAfter(store, sent, types, PIECE_BYTES);
    const text = rows
      .map((row) => fromStored(catalog, row))
      .filter(fits)
      .map((event) => message(JSON.stringify(onTheWire(event)), event.seq))
      .join("");
    if (text !== "") await write(text);
    if (signal.aborted) return;
    sent = seen;
    behind = more;
    if (more) await sleep(clock, 0, signal).catch(() => undefined);
  };
  const fromLive = async ({ write }: Out): Promise<void> => {
    const { heard, missed, lost } = live.take();
    let text = "";
    for (const { seq, text: data } of heard) {
      if (seq !== null && seq <= sent) continue;
      text += message(data, seq);
      if (seq !== null) sent = seq;
    }
    if (text !== "") await write(text);
    if (missed === 0) return;
    behind = true;
    if (lost > 0) await write(notice("missed", { missed: lost }));
  };
  const greet = async ({ write }: Out): Promise<void> => {
    await write(`retry: ${RETRY_MS}\n\n`);
    const { after } = options;
    if (after === undefined) return;
    const oldest = store.read<{ seq: number | null }>("SELECT min(seq) AS seq FROM events")[0]?.seq ?? head + 1;
    // The journal no longer holds all of it, or is another journal than the one that the reader knows.
    if (after + 1 < oldest || after > head) await write(notice("gap", { after, oldest, head }));
  };
  return {
    async run(out) {
      const { signal } = out;
      try {
        await greet(out);
        while (!signal.aborted) {
          if (behind) await fromJournal(out);
          else await fromLive(out);
          if (!behind && (await live.more(clock, BEAT_MS, signal))) await out.write(": beat\n\n");
        }
      } finally {
        live.stop();
      }
    },
  };
}

/** What happens from now on, as JSON lines; a reader that is too slow is told how many it missed. */
export function openTail(router: EventRouter, clock: Clock, eventTypes: readonly string[] | undefined, waiting: Share) {
  const live = listenLive(router, eventTypes, () => true, waiting);
  return {
    async run({ write, signal }: Out): Promise<void> {
      try {
        await write("\n");
        while (!signal.aborted) {
          const { heard, missed } = live.take();
          const lines = heard.map(({ text }) => `{"event":${text}}\n`);
          if (missed > 0) lines.push(`${JSON.stringify({ missed })}\n`);
          if (lines.length > 0) await write(lines.join(""));
          else if (await live.more(clock, BEAT_MS, signal)) await write("\n");
        }
      } finally {
        live.stop();
      }
    },
  };
}
