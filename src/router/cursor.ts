import { type Breaker, backoffMs, type Timer } from "../kernel/index.ts";
import type { Emissions } from "./append-all.ts";
import { type AnyEvent, bytesOf, fromStored, viewBits } from "./event.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { ackDeliveries, buryDelivery, failDelivery, type Mark, parkDeliveries } from "./journal/deliveries.ts";
import { type EventHead, eventsAt, headsAfter } from "./journal/queries.ts";
import { createDelivery, type Delivery, isOrdered, laneOf } from "./lanes.ts";
import { createProgress, type Progress } from "./progress.ts";
import { isStoreTrouble, type Operation } from "./store.port.ts";
import { WaitingRoom, type WaitingRoomOptions } from "./waiting-room.ts";

export interface CursorOptions extends Omit<WaitingRoomOptions, "isFull" | "onDue"> {
  readonly handlerVersion: string;
  readonly lowWater: number;
  /** Whether it is owed such an event; `bits` are those of the views it is seen through. */
  readonly wants: (eventType: string, seq: number, source: string, bits: number) => boolean;
  /** Something may be ready to run. */
  readonly onReady: () => void;
  /** One or more deliveries ended (done or dead). */
  readonly onEnded: (seqs: readonly number[]) => void;
  /** The breaker of the handler of this event type; undefined when it has none. */
  readonly breakerOf: (eventType: string) => Breaker | undefined;
}

const READ_RETRY_MS = 1_000;
const PULLED_AT_ONCE = 256;
/** Pages that are read before others have their turn: one who wants little of a long journal would keep everybody waiting. */
const PAGES_A_TURN = 16;

/**
 * The position of one durable consumer in the journal, and what is on its way to it: fetches what is owed, keeps the order
 * within each key, parks what must wait, and moves the low-water mark. It runs no handler; a runner or a session takes
 * deliveries from it and says how they ended.
 */
export class Cursor {
  readonly consumer: string;
  readonly #o: CursorOptions;
  readonly #progress: Progress;
  readonly #room: WaitingRoom;
  readonly #ready: Delivery[] = [];
  /** Above the mark and already ended or waiting in the store: not to be fetched again. */
  readonly #skip: Set<number>;
  #head: number;
  #pulling = false;
  #pullAgain: Timer | undefined;
  #stopped = false;
  #persistedMark: number;
  #toPark: Delivery[] = [];
  /** Outstanding ones, by sequence number. */
  readonly #open = new Map<number, Delivery>();
  #inFlight = 0;

