import { type AnyEvent, bytesOf } from "./event.ts";

/** One event on its way to one consumer. */
export interface Delivery {
  readonly event: AnyEvent;
  readonly seq: number;
  readonly lane: string;
  /** About what it takes of the memory. */
  readonly bytes: number;
  /** Tries that failed so far. */
  readonly attempts: number;
  /** It came out of the store, where it had waited. */
  readonly loaded: boolean;
  /** Whether the store holds an exception row for it (parked, retrying). */
  hasRow: boolean;
  /** Somebody works on it. */
  taken: boolean;
  /** Its end is on its way to the disk. */
  ending: boolean;
}

/**
 * Deliveries that must keep their order. An ordered lane (one order key) runs one at a time; an unordered one (events of
 * one type that have no key) only gathers what waits in the store.
 */
export interface Lane {
  readonly id: string;
  readonly ordered: boolean;
  /** In memory, in order; the first one is running or ready to. */
  readonly queue: Delivery[];
  /** The store holds rows of this lane, which come before anything new: newcomers of an ordered lane are parked too. */
  held: boolean;
  /** When the store should be looked at again; undefined while nothing waits for time. */
  wakeAt: number | undefined;
  /** Newcomers on their way into the store. */
  parking: number;
  /** Rows of the store that are in memory now. */
  loaded: number;
}

/** One that is ready to run: fresh from the journal, or out of the store after so many tries that failed. */
export const createDelivery = (event: AnyEvent, lane: string, loaded: boolean, attempts: number): Delivery => ({
  event,
  seq: event.seq!,
  lane,
  bytes: bytesOf(event),
  attempts,
  loaded,
  hasRow: loaded,
  taken: false,
  ending: false,
});

/** Events with an order key share its lane; those without share one by type, which is only used to wait in. */
export const laneOf = (event: AnyEvent): string =>
  event.orderKey === null ? `t:${event.eventType}` : `k:${event.orderKey}`;

export const isOrdered = (lane: string): boolean => lane.startsWith("k:");

export const createLane = (id: string): Lane => ({
  id,
  ordered: isOrdered(id),
  queue: [],
  held: false,
  wakeAt: undefined,
  parking: 0,
  loaded: 0,
});
