/** How a job can end, as data. Every ending has one of these; nothing is thrown for what a program does. */
import { type ArtifactMessage, type CancelReason, EXIT_BAD_INPUT, EXIT_PREEMPTED } from "./protocol.ts";

/**
 * bad_input: it will never work, do not retry. retryable: the program says that it may work later. resource: memory,
 * disk, processes or a device were short here. protocol: the program does not keep the protocol. timeout: it was too
 * slow or silent. crash: it ended by itself.
 */
export type ErrorClass = "bad_input" | "retryable" | "resource" | "protocol" | "timeout" | "crash";

export interface Fault {
  readonly class: ErrorClass;
  /** Stable, for programs: `silent`, `wrong_hash`, `path_outside`, or the code that the program gave. */
  readonly code: string;
  /** One sentence for people. */
  readonly reason: string;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A file that is what its program said it was. */
export interface VerifiedArtifact extends Omit<ArtifactMessage, "type" | "job_id"> {
  /** Where it lies, links resolved. */
  readonly file: string;
}

export interface JobOutcome {
  readonly job_id: string;
  readonly status: "completed" | "failed" | "preempted" | "cancelled";
  readonly error?: Fault;
  /** One sentence: why it ended as it did. */
  readonly reason: string;
  readonly artifacts: readonly VerifiedArtifact[];
  readonly metrics: Readonly<Record<string, number>>;
  /** How many messages the program sent about the job. */
  readonly messages: number;
  /** The end of what the program wrote to standard error while the job ran. */
  readonly stderr_tail: string;
  /** How the process ended, if it has. */
  readonly exit?: ChildExit;
}

export type Ending = Pick<JobOutcome, "status" | "reason" | "error">;

export const fault = (errorClass: ErrorClass, code: string, reason: string): Fault => ({
  class: errorClass,
  code,
  reason,
});

/** What was looked at, or why it is refused. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const refused = (...why: Parameters<typeof fault>) => ({ ok: false, fault: fault(...why) }) as const;

export const failed = (error: Fault): Ending => ({ status: "failed", error, reason: error.reason });

export const describeExit = ({ code, signal }: ChildExit): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

/** What it means that a program was told to leave and left, or had to be made to. */
export function endingOfCancel(reason: CancelReason, how: string): Ending {
  if (reason === "deadline") return failed(fault("timeout", "deadline", `its deadline has passed; ${how}`));
  const status = reason === "preempted" || reason === "shutdown" ? "preempted" : "cancelled";
  return { status, reason: `${reason}; ${how}` };
}

/** What it means that a process ended while its job was not done, nobody having told it to. */
export function endingOfExit(exit: ChildExit): Ending {
  const how = describeExit(exit);
  if (exit.code === EXIT_PREEMPTED) return { status: "preempted", reason: `the program was preempted (${how})` };
  if (exit.code === EXIT_BAD_INPUT)
    return failed(fault("bad_input", "exit_bad_input", `the program says that the job is wrong (${how})`));
  if (exit.code === 0) return failed(fault("protocol", "no_done", `the program ended without done (${how})`));
  if (exit.signal === "SIGKILL")
    return failed(fault("crash", "killed", "somebody killed the program (SIGKILL); was the machine out of memory?"));
  return failed(fault("crash", "crashed", `the program ended in the middle of the job (${how})`));
}

/** The child left, or stopped listening, between two jobs: it never had this one, and a fresh child may. */
export const neverTaken = ({ error, messages, exit }: JobOutcome): boolean =>
  messages === 0 && (error?.code === "input_closed" || (error?.code === "no_done" && exit?.code === 0));
