import { type Clock, OperatingError, type Timer } from "../kernel/index.ts";
import type { ClaimRequest, Lease } from "./claim.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ClaimDeskLimits {
  /** Claims that are worked on at once; the next ones stand in line. */
  readonly atOnce: number;
  /** Claims in line, and those that wait for work: more are told to come back. */
  readonly mostInLine: number;
  readonly mostWaiting: number;
  /** Jobs whose time comes say nothing: those who wait look again after so long. */
  readonly lookAgainMs: number;
}

const claimDeskDefaults: ClaimDeskLimits = {
  atOnce: 16,
  mostInLine: 4_096,
  mostWaiting: 20_000,
  lookAgainMs: 1_000,
};

export interface ClaimDeskPorts {
  readonly queue: Pick<WorkQueue, "claim" | "release" | "onClaimable" | "hasClaimable">;
  readonly clock: Clock;
  readonly limits?: Partial<ClaimDeskLimits>;
}

interface Waiter {
  readonly request: ClaimRequest;
  readonly done: (leases: Lease[]) => void;
  readonly failed: (thrown: unknown) => void;
}

/** Where claims stand in line, so that however many ask, few are worked on at once and other requests pass by. */
export interface ClaimDesk {
  /** Leases, at once if there is work; else as soon as there is some, and none after `waitMs` or when the caller is gone. */
  claim(request: ClaimRequest, waitMs: number, signal: AbortSignal): Promise<Lease[]>;
  readonly waiting: number;
  readonly inLine: number;
  close(): void;
}

const busy = (what: string) =>
  new OperatingError("CLAIMS_BUSY", what, { retryable: true, details: { retryAfterSeconds: 2 } });

export function createClaimDesk({ queue, clock, limits: given = {} }: ClaimDeskPorts): ClaimDesk {
  const limits = { ...claimDeskDefaults, ...given };
  const line: (() => void)[] = [];
  const waiters = new Set<Waiter>();
  let working = 0;
  let closed = false;
  /** Whoever waits is asked in turn, once for each time that something came. */
  let asking = false;
  let askAgain = false;
  let timer: Timer | undefined;

  const enter = async (): Promise<void> => {
    if (working < limits.atOnce) {
      working += 1;
      return;
    }
    if (line.length >= limits.mostInLine) throw busy(`${line.length} claims stand in line`);
    await new Promise<void>((resolve) => line.push(resolve));
  };
  const leave = () => {
    const next = line.shift();
    if (next === undefined) working -= 1;
    else next();
  };
  const take = async (request: ClaimRequest): Promise<Lease[]> => {
    await enter();
    try {
      return await queue.claim(request);
    } finally {
      leave();
    }
  };

  const askAll = async (): Promise<void> => {
    if (asking) {
      askAgain = true;
      return;
    }
    asking = true;
    do {
      askAgain = false;
      for (const waiter of [...waiters]) {
        // It gave up meanwhile, or there is nothing left for those behind.
        if (!waiters.has(waiter)) continue;
        if (!queue.hasClaimable()) break;
        try {
          const leases = await take(waiter.request);
          if (waiters.has(waiter) && leases.length > 0) waiter.done(leases);
          else await Promise.all(leases.map((lease) => queue.release(lease, "its claimer is gone")));
        } catch (thrown) {
          waiter.failed(thrown);
        }
      }
    } while (askAgain && !closed);
    asking = false;
  };
  const lookLater = () => {
    if (timer !== undefined || waiters.size === 0 || closed) return;
    timer = clock.after(limits.lookAgainMs, () => {
      timer = undefined;
      void askAll().then(lookLater);
    });
  };
  const stopListening = queue.onClaimable(() => {
    if (waiters.size > 0) void askAll();
  });

  const wait = (request: ClaimRequest, waitMs: number, signal: AbortSignal): Promise<Lease[]> =>
    new Promise((resolve, reject) => {
      const end = () => {
        waiters.delete(waiter);
        late.cancel();
        signal.removeEventListener("abort", giveUp);
      };
      const waiter: Waiter = {
        request,
        done(leases) {
          end();
          resolve(leases);
        },
        failed(thrown) {
          end();
          reject(thrown);
        },
      };
      const giveUp = () => waiter.done([]);
      const late = clock.after(waitMs, giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      waiters.add(waiter);
      lookLater();
    });

  return {
    async claim(request, waitMs, signal) {
      const leases = await take(request);
      if (leases.length > 0 || waitMs <= 0 || signal.aborted || closed) return leases;
      if (waiters.size >= limits.mostWaiting) throw busy(`${waiters.size} claims wait for work`);
      return wait(request, waitMs, signal);
    },
    get waiting() {
      return waiters.size;
    },
    get inLine() {
      return line.length;
    },
    close() {
      closed = true;
      stopListening();
      timer?.cancel();
      for (const waiter of [...waiters]) waiter.done([]);
    },
  };
}
