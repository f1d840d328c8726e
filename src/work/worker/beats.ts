import { messageOf, type Timer } from "../../kernel/index.ts";
import { type Held, type HeldLeases, isDone } from "./held-leases.ts";
import type { Refusal, StopReason } from "./ports.ts";
import type { WorkerOptions } from "./worker-options.ts";

export type Beats = ReturnType<typeof createBeats>;

/** A lease is beaten so often within the time that the queue waits for it. */
const BEATS_IN_SILENCE = 4;

/** Signs of life for all that is held, on a timer of their own; what shall stop comes back with the answers. */
export function createBeats(
  { queue, clock, log, timing }: Pick<WorkerOptions, "queue" | "clock" | "log" | "timing">,
  leases: HeldLeases,
  /** Somebody looks at boards. */
  onWatched: () => void = () => {},
) {
  let timer: Timer | undefined;
  let stopped = false;
  let beating = false;
  let silenceMs = Number.POSITIVE_INFINITY;

  const everyMs = () => Math.min(timing.beatMs, Math.max(timing.beatMs / 20, silenceMs / BEATS_IN_SILENCE));
  const arm = (): void => {
    if (stopped || timer !== undefined) return;
    timer = clock.after(everyMs(), () => {
      timer = undefined;
      arm();
      void beat();
    });
  };

  const refused = (one: Held, { code, message }: Refusal): void => {
    // Its work is done; the result may have been taken already, with the answer lost. The queue's answer to it decides.
    if (isDone(one) || one.void !== undefined) return;
    one.void = code === "JOB_CANCELLED" ? "cancelled" : "lease_lost";
    const { work_id, fence } = one.ref;
    log.warn("the lease is lost; its job is stopped", { work_id, fence, code, message });
    one.ending.abort("lease_lost" satisfies StopReason);
  };

  const beat = async (): Promise<void> => {
    // One at a time: a network that hangs must not fill up with beats.
    if (beating) return;
    const all = leases.all().filter((one) => one.void === undefined);
    if (all.length === 0) return;
    beating = true;
    try {
      const answers = await queue.beat(all.map(({ ref, progress }) => ({ ref, progress })));
      if (answers.some((answer) => answer.ok && answer.value.watched)) onWatched();
      for (const [i, one] of all.entries()) {
        const answer = answers[i];
        if (answer === undefined) continue;
        if (!answer.ok) refused(one, answer.error);
        else if (answer.value.stop !== null && !isDone(one)) {
          const { kind, reason } = answer.value.stop;
          if (one.void !== undefined || one.ending.signal.aborted) continue;
          log.info("a job is told to stop", { work_id: one.ref.work_id, kind, reason });
          if (kind === "cancelled") one.void = "cancelled";
          one.ending.abort(kind satisfies StopReason);
        }
      }
    } catch (thrown) {
      log.debug("a heartbeat could not be sent", { leases: all.length, error: messageOf(thrown) });
    } finally {
      beating = false;
    }
  };

  return {
    /** Begins, if it has not. */
    arm,
    /** A lease is lost after so long without a beat: they come often enough for it. */
    keep(leftMs: number) {
      if (leftMs > 0) silenceMs = Math.min(silenceMs, leftMs);
    },
    /** The queue says that a lease is not ours any more: its job is stopped. */
    refused,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
