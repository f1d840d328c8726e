import { type Clock, OperatingError, type Timer } from "../kernel/index.ts";
import type { Lease } from "./claims/claim.ts";
import type { ClaimRequest } from "./job/claim-request.ts";
import { claimDeskLimits } from "./limits.ts";
import type { WorkQueue } from "./work-queue.ts";

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
  /** Jobs that those who wait would take at once. */
  readonly freeSlots: number;
  close(): void;
}

const busy = (what: string) => OperatingError.busy("CLAIMS_BUSY", what, { details: { retryAfterSeconds: 2 } });

/** Why a job is given back that was chosen for somebody who had hung up by then: nobody ever had it. */
export const CLAIMER_GONE = "its claimer is gone";

export function createClaimDesk(
  queue: Pick<WorkQueue, "claimAll" | "release" | "onClaimable" | "claimable">,
  clock: Clock,
  limits = claimDeskLimits,
): ClaimDesk {
  let line: Waiter[] = [];
  const waiters = new Set<Waiter>();
  let working = 0;
  let closed = false;
  /** Whoever waits is asked in turn, once for each time that something came. */
  let asking = false;
  let askAgain = false;
  let timer: Timer | undefined;
  /** Claims under way that have a name: who says the same again gets the same answer. */
  const named = new Map<string, Promise<Lease[]>>();

  const serve = async (group: readonly Waiter[]): Promise<void> => {
    try {
      const answers = await queue.claimAll(group.map(({ request }) => request));
      for (const [i, { done, failed }] of group.entries()) {
        const answer = answers[i]!;
        if (answer.ok) done(answer.value);
        else failed(answer.error);
      }
    } catch (thrown) {
      for (const { failed } of group) failed(thrown);
    }
  };
  const serveNext = () => {
    while (working < limits.atOnce && line.length > 0) {
      const group = line.slice(0, limits.maxTogether);
      line = line.slice(limits.maxTogether);
      working += 1;
      void serve(group).then(() => {
        working -= 1;
        serveNext();
      });
    }
  };
  const take = (request: ClaimRequest): Promise<Lease[]> =>
    new Promise((resolve, reject) => {
      if (line.length >= limits.maxInLine) return reject(busy(`${line.length} claims stand in line`));
      line.push({ request, done: resolve, failed: reject });
      serveNext();
    });

  const askOne = async (waiter: Waiter): Promise<void> => {
    try {
      const leases = await take(waiter.request);
      if (waiters.has(waiter) && leases.length > 0) waiter.done(leases);
      else await Promise.all(leases.map((lease) => queue.release(lease, CLAIMER_GONE)));
    } catch (thrown) {
      waiter.failed(thrown);
    }
  };
  /** As many at once as there are jobs: nobody who stands behind is asked for what those before it get. */
  const askInTurn = async (): Promise<void> => {
    const inTurn = [...waiters];
    while (inTurn.length > 0) {
      const jobs = queue.claimable(limits.maxTogether);
      if (jobs === 0) return;
      // Who gave up meanwhile is not asked.
      await Promise.all(inTurn.splice(0, jobs).map((waiter) => (waiters.has(waiter) ? askOne(waiter) : undefined)));
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
      await askInTurn();
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

  const claim: ClaimDesk["claim"] = async (request, waitMs, signal) => {
    const leases = await take(request);
    if (leases.length > 0 || waitMs <= 0 || signal.aborted || closed) return leases;
    if (waiters.size >= limits.maxWaiting) throw busy(`${waiters.size} claims wait for work`);
    return wait({ ...request, asked_at: clock.now() }, waitMs, signal);
  };

  return {
    claim(request, waitMs, signal) {
      if (request.claim_id === undefined) return claim(request, waitMs, signal);
      const key = JSON.stringify([request.node_id, request.claim_id]);
      const before = named.get(key);
      if (before !== undefined) return before;
      const answer = claim(request, waitMs, signal).finally(() => named.delete(key));
      named.set(key, answer);
      return answer;
    },
    get waiting() {
      return waiters.size;
    },
    get freeSlots() {
      let slots = 0;
      for (const { request } of waiters) slots += request.most;
      return slots;
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
