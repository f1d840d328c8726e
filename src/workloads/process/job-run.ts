/** One job on one child, from the message that asks for it to its outcome. */
import { defined, type Timer } from "../../kernel/index.ts";
import type { WorkloadLimits } from "./declaration.ts";
import {
  type ChildExit,
  describeExit,
  type Ending,
  endingOfCancel,
  endingOfExit,
  type Fault,
  failed,
  fault,
  type JobOutcome,
  type VerifiedArtifact,
} from "./outcome.ts";
import type { ChildEdges, Program } from "./program.ts";
import {
  type ArtifactMessage,
  CANCEL_REASONS,
  type CancelReason,
  type DoneMessage,
  type JobMessage,
  type PairsMessage,
  type ProgramMessage,
  type ProgressMessage,
} from "./protocol.ts";
import { verifyArtifact } from "./untrusted-files.ts";

export type JobRequest = Omit<JobMessage, "type">;

/** What is told of a job while it runs. */
export interface JobHooks {
  readonly progress?: (message: ProgressMessage) => void;
  /** After it has been checked. */
  readonly artifact?: (artifact: VerifiedArtifact) => void;
  readonly pairs?: (message: PairsMessage) => void;
  /** Cancels the job; its `reason` is one of `CANCEL_REASONS`, or else counts as `cancelled`. */
  readonly signal?: AbortSignal;
}

export const UNREAD_MS = 100;
/** A deadline may be further away than a timer can reach: look again at least this often. */
const MAX_TIMER_MS = 3_600_000;

/** Why a signal was aborted, in the words of the protocol. */
export const cancelReasonOf = (signal: AbortSignal | undefined): CancelReason =>
  CANCEL_REASONS.find((reason) => reason === signal?.reason) ?? "cancelled";

const endingOfDone = ({ status, error }: DoneMessage, cancelled: CancelReason | undefined): Ending => {
  if (status === "ok") return { status: "completed", reason: "done" };
  if (status === "preempted")
    return cancelled === undefined
      ? { status: "preempted", reason: "the program gave the job back" }
      : endingOfCancel(cancelled, "the program stopped in time");
  const { code = "unknown", message = "the program gave no reason", retryable = false } = error ?? {};
  if (cancelled !== undefined) return endingOfCancel(cancelled, `the program answered with an error: ${message}`);
  return failed(fault(code === "resource" ? "resource" : retryable ? "retryable" : "bad_input", code, message));
};

