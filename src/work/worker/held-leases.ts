import { type Log, messageOf } from "../../kernel/index.ts";
import type { CurvePoint } from "../curves.ts";
import type { LeaseRef } from "../job/job.ts";
import type { Progress } from "../leases/lease.ts";
import { CURVE_LIMITS } from "../limits.ts";
import type { LiveBoard } from "../live-boards.ts";
import type { Ticket } from "./admission.ts";
import { entryId, type Spool } from "./spool.ts";
import { type Thinned, thinned } from "./thinned.ts";

/** A lease of this worker, from the claim until the queue has answered to its result. */
export interface Held {
  readonly ref: LeaseRef;
  readonly workType: string;
  readonly ending: AbortController;
  ticket: Ticket | undefined;
  /** `ending`: the work has ended, and its result is on its way to the spool. */
  phase: "claimed" | "running" | "ending" | "delivering";
  progress: Progress;
  /** What it said of itself since that was last sent. */
  points: Thinned<CurvePoint>;
  /** What its program last showed of a game. */
  board: LiveBoard | undefined;
  /** Somebody else has it, or it was cancelled: nothing of it counts any more. */
  void: "lease_lost" | "cancelled" | undefined;
}

export type HeldLeases = ReturnType<typeof createHeldLeases>;

export function createHeldLeases(spool: Pick<Spool, "hold" | "drop">, log: Log) {
  const held = new Map<string, Held>();
  let wake = Promise.withResolvers<void>();
  const changed = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  return {
    hold(ref: LeaseRef, workType: string, phase: Held["phase"], ticket?: Ticket): Held {
      const one: Held = {
        ref,
        workType,
        ending: new AbortController(),
        ticket,
        phase,
        progress: {},
        points: thinned(CURVE_LIMITS.told),
        board: undefined,
        void: undefined,
      };
      held.set(entryId(ref), one);
      return one;
    },
    letGo(ref: LeaseRef) {
      held.get(entryId(ref))?.ticket?.release();
      held.delete(entryId(ref));
      // A note that stays is only asked about once more at the next start.
      spool
        .drop(ref)
        .catch((thrown) => log.warn("the note of a lease could not be removed", { error: messageOf(thrown) }));
      changed();
    },
    has: (one: Held) => held.get(entryId(one.ref)) === one,
    all: (): Held[] => [...held.values()],
    /** Those whose work has not ended. */
    unfinished: (): Held[] => [...held.values()].filter((one) => !isDone(one)),
    /** Writes down that these are held, for the next life. */
    async note(all: readonly Held[], began: boolean) {
      const noted = all.map(({ ref, workType }) => spool.hold({ ref, work_type: workType, began }));
      await Promise.all(noted).catch((thrown) =>
        log.warn("leases are held but not noted on disk", { error: messageOf(thrown) }),
      );
    },
    /** Something has changed: whoever waits for room looks again. */
    changed,
    /** Resolves at the next change. */
    get change(): Promise<void> {
      return wake.promise;
    },
  };
}

export const isDone = ({ phase }: Held): boolean => phase === "ending" || phase === "delivering";
