import type { OperatingError, Timer } from "../kernel/index.ts";
import { fromStored } from "./event.ts";
import { type DueDelivery, laneDeliveries, waitingLanes } from "./journal/queries.ts";
import { createDelivery, createLane, type Delivery, type Lane } from "./lanes.ts";
import { CONSUMER_BYTES, CONSUMERS_BYTES } from "./limits.ts";
import type { RouterParts } from "./parts.ts";
import { isStoreTrouble } from "./store.port.ts";

export interface WaitingRoomOptions extends RouterParts {
  readonly consumer: string;
  /** What is in memory for all consumers together. */
  readonly memory: { bytes: number };
  /** The store could not be read; it is tried again. */
  readonly onUnread: (error: OperatingError) => void;
  /** Enough is in memory already: what is due waits a little longer. */
  readonly isFull: () => boolean;
  /** These may run now. */
  readonly onDue: (deliveries: readonly Delivery[]) => void;
}

const PAGE = 64;
const FULL_WAIT_MS = 50;
const LIVE_WAIT_MS = 1_000;
const READ_RETRY_MS = 1_000;

/**
 * The lanes of one consumer, and what waits in the store for its time: it comes back into memory when it is due, in order
 * on an ordered lane, and never while it is in memory already.
 */
export class WaitingRoom {
  readonly #o: WaitingRoomOptions;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that wait for a time. */
  readonly #waiting = new Set<Lane>();
  /** Ready or being worked on: their rows in the store, if any, must not be loaded a second time. */
  readonly #live = new Set<number>();
  #bytes = 0;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(options: WaitingRoomOptions) {
    this.#o = options;
    for (const { lane: id, next_at } of waitingLanes(options.store, options.consumer)) {
      const lane = this.lane(id);
      lane.held = true;
      this.#wakeAt(lane, next_at);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#live.clear();
    this.#grow(-this.#bytes);
  }

