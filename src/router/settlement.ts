import { OperatingError } from "../kernel/index.ts";
import { pairsOfEvent } from "./journal/queries.ts";
import type { Store } from "./store.port.ts";

/** Who waits until all consumers of an event are done with it. The journal knows; pairs that end make them ask it again. */
export class Settlement {
  readonly #store: Pick<Store, "read">;
  readonly #waiters = new Map<number, (() => void)[]>();

  constructor(store: Pick<Store, "read">) {
    this.#store = store;
  }

  async settled(seq: number, isStopped: () => boolean): Promise<void> {
    for (;;) {
      const open = pairsOfEvent(this.#store, seq).filter(
        ({ state }) => state === "owed" || state === "parked" || state === "retrying",
      );
      if (open.length === 0) return;
      if (isStopped()) throw OperatingError.unavailable("ROUTER_STOPPED", "the router has stopped");
      await new Promise<void>((resolve) => {
        const list = this.#waiters.get(seq) ?? [];
        list.push(resolve);
        this.#waiters.set(seq, list);
      });
    }
  }

  /** Pairs of these events have ended. */
  ended(seqs: readonly number[]): void {
    if (this.#waiters.size === 0) return;
    for (const seq of seqs) {
      const waiting = this.#waiters.get(seq);
      this.#waiters.delete(seq);
      for (const resolve of waiting ?? []) resolve();
    }
  }

  /** Whoever waits for an event to be settled looks again. */
  recheck(): void {
    this.ended([...this.#waiters.keys()]);
  }
}
