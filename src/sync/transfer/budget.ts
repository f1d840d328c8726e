import type { Clock, Timer } from "../../kernel/index.ts";
import { TRANSFER_PRIORITIES, type TransferPriority } from "../transport.port.ts";

/** Bytes that all transfers of a node may move together. */
export interface Budget {
  /** Resolves when so many bytes may go. */
  spend(bytes: number, priority: TransferPriority, signal?: AbortSignal): Promise<void>;
}

/** What each gets of a line that is too narrow for all: the urgent ones more, and nobody nothing. */
const SHARES: Readonly<Record<TransferPriority, number>> = { low: 1, normal: 4, high: 8, critical: 16 };

/** What may go at once after a pause, in seconds of the rate. */
const BURST_SECONDS = 0.25;

interface Waiting {
  readonly bytes: number;
  /** Its turn comes by this: what its line has had by then, for its share. */
  readonly start: number;
  readonly admit: () => void;
}

/**
 * A token bucket. Those who wait stand in one line for each priority, and the line that has had the least for its share is
 * next (start-time fair queueing): who was away has no claim on what it did not use, and who comes again at once keeps its own. A spender may take more than there is; who comes after waits until the debt is paid, so that a byte more or less of
 * a chunk never matters.
 */
export function createBudget({
  bytesPerSecond,
  clock,
}: {
  readonly bytesPerSecond: number;
  readonly clock: Clock;
}): Budget {
  if (!Number.isFinite(bytesPerSecond)) return { spend: async (_bytes, _priority, signal) => signal?.throwIfAborted() };
  const perMs = bytesPerSecond / 1_000;
  const burst = bytesPerSecond * BURST_SECONDS;
  const lines = new Map(
    TRANSFER_PRIORITIES.map((priority) => [priority, { end: 0, share: SHARES[priority], waiting: [] as Waiting[] }]),
  );
  let left = burst;
  let filledAt = clock.monotonic();
  let timer: Timer | undefined;
  /** The turn that was served last. */
  let turn = 0;

  const startOf = (line: { readonly waiting: readonly Waiting[] }) =>
    line.waiting[0]?.start ?? Number.POSITIVE_INFINITY;
  const next = () => {
    const best = [...lines.values()].reduce((first, line) => (startOf(line) < startOf(first) ? line : first));
    return best.waiting.length === 0 ? undefined : best;
  };
  const fill = () => {
    const now = clock.monotonic();
    left = Math.min(burst, left + (now - filledAt) * perMs);
    filledAt = now;
  };
  const serve = () => {
    fill();
    for (let line = next(); line !== undefined && left > 0; line = next()) {
      const { bytes, start, admit } = line.waiting.shift()!;
      left -= bytes;
      turn = start;
      admit();
    }
    if (next() === undefined || timer !== undefined) return;
    timer = clock.after(Math.max(1, -left / perMs), () => {
      timer = undefined;
      serve();
    });
  };
  return {
    spend: (bytes, priority, signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const line = lines.get(priority)!;
        const start = Math.max(turn, line.end);
        line.end = start + bytes / line.share;
        const leave = () => {
          line.waiting.splice(line.waiting.indexOf(one), 1);
          reject(signal?.reason);
        };
        const one: Waiting = {
          bytes,
          start,
          admit() {
            signal?.removeEventListener("abort", leave);
            resolve();
          },
        };
        line.waiting.push(one);
        signal?.addEventListener("abort", leave, { once: true });
        serve();
      }),
  };
}