  /** How many bytes more may come into memory; one event may in any case while there is none. */
  get freeBytes(): number {
    return Math.min(CONSUMER_BYTES - this.#bytes, CONSUMERS_BYTES - this.#o.memory.bytes);
  }

  /** What is in memory must end first. */
  get isFull(): boolean {
    return this.freeBytes <= 0 && this.#live.size > 0;
  }

  /** The lane of this name, which begins to exist if it must. */
  lane(id: string): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = createLane(id);
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  find(id: string): Lane | undefined {
    return this.#lanes.get(id);
  }

  /** It is in memory, ready or being worked on. */
  enter({ seq, bytes }: Delivery): void {
    if (this.#live.has(seq) || this.#stopped) return;
    this.#live.add(seq);
    this.#grow(bytes);
  }

  /** It is in memory no more. */
  leave({ seq, bytes }: Delivery): void {
    if (this.#live.delete(seq)) this.#grow(-bytes);
  }

  /** It is over or waits in the store: out of memory, and out of its lane. Says whether it was the first there. */
  remove(delivery: Delivery): boolean {
    this.leave(delivery);
    const lane = this.#lanes.get(delivery.lane);
    if (lane === undefined) return false;
    if (delivery.loaded) lane.loaded -= 1;
    const at = lane.queue.indexOf(delivery);
    if (at >= 0) lane.queue.splice(at, 1);
    return at === 0;
  }

  /** The lane's rows wait in the store, the first of them until `at`. */
  holdUntil(lane: Lane, at: number): void {
    lane.held = true;
    this.#wakeAt(lane, Math.min(lane.wakeAt ?? Number.POSITIVE_INFINITY, at));
  }

  /** Rows were put into the store from outside (a dead letter sent back): look at these lanes now. */
  wake(ids: Iterable<string>): void {
    for (const id of ids) {
      const lane = this.lane(id);
      lane.held = true;
      if (lane.queue.length === 0) this.#wakeAt(lane, 0);
    }
    this.schedule();
  }

  /** If nothing of this lane is in memory any more: look into the store, or forget the lane. */
  settle(lane: Lane): void {
    if (lane.queue.length > 0 || lane.parking > 0 || lane.loaded > 0) return;
    if (lane.held) this.#wakeAt(lane, lane.wakeAt ?? 0);
    else this.#lanes.delete(lane.id);
  }

  /** Sets the one timer to the earliest time that some lane waits for. */
  schedule(): void {
    if (this.#stopped) return;
    let soonest = Number.POSITIVE_INFINITY;
    for (const { wakeAt } of this.#waiting) if (wakeAt !== undefined && wakeAt < soonest) soonest = wakeAt;
    if (soonest >= this.#timerAt && this.#timer !== undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = soonest;
    if (soonest === Number.POSITIVE_INFINITY) return;
    this.#timer = this.#o.clock.after(Math.max(0, soonest - this.#o.clock.now()), () => {
      this.#timer = undefined;
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#loadDue();
    });
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.#o.memory.bytes += bytes;
  }

  #wakeAt(lane: Lane, at: number): void {
    lane.wakeAt = at;
    this.#waiting.add(lane);
  }

  #loadDue(): void {
    if (this.#stopped) return;
    const now = this.#o.clock.now();
    for (const lane of [...this.#waiting]) {
      if (lane.wakeAt === undefined || lane.wakeAt > now) continue;
      if (this.isFull || this.#o.isFull()) {
        this.#wakeAt(lane, now + FULL_WAIT_MS);
        continue;
      }
      lane.wakeAt = undefined;
      this.#waiting.delete(lane);
      try {
        if (lane.ordered) this.#loadOrdered(lane, now);
        else this.#loadUnordered(lane, now);
      } catch (thrown) {
        if (!isStoreTrouble(thrown)) throw thrown;
        this.#o.onUnread(thrown);
        this.#wakeAt(lane, now + READ_RETRY_MS);
      }
    }
    this.schedule();
  }

  #loadOrdered(lane: Lane, now: number): void {
    if (lane.queue.length > 0 || lane.parking > 0) return;
    const rows = laneDeliveries(this.#o.store, this.#o.consumer, lane.id, PAGE);
    const first = rows[0];
    if (first === undefined) {
      lane.held = false;
      this.settle(lane);
    } else if (first.next_at > now) this.#wakeAt(lane, first.next_at);
    else {
      const firstLater = rows.findIndex(({ next_at }) => next_at > now);
      lane.queue.push(...this.#load(lane, firstLater === -1 ? rows : rows.slice(0, firstLater)));
      this.#o.onDue(lane.queue.slice(0, 1));
    }
  }

  #loadUnordered(lane: Lane, now: number): void {
    if (lane.loaded > 0 || lane.parking > 0) return;
    const due = laneDeliveries(this.#o.store, this.#o.consumer, lane.id, PAGE, now);
    const rows = due.filter(({ seq }) => !this.#live.has(seq));
    if (rows.length > 0) this.#o.onDue(this.#load(lane, rows));
    else if (due.length > 0) this.#wakeAt(lane, now + LIVE_WAIT_MS);
    else this.#wakeLater(lane);
  }

  /** Nothing is due: wait for the next time, or, when nothing is left, let the lane go. */
  #wakeLater(lane: Lane): void {
    const left = waitingLanes(this.#o.store, this.#o.consumer).find(({ lane: id }) => id === lane.id);
    if (left !== undefined) {
      this.#wakeAt(lane, left.next_at);
      return;
    }
    lane.held = false;
    this.settle(lane);
  }

  #load(lane: Lane, rows: readonly DueDelivery[]): Delivery[] {
    lane.loaded = rows.length;
    return rows.map((row) => {
      const delivery = createDelivery(fromStored(this.#o.catalog, row), lane.id, true, row.attempts);
      this.enter(delivery);
      return delivery;
    });
  }
}
