import { didYouMean, OperatingError } from "../kernel/index.ts";
import type { Consumers } from "./consumers.ts";
import { type Replayable, type ReplaySelection, replayDeliveries, scanReplayable } from "./journal/replay.ts";
import type { Store } from "./store.port.ts";

/** What is delivered to a consumer once more, or would be. */
export interface Replayed {
  readonly events: readonly Replayable[];
  /** There are more than were asked for. */
  readonly hasMore: boolean;
  /** Somebody consumes under the name now; otherwise they wait for it. */
  readonly isConnected: boolean;
}

/** Delivers events that a consumer has behind it once more; names are canonical. A dry run changes nothing. */
export async function replayTo(
  store: Store,
  consumers: Consumers,
  selection: ReplaySelection & { readonly dryRun?: boolean },
): Promise<Replayed> {
  const { consumer, max, dryRun = false } = selection;
  assertKnown(store, consumer);
  // Marks that moved without an ack are written down first: what is below them has been had.
  await consumers.flushMarks();
  const found = await scanReplayable(store, selection);
  const events = found.slice(0, max);
  if (!dryRun && events.length > 0) {
    const [{ lanes }] = await store.commit([replayDeliveries({ consumer, seqs: events.map(({ seq }) => seq) })]);
    consumers.wake(consumer, lanes);
  }
  return { events, hasMore: found.length > max, isConnected: consumers.has(consumer) };
}

function assertKnown(store: Store, consumer: string): void {
  const known = store.read<{ consumer: string }>("SELECT consumer FROM consumers WHERE expired_at IS NULL");
  if (known.some((row) => row.consumer === consumer)) return;
  throw OperatingError.notFound(
    "CONSUMER_NOT_FOUND",
    `there is no consumer '${consumer.slice(0, 200)}'.${didYouMean(
      consumer,
      known.map((row) => row.consumer),
    )}`,
    {
      hint: "Only durable consumers can be named here; 'ringrift events show <name>' tells who hears an event.",
    },
  );
}
