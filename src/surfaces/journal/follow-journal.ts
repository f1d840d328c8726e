import { fromCloudEvent } from "../../events/index.ts";
import { type Clock, isOperatingError, sleep } from "../../kernel/index.ts";
import type { AnyEvent } from "../../router/index.ts";
import type { Followed, FollowOptions } from "../cli/journal-view.port.ts";
import { callTo } from "../client/call.ts";
import { type Channel, openChannel } from "../client/channel.ts";
import { requireEndpoint } from "../client/endpoint.ts";
import { listEvents, tailEvents } from "../events/wire.ts";
import { addressOf } from "../http/wire.ts";

const RECONNECT_MS = 500;
const MAX_CAUGHT_UP = 10_000;
/** Publishers' clocks may differ by this much from the order of the journal. */
const SLACK_SECONDS = 300;

/** Where the reader stands: what lies up to there is not shown (again). */
interface Place {
  /** Unknown until the first connection. */
  seq: number | undefined;
  /** What the journal has to be asked from; undefined while the stream is enough. */
  sinceSeconds: number | undefined;
}

/**
 * Streams events of a running process. The stream itself owes nothing, so after a cut the journal is asked for what came
 * meanwhile: durable events have no gap as long as the journal holds them.
 */
export async function* followJournal(
  options: FollowOptions & { readonly dataDir: string; readonly clock: Clock },
): AsyncGenerator<Followed> {
  const { signal, clock } = options;
  const place: Place = {
    seq: options.sinceSeconds === undefined ? undefined : 0,
    sinceSeconds: options.sinceSeconds,
  };
  for (let state: "new" | "open" | "lost" = "new"; !signal.aborted; ) {
    let channel: Channel | undefined;
    try {
      channel = openChannel({ socketPath: requireEndpoint(options.dataDir).socket_path });
      for await (const followed of oneConnection(channel, options, place)) {
        if (state !== "open") yield { connection: state === "new" ? "open" : "back" };
        state = "open";
        if (followed !== undefined) yield followed;
      }
    } catch (thrown) {
      if (state === "new" || !(isOperatingError(thrown) && thrown.retryable)) throw thrown;
    } finally {
      channel?.close();
    }
    if (signal.aborted) return;
    if (state !== "lost") {
      place.sinceSeconds = Math.max(place.sinceSeconds ?? 0, clock.now() / 1_000 - SLACK_SECONDS);
      yield { connection: "lost" };
    }
    state = "lost";
    // Cut short by the signal, the wait ends the loop by itself.
    await sleep(clock, RECONNECT_MS, signal).catch(() => undefined);
  }
}

/** Yields undefined once it is connected, then what it hears. */
async function* oneConnection(
  channel: Channel,
  { eventTypes, signal }: FollowOptions,
  place: Place,
): AsyncGenerator<Followed | undefined> {
  place.seq ??= await head(channel);
  for await (const line of channel.lines(addressOf(tailEvents, { query: { event_type: eventTypes } }), signal)) {
    if (line === "") {
      // From here on the stream misses nothing; what lies before it comes from the journal.
      yield undefined;
      yield* await caughtUp(channel, eventTypes, place);
      continue;
    }
    const { event: json, missed } = JSON.parse(line) as { event?: unknown; missed?: number };
    if (json === undefined) yield { missed: missed ?? 0 };
    else yield* shown([fromCloudEvent(json) as AnyEvent], place);
  }
}

async function head(channel: Channel): Promise<number> {
  const { events } = await callTo(channel, listEvents, { query: { limit: 1 } });
  return events.length === 0 ? 0 : (fromCloudEvent(events[0]).seq ?? 0);
}

async function caughtUp(channel: Channel, eventTypes: readonly string[], place: Place): Promise<Followed[]> {
  if (place.sinceSeconds === undefined) return [];
  const found: AnyEvent[] = [];
  for (const type of eventTypes.length === 0 ? [undefined] : eventTypes) {
    const query = { event_type: type, since: place.sinceSeconds, limit: MAX_CAUGHT_UP };
    const { events } = await callTo(channel, listEvents, { query });
    found.push(...events.map((json) => fromCloudEvent(json) as AnyEvent));
  }
  return [
    ...shown(
      found.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0)),
      place,
    ),
  ];
}

function* shown(events: readonly AnyEvent[], place: Place): Generator<Followed> {
  for (const event of events) {
    if (event.seq !== null && event.seq <= (place.seq ?? 0)) continue;
    place.seq = event.seq ?? place.seq;
    yield { event };
  }
}
