import { backoffMs, messageOf, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import type { Lease } from "../claims/claim.ts";
import type { WorkerOptions } from "./worker-options.ts";

export interface ClaimLoopParts {
  /** Whether there is room for more. */
  readonly mayClaim: () => boolean;
  /** Resolves when that may have changed. */
  readonly changed: () => Promise<void>;
  readonly take: (leases: readonly Lease[], isBegun: boolean) => void;
  readonly signal: AbortSignal;
}

/** Asks for work while there is room for it, until the signal aborts. */
export async function runClaimLoop(
  { queue, executor, admission, clock, random, log, timing }: WorkerOptions,
  { mayClaim, changed, take, signal }: ClaimLoopParts,
): Promise<void> {
  const pause = (ms: number) => sleep(clock, ms, signal).catch(() => undefined);
  /** Of the claim that has no answer yet. */
  let claimId: string | undefined;

  /** Claims once; resolves when it is time for the next one. */
  const claim = async (): Promise<void> => {
    // Taken before the question: what ends while the answer is on its way counts.
    const change = changed();
    const { slots, offer } = admission.free();
    const askedMs = clock.monotonic();
    claimId ??= `${random.bits().toString(16)}-${random.bits().toString(16)}`;
    const ask = { claimId, most: slots, offer, kinds: executor.kinds, waitSeconds: timing.waitSeconds };
    const { leases, began, retryAfterMs } = await queue.claim(ask, signal);
    claimId = undefined;
    take(leases, began);
    if (leases.length > 0) return;
    // Not all at once: who asks together now would ask together for ever. A claim that was kept open is a pause already.
    const spread = 0.5 + random.next();
    // A node that may hold few gets the next job when one of them has ended: short ones would wait longer than they take.
    if (retryAfterMs !== undefined) await Promise.race([change, pause(retryAfterMs * spread)]);
    else await pause(Math.max(0, timing.idleMs * spread - (clock.monotonic() - askedMs)));
  };

  /** The answer that was given up may have held leases: they are taken all the same, and given back by whoever stops. */
  const askForTheRest = async (): Promise<void> => {
    if (claimId === undefined) return;
    const { slots, offer } = admission.free();
    // Of no kind: what it has got, and nothing new.
    const ask = { claimId, most: Math.max(1, slots), offer, kinds: [], waitSeconds: 0 };
    const late = new AbortController();
    const timer = clock.after(timing.flushMs, () => late.abort(new Error("nobody answered")), "hold");
    try {
      const { leases, began } = await queue.claim(ask, late.signal);
      take(leases, began);
    } catch (thrown) {
      log.debug("the answer to an open claim is unknown", { error: messageOf(thrown) });
    } finally {
      timer.cancel();
    }
  };

  let tries = 0;
  while (!signal.aborted) {
    if (!mayClaim()) {
      // A disk that is emptied tells nobody: look again now and then.
      await Promise.race([changed(), pause(timing.idleMs)]);
      continue;
    }
    try {
      await claim();
      if (tries >= 3) log.info("the queue answers again");
      tries = 0;
    } catch (thrown) {
      if (signal.aborted) break;
      tries += 1;
      if (tries === 3) log.warn("the queue cannot be asked for work", { error: messageOf(thrown) });
      await pause(backoffMs(PEER_BACKOFF, tries, random));
    }
  }
  await askForTheRest();
}
