import { messageOf, OperatingError, sleep } from "../kernel/index.ts";
import {
  countDeadLetters,
  type DeadLetter,
  type DeadLetterFilter,
  type DeadLetterGroup,
  type DeadLetterStatus,
  discardDeadLetters,
  listDeadLetters,
  recoverDeadLetter,
  retryDeadLetters,
  returnableLetters,
  scanDeadLetterGroups,
  scanDeadLetters,
  sweepDeadLetters,
} from "./journal/dead-letters.ts";
import type { RouterParts } from "./parts.ts";

export interface DeadLetterAction {
  readonly filter?: DeadLetterFilter;
  /** At most so many letters; 100 unless said. */
  readonly maxEvents?: number;
  /** Who asks; kept on record. */
  readonly actor?: string;
  readonly dryRun?: boolean;
}

export interface RetryAction extends DeadLetterAction {
  /** Letters a second; unlimited unless said. */
  readonly perSecond?: number;
}

export interface DeadLetterQueueOptions extends RouterParts {
  /** Tells a consumer of this process that letters wait for it again. */
  readonly onReturned: (consumer: string, lanes: readonly string[]) => void;
  /** Listeners of this process that have a name. */
  readonly listeners: () => ReadonlySet<string>;
  /** Gives an event to a listener once more; whether it succeeded. If it did not, its letter says so by then. */
  readonly again: (listener: string, seq: number) => Promise<boolean>;
}

/**
 * Deliveries whose tries are spent. A letter belongs to one event and one consumer, goes back to that consumer alone, and
 * is never deleted unresolved: it ends recovered (the retry succeeded) or discarded (somebody said so, on record).
 */
export type DeadLetterQueue = ReturnType<typeof createDeadLetterQueue>;

export function createDeadLetterQueue(options: DeadLetterQueueOptions) {
  const { store, clock, settings, log } = options;
  /** Letters that are with their listener now. */
  const inHand = new Set<number>();
  const listening = () => ({ names: [...options.listeners()], inHand: [...inHand] });
  const giveBack = async ({ id, consumer, seq }: DeadLetter): Promise<void> => {
    inHand.add(id);
    try {
      if (await options.again(consumer, seq)) await store.commit([recoverDeadLetter({ id, at: clock.now() })]);
    } catch (thrown) {
      log.error("the dead letter of a listener stays pending", { consumer, seq, error: messageOf(thrown) });
    } finally {
      inHand.delete(id);
    }
  };
  const common = (action: DeadLetterAction, max: number) => ({
    filter: action.filter ?? {},
    max,
    actor: action.actor ?? "unknown",
    at: clock.now(),
  });
  const sendBack = async (action: DeadLetterAction, max: number): Promise<DeadLetter[]> => {
    // A letter that is sent back has one try.
    const attempts = settings.maxAttempts - 1;
    const known = listening();
    const [letters] = await store.commit([retryDeadLetters({ ...common(action, max), attempts, listening: known })]);
    for (const [consumer, own] of Map.groupBy(letters, (letter) => letter.consumer)) {
      if (known.names.includes(consumer)) for (const letter of own) void giveBack(letter);
      else
        options.onReturned(
          consumer,
          own.map(({ lane }) => lane),
        );
    }
    return letters;
  };
  const pending = (filter: DeadLetterFilter | undefined, limit: number) =>
    listDeadLetters(store, { ...filter, status: "pending" }, limit);
  return {
    getPendingEvents: (limit = 100, filter?: DeadLetterFilter): DeadLetter[] => pending(filter, limit),
    getPendingCount: () => countDeadLetters(store).pending,
    counts: (): Record<DeadLetterStatus, number> => countDeadLetters(store),
    list: (filter: DeadLetterFilter, limit = 100): Promise<readonly DeadLetter[]> =>
      scanDeadLetters(store, filter, limit),
    /** Letters with one cause together, most first. */
    getErrorSummary: (limit = 20, filter?: DeadLetterFilter): Promise<readonly DeadLetterGroup[]> =>
      scanDeadLetterGroups(store, { ...filter, status: "pending" }, limit),
    /** One letter, by its number or its event's id (then at every consumer that failed on it). */
    async retryEvent(id: number | string, action: DeadLetterAction = {}): Promise<DeadLetter[]> {
      const filter: DeadLetterFilter = typeof id === "number" ? { id } : { eventId: id };
      const found = pending(filter, 100);
      if (found.length === 0)
        throw OperatingError.notFound("DEAD_LETTER_NOT_FOUND", `no pending dead letter ${id}`, {
          hint: "'ringrift dlq --pending' lists them.",
        });
      const returnable = returnableLetters(store, filter, listening(), 100);
      if (returnable.length === 0)
        throw OperatingError.conflict("LISTENER_AWAY", `there is no listener '${found[0]!.consumer}' now`, {
          hint: "Start the program that listens under this name, or discard the letter.",
        });
      return action.dryRun ? returnable : sendBack({ ...action, filter }, 100);
    },
    async retryAll(action: RetryAction = {}): Promise<DeadLetter[]> {
      const max = action.maxEvents ?? 100;
      if (action.dryRun) return returnableLetters(store, action.filter ?? {}, listening(), max);
      if (action.perSecond === undefined) return sendBack(action, max);
      const sent: DeadLetter[] = [];
      // A letter that fails again while this goes on is not picked a second time.
      const before = Math.min(action.filter?.before ?? Number.POSITIVE_INFINITY, clock.now());
      const chosen = { ...action, filter: { ...action.filter, before } };
      while (sent.length < max) {
        const next = await sendBack(chosen, Math.min(max - sent.length, Math.max(1, Math.floor(action.perSecond))));
        if (next.length === 0) break;
        sent.push(...next);
        await sleep(clock, Math.max(1_000, (1_000 * next.length) / action.perSecond));
      }
      return sent;
    },
    async discard(action: DeadLetterAction & { filter: DeadLetterFilter }): Promise<DeadLetter[]> {
      const max = action.maxEvents ?? 100;
      if (action.dryRun) return pending(action.filter, max);
      const [letters] = await store.commit([discardDeadLetters(common(action, max))]);
      return letters;
    },
    /** Forgets what was resolved longer ago than this. Unresolved letters stay. */
    async cleanup(olderThanHours: number) {
      const [{ deleted }] = await store.commit([
        sweepDeadLetters({ resolvedBefore: clock.now() - olderThanHours * 3_600_000 }),
      ]);
      return deleted;
    },
  };
}