  constructor(options: CursorOptions) {
    this.consumer = options.consumer;
    this.#o = options;
    this.#progress = createProgress(options.lowWater);
    this.#persistedMark = options.lowWater;
    this.#head = options.lowWater;
    const above = options.store.read<{ seq: number; state: string }>(
      `SELECT seq, state FROM deliveries WHERE consumer = ? AND seq > ?
       UNION ALL SELECT seq, 'dead' FROM dead_letters WHERE consumer = ? AND seq > ? AND status <> 'retrying'`,
      this.consumer,
      options.lowWater,
      this.consumer,
      options.lowWater,
    );
    this.#skip = new Set(above.map(({ seq }) => seq));
    const done = above.filter(({ state }) => state === "done").map(({ seq }) => seq);
    this.#endProgress(done, options.lowWater, true);
    this.#room = new WaitingRoom({
      ...options,
      isFull: () => this.#ready.length > options.settings.window,
      onDue: (deliveries) => {
        this.#ready.push(...deliveries);
        options.onReady();
      },
    });
  }

  /** Begins to fetch, up to the given head of the journal. */
  start(head: number): void {
    this.#head = Math.max(this.#head, head);
    this.#room.schedule();
    this.#pull();
  }

  stop(): void {
    this.#stopped = true;
    this.#room.stop();
    this.#pullAgain?.cancel();
    this.#ready.length = 0;
  }

  get idle(): boolean {
    return this.#progress.outstanding === 0 && this.#ready.length === 0 && this.#inFlight === 0 && !this.#behind;
  }

  get lag(): number {
    return this.#head - this.#progress.markWithout(new Set());
  }

  get #behind(): boolean {
    return this.#progress.scanned < this.#head;
  }

  /** Events that were just committed, in order and without gaps, and about how many bytes they take. */
  offer(events: readonly AnyEvent[], bytes: number): void {
    if (this.#stopped) return;
    const first = events[0]!.seq!;
    const last = events.at(-1)!.seq!;
    const fits = this.#places > events.length && this.#room.freeBytes > bytes;
    this.#head = Math.max(this.#head, last);
    // What is not owed takes no room: most consumers pass by what is too much for those that want it.
    if (this.#progress.scanned === first - 1)
      for (const event of events) {
        if (!fits && this.#owes(event) && !this.#hasRoomFor(event)) break;
        this.#consider(event);
      }
    if (this.#behind) {
      this.#pull();
      return;
    }
    this.#persistParked();
    if (this.#ready.length > 0) this.#o.onReady();
  }

  /** The next delivery that may run now. */
  take(): Delivery | undefined {
    if (this.#stopped) return undefined;
    for (;;) {
      // Whoever asks is not told of what this finds: nobody would come for it.
      if (this.#ready.length === 0) this.#pull();
      const next = this.#ready.shift();
      if (next === undefined) return undefined;
      const breaker = this.#o.breakerOf(next.event.eventType);
      if (breaker === undefined || breaker.admit()) {
        this.#inFlight += 1;
        next.taken = true;
        return next;
      }
      this.#holdFor(next, breaker.waitMs());
    }
  }

  /**
   * A run of deliveries for somebody who works through them in order: what is ready, and what follows it on the same key.
   */
  takeBatch(max: number): Delivery[] {
    const batch: Delivery[] = [];
    while (batch.length < max) {
      const head = this.take();
      if (head === undefined) break;
      batch.push(head);
      const lane = this.#room.find(head.lane);
      if (lane === undefined || !lane.ordered) continue;
      for (const next of lane.queue) {
        if (next === head) continue;
        // One that somebody has is on its way out of the lane: what follows it must not overtake it.
        if (batch.length >= max || next.taken) break;
        this.#inFlight += 1;
        next.taken = true;
        batch.push(next);
      }
    }
    return batch.sort((a, b) => a.seq - b.seq);
  }

  /**
   * They succeeded: `operations` and the acks are committed together. Rejects, with nothing changed, if that fails;
   * otherwise `onCommitted` is told the operations' results before anybody learns that the deliveries have ended.
   */
  async complete(
    done: readonly Delivery[],
    operations: readonly Operation[],
    onCommitted: (results: readonly unknown[]) => void,
  ): Promise<void> {
    const seqs = new Set(done.map(({ seq }) => seq));
    const mark = this.#mark(seqs);
    for (const delivery of done) delivery.ending = true;
    const acked = done.map(({ seq, lane, hasRow }) => ({ seq, lane, hasRow }));
    const ack = ackDeliveries({ mark, done: acked, at: this.#o.clock.now() });
    let results: readonly unknown[];
    try {
      results = await this.#o.store.commit([...operations, ack]);
    } catch (thrown) {
      for (const delivery of done) delivery.ending = false;
      throw thrown;
    }
    onCommitted(results.slice(0, -1));
    this.#ended(done, mark, true);
  }

  /** Whether one more failure makes it a dead letter. */
  isLastTry(delivery: Delivery): boolean {
    return delivery.attempts + 1 >= this.#o.settings.maxAttempts;
  }

  /**
   * One failed. Another try later, or, when the tries are spent, a dead letter, in one commit with the `report` on it. Resolves
   * to how it went on.
   */
  async fail(failed: Delivery, error: string, report: () => Emissions): Promise<"retrying" | "dead"> {
    const { clock, settings, random, store, handlerVersion } = this.#o;
    const { seq, lane, event } = failed;
    const { eventId, eventType } = event;
    const attempts = failed.attempts + 1;
    const at = clock.now();
    failed.ending = true;
    if (this.isLastTry(failed)) {
      const mark = this.#mark(new Set([seq]));
      const fingerprint = fingerprintOf(error);
      const died = { mark, seq, lane, eventId, eventType, attempts, at, error, fingerprint, handlerVersion };
      const { appends, onCommitted } = report();
      onCommitted(await store.commit([buryDelivery(died), ...appends]));
      this.#ended([failed], mark, false);
      return "dead";
    }
    const backoff = { firstMs: settings.retryFirstMs, maxMs: settings.retryMostMs, jitter: 0.2 };
    await this.#setAside(failed, { attempts, nextAt: at + backoffMs(backoff, attempts, random), error });
    return "retrying";
  }

  /** Nobody finished them: they run again, and no try is spent. */
  release(given: readonly Delivery[]): void {
    this.#inFlight -= given.length;
    if (this.#stopped) return;
    for (const delivery of given) {
      delivery.taken = false;
      // On an ordered key the first runs and brings the others after it; a revoked one is in the store by now.
      if (!isOrdered(delivery.lane) || this.#room.find(delivery.lane)?.queue[0] === delivery)
        this.#ready.push(delivery);
    }
    this.#ready.sort((a, b) => a.seq - b.seq);
    if (this.#ready.length > 0) this.#o.onReady();
  }

  /** Writes the mark down when it has moved over events that this consumer does not want. */
  flushMark(): Operation | undefined {
    const mark = this.#mark(new Set());
    if (mark.lowWater <= this.#persistedMark && !mark.sweepDone) return undefined;
    return parkDeliveries({ mark, parked: [] });
  }

  markFlushed(operation: Operation): void {
    const { mark } = operation.args as { mark: Mark };
    this.#endProgress([], mark.lowWater, false);
  }

  /** Rows were put into the store from outside (a dead letter sent back): look at these lanes now. */
  wake(lanes: Iterable<string>): void {
    this.#room.wake(lanes);
  }

  get #places(): number {
    return this.#room.isFull ? 0 : this.#o.settings.window - this.#progress.outstanding;
  }

  #endProgress(seqs: Iterable<number>, lowWater: number, asDone: boolean): void {
    const ended = [...seqs];
    for (const seq of ended) this.#open.delete(seq);
    this.#progress.end(ended, lowWater, asDone);
    this.#persistedMark = Math.max(this.#persistedMark, lowWater);
  }

  #mark(without: ReadonlySet<number>): Mark {
    const lowWater = this.#progress.markWithout(without);
    return { consumer: this.consumer, lowWater, sweepDone: this.#progress.needsSweep(lowWater) };
  }

  #owes({ eventType, seq, source, views }: AnyEvent): boolean {
    return !this.#skip.has(seq!) && this.#o.wants(eventType, seq!, source, viewBits(views));
  }

  #hasRoomFor(event: AnyEvent): boolean {
    return this.#places > 0 && this.#room.freeBytes > bytesOf(event);
  }

  /** Looks at one event and takes it up if it is owed. */
  #consider(event: AnyEvent): void {
    const seq = event.seq!;
    const isOwed = this.#owes(event);
    this.#pass(seq);
    if (!isOwed) return;
    this.#progress.begin(seq);
    const delivery = createDelivery(event, laneOf(event), false, 0);
    this.#open.set(seq, delivery);
    this.#room.enter(delivery);
    if (!isOrdered(delivery.lane)) {
      this.#ready.push(delivery);
      return;
    }
    const lane = this.#room.lane(delivery.lane);
    if (lane.held) {
      lane.parking += 1;
      this.#toPark.push(delivery);
      return;
    }
    lane.queue.push(delivery);
    if (lane.queue.length === 1) this.#ready.push(delivery);
  }

  /** Reads on in the journal while there is room. */
  #pull(): void {
    if (this.#pulling || this.#stopped) return;
    this.#pulling = true;
    try {
      let page = this.#places;
      for (let pages = 0; this.#behind && this.#places > 0; pages += 1) {
        if (pages === PAGES_A_TURN) {
          this.#pullLater(0);
          break;
        }
        const { store, catalog } = this.#o;
        const heads = headsAfter(store, this.#progress.scanned, Math.min(page, PULLED_AT_ONCE));
        const { owed, upto } = this.#fitting(heads);
        // Where nothing is owed there is more to pass over than to take.
        page = owed.length === 0 ? 2 * page : this.#places;
        for (const stored of eventsAt(store, owed)) this.#consider(fromStored(catalog, stored));
        for (const { seq } of heads) if (seq <= upto) this.#pass(seq);
        if (heads.length === 0) this.#progress.scanTo(this.#head);
      }
    } catch (thrown) {
      // It may be called on the way back from a commit, which stands: the failure to read on is no failure of that.
      if (!isStoreTrouble(thrown)) throw thrown;
      this.#o.onUnread(thrown);
      this.#pullLater(READ_RETRY_MS);
    } finally {
      this.#pulling = false;
    }
    this.#persistParked();
    this.#spill();
    if (this.#ready.length > 0) this.#o.onReady();
  }

  #pullLater(ms: number): void {
    this.#pullAgain?.cancel();
    this.#pullAgain = this.#o.clock.after(ms, () => this.#pull());
  }

  /** Of what follows in the journal that which is owed and has room, at least one, and how far that is. */
  #fitting(heads: readonly EventHead[]): { owed: number[]; upto: number } {
    const places = this.#places;
    let freeBytes = this.#room.freeBytes;
    const owed: number[] = [];
    let upto = this.#progress.scanned;
    for (const { seq, event_type, source, views, bytes } of heads) {
      if (!this.#skip.has(seq) && this.#o.wants(event_type, seq, source, views)) {
        if (owed.length >= places || (owed.length > 0 && bytes > freeBytes)) break;
        owed.push(seq);
        freeBytes -= bytes;
      }
      upto = seq;
    }
    return { owed, upto };
  }

  /** It was looked at. */
  #pass(seq: number): void {
    this.#progress.scanTo(seq);
    this.#skip.delete(seq);
  }

  /** What came behind a held lane goes into the store, many with one commit. */
  #persistParked(): void {
    if (this.#toPark.length === 0) return;
    const parked = this.#toPark;
    this.#toPark = [];
    const settle = () => {
      for (const delivery of parked) {
        this.#room.leave(delivery);
        this.#room.lane(delivery.lane).parking -= 1;
      }
      for (const id of new Set(parked.map(({ lane }) => lane))) this.#room.settle(this.#room.lane(id));
      this.#room.schedule();
      this.#pull();
    };
    this.#park(parked).then(settle, () => {
      // The disk refuses: they stay outstanding in memory, and go into the store when it works again.
      this.#o.clock.after(1_000, () => {
        // By now somebody else may stand where this one stood, and have handled them.
        if (this.#stopped) return;
        this.#toPark.push(...parked);
        this.#persistParked();
      });
    });
  }

  async #park(parked: readonly Delivery[]): Promise<void> {
    const seqs = new Set(parked.map(({ seq }) => seq));
    const mark = this.#mark(seqs);
    // From here on, also for an ack that is committed right after this: it has a row to remove.
    for (const delivery of parked) delivery.hasRow = true;
    try {
      await this.#o.store.commit([parkDeliveries({ mark, parked: parked.map(({ seq, lane }) => ({ seq, lane })) })]);
    } catch (thrown) {
      for (const delivery of parked) delivery.hasRow = false;
      throw thrown;
    }
    this.#endProgress(seqs, mark.lowWater, false);
  }

  /** A slow handler holds the mark back: write its delivery down as an exception, so that the mark can pass it. */
  #spill(): void {
    if (this.#progress.doneAbove < this.#o.settings.window / 2) return;
    const slow = [...this.#open.values()].filter(({ ending, hasRow }) => !ending && !hasRow);
    if (slow.length === 0) return;
    // They have left their places to others. Refused by the disk: the next pull tries again.
    this.#park(slow).then(
      () => this.#pull(),
      () => undefined,
    );
  }

  /** Puts a delivery and all behind it on its key into the store until `nextAt`; what is before it stays at work. */
  async #setAside(head: Delivery, row: { attempts: number; nextAt: number; error: string }): Promise<void> {
    const lane = this.#room.lane(head.lane);
    const after = lane.ordered ? lane.queue.filter(({ seq, ending }) => seq > head.seq && !ending) : [];
    const inMemory = [head, ...after].filter((d) => this.#progress.has(d.seq));
    const mark = this.#mark(new Set(inMemory.map(({ seq }) => seq)));
    const aside = failDelivery({
      mark,
      seq: head.seq,
      lane: head.lane,
      attempts: row.attempts,
      nextAt: row.nextAt,
      at: this.#o.clock.now(),
      error: row.error,
      // Also those that have a row or will: whether it is on disk yet is not known here, and a second one changes nothing.
      parked: after.map(({ seq, lane: id }) => ({ seq, lane: id })),
    });
    // While the row is on its way the lane may not be taken for empty.
    lane.held = true;
    lane.parking += 1;
    try {
      await this.#o.store.commit([aside]);
    } finally {
      lane.parking -= 1;
    }
    this.#inFlight -= 1;
    this.#endProgress(
      inMemory.map(({ seq }) => seq),
      mark.lowWater,
      false,
    );
    for (const delivery of [head, ...after]) this.#room.remove(delivery);
    // Without order nobody waits for it: what else is due of a page that is through now comes at once.
    this.#room.holdUntil(lane, head.loaded && !lane.ordered ? 0 : row.nextAt);
    this.#room.schedule();
    this.#pull();
  }

  /** The breaker is open: wait for it without spending a try. */
  #holdFor(delivery: Delivery, waitMs: number): void {
    this.#inFlight += 1;
    const row = {
      attempts: delivery.attempts,
      nextAt: this.#o.clock.now() + Math.max(waitMs, 1),
      error: "waiting: the handler's breaker is open",
    };
    this.#setAside(delivery, row).catch(() => {
      this.#o.clock.after(1_000, () => this.release([delivery]));
    });
  }

  #ended(deliveries: readonly Delivery[], mark: Mark, asDone: boolean): void {
    this.#inFlight -= deliveries.length;
    this.#endProgress(
      deliveries.map(({ seq }) => seq),
      mark.lowWater,
      asDone,
    );
    for (const delivery of deliveries) {
      const wasFirst = this.#room.remove(delivery);
      const lane = this.#room.find(delivery.lane);
      if (lane === undefined) continue;
      const next = lane.queue[0];
      if (wasFirst && next !== undefined && !next.taken) this.#ready.push(next);
      this.#room.settle(lane);
    }
    this.#o.onEnded(deliveries.map(({ seq }) => seq));
    this.#room.schedule();
    this.#pull();
    if (this.#ready.length > 0) this.#o.onReady();
  }
}