/** Sends the job and sees it through. The child is usable afterwards unless it broke a rule or ended. */
export function startJob(
  program: Program,
  job: JobRequest,
  hooks: JobHooks,
  { clock, hasher }: ChildEdges,
  limits: WorkloadLimits,
) {
  const { promise: outcome, resolve } = Promise.withResolvers<JobOutcome>();
  const artifacts: VerifiedArtifact[] = [];
  const announced = new Set<string>();
  let bytes = 0;
  let messages = 0;
  let checking: Promise<void> = Promise.resolve();
  let done: DoneMessage | undefined;
  let broken: Fault | undefined;
  let cancelled: CancelReason | undefined;
  let heardMs = clock.monotonic();
  let settled = false;
  const timers = new Set<Timer>();

  const after = (delayMs: number, run: () => void): void => {
    const timer = clock.after(delayMs, () => {
      timers.delete(timer);
      if (!settled) run();
    });
    timers.add(timer);
  };

  const settle = (ending: Ending, exit?: ChildExit): void => {
    if (settled) return;
    settled = true;
    for (const timer of timers) timer.cancel();
    hooks.signal?.removeEventListener("abort", onAbort);
    resolve({
      job_id: job.job_id,
      ...ending,
      artifacts,
      metrics: done?.metrics ?? {},
      messages,
      stderr_tail: program.stderr.tail(),
      ...defined({ exit }),
    });
  };

  /** Grace, then SIGTERM to the group, then SIGKILL to all. */
  const press = (graceMs: number): void =>
    after(graceMs, () => {
      program.terminate();
      after(limits.term_seconds * 1_000, () => program.kill());
    });

  const cancel = (reason: CancelReason) => {
    if (settled || done !== undefined || cancelled !== undefined || broken !== undefined) return;
    cancelled = reason;
    program.send({ type: "cancel", job_id: job.job_id, reason, grace_seconds: limits.grace_seconds });
    press(limits.grace_seconds * 1_000);
  };
  const onAbort = (): void => cancel(cancelReasonOf(hooks.signal));

  /** By the clock that nobody sets. */
  const watchDeadline = (atMs: number) => {
    const leftMs = atMs - clock.monotonic();
    if (leftMs <= 0) cancel("deadline");
    else after(Math.min(leftMs, MAX_TIMER_MS), () => watchDeadline(atMs));
  };

  const watchSilence = (confirmed = false) => {
    const leftMs = heardMs + limits.silence_seconds * 1_000 - clock.monotonic();
    if (leftMs > 0) return after(leftMs, () => watchSilence());
    if (done !== undefined || cancelled !== undefined || broken !== undefined) return;
    // After a stop of this very process, words of the program may lie unread in the pipe: read before judging.
    if (!confirmed) return after(UNREAD_MS, () => watchSilence(true));
    broken = fault("timeout", "silent", `the program said nothing for ${limits.silence_seconds} s`);
    press(0);
  };

  const check = async (message: ArtifactMessage) => {
    if (broken !== undefined) return;
    const bounds = {
      outputFolder: job.output_folder,
      artifactBytes: limits.artifact_bytes,
      bytesLeft: limits.output_bytes - bytes,
    };
    const checked = await verifyArtifact(message, bounds, hasher);
    if (settled || broken !== undefined) return;
    if (!checked.ok) return program.kill(checked.fault);
    bytes += checked.value.bytes;
    artifacts.push(checked.value);
    hooks.artifact?.(checked.value);
  };

  const takeArtifact = (message: ArtifactMessage) => {
    if (announced.has(message.path))
      return program.kill(fault("protocol", "artifact_twice", `the program announced "${message.path}" twice`));
    if (announced.size >= limits.artifacts)
      return program.kill(
        fault("resource", "too_many_artifacts", `the job has more than ${limits.artifacts} artifacts`),
      );
    announced.add(message.path);
    checking = checking.then(() => check(message));
  };

  const finish = (message: DoneMessage): void => {
    done = message;
    // Files are still being hashed; what the program says meanwhile is one word too many.
    void checking.then(() => {
      if (broken === undefined) settle(endingOfDone(message, cancelled));
    });
  };

  program.send({ type: "job", ...job });
  after(limits.silence_seconds * 1_000, () => watchSilence());
  if (job.deadline !== null) watchDeadline(clock.monotonic() + job.deadline * 1_000 - clock.now());
  if (hooks.signal?.aborted) onAbort();
  else hooks.signal?.addEventListener("abort", onAbort, { once: true });
  return {
    outcome,
    message(message: ProgramMessage) {
      if (settled || broken !== undefined) return;
      heardMs = clock.monotonic();
      if (message.type === "hello")
        return program.kill(fault("protocol", "hello_twice", "the program said hello twice"));
      if (message.job_id !== job.job_id)
        return program.kill(
          fault("protocol", "wrong_job", `the program spoke of job "${message.job_id}" while it had "${job.job_id}"`),
        );
      if (done !== undefined)
        return program.kill(fault("protocol", "after_done", `the program sent ${message.type} after done`));
      messages += 1;
      if (message.type === "progress") hooks.progress?.(message);
      else if (message.type === "pairs") hooks.pairs?.(message);
      else if (message.type === "artifact") takeArtifact(message);
      else finish(message);
    },
    /** The child broke a rule and is being ended. */
    broke(reason: Fault): void {
      broken ??= reason;
    },
    exited(exit: ChildExit): void {
      // All that it wrote has been read; what it announced before its end still counts, once checked.
      void checking.then(() => {
        if (broken !== undefined) settle(failed(broken), exit);
        else if (cancelled !== undefined)
          settle(endingOfCancel(cancelled, `the program ended (${describeExit(exit)})`), exit);
        else settle(endingOfExit(exit), exit);
      });
    },
  };
}
