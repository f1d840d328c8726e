/**
 * process: programs of anybody's as workloads. A program speaks lines of JSON on its standard input and output; its
 * standard error is its log. It knows no queue: whoever has a job and two folders can run it here.
 *
 * It guarantees that every job ends in a typed outcome, whatever its program does; that an artifact counts only when
 * its place, size and SHA-256 are what the program said; that a program is started without a shell, sees only the
 * variables it is allowed, and is bounded in time, messages, memory of ours, log, files and processes; and that no
 * process that a program started outlives the program, nor a program its worker, kill -9 of the worker included.
 *
 * `createRunner` is a slot: it runs jobs in sequence on one child, or on a child each, and goes on after any failure. Its
 * edges are a clock, a log, the environment, one `Guardian` and one `Hasher` for all slots of a worker. `startChild` is
 * the child alone. `serveWorkload` is the program's side, for programs in TypeScript; clients/python has the same for
 * Python. `checkWorkload` tries a program against all rules. `MESSAGES` is the protocol.
 */

export { type CheckReport, checkWorkload } from "./check/check.ts";
export type { CheckResult } from "./check/tries.ts";
export { type Child, type ChildEdges, type ChildStart, startChild } from "./child.ts";
export { createWorkloadConsole, type WorkloadConsole } from "./console.ts";
export {
  type Environment,
  parseDeclaration,
  resolvePaths,
  type WorkloadDeclaration,
  type WorkloadDeclarationInput,
  type WorkloadLimits,
  workloadDeclarationSchema,
} from "./declaration.ts";
export { type Census, createGuardian, type Guardian } from "./guardian.ts";
export { createHasher, type Hasher } from "./hasher.ts";
export type { JobHooks, JobRequest } from "./job-run.ts";
export { declarationJsonSchema, messagesJsonSchema, printDeclaration, printMessages } from "./messages-table.ts";
export type { ChildExit, ErrorClass, Fault, JobOutcome, VerifiedArtifact } from "./outcome.ts";
export { processTable } from "./process-table.ts";
export {
  CANCEL_REASONS,
  type CancelReason,
  EXIT_BAD_INPUT,
  EXIT_PREEMPTED,
  type ExampleJob,
  exampleJobSchema,
  type Hello,
  type JobInput,
  MESSAGES,
  type PairsMessage,
  PROTOCOL_VERSION,
  type ProgressMessage,
} from "./protocol.ts";
export { createRunner, type Runner, type RunnerPlace } from "./runner.ts";
export { badInput, type JobHandler, type ServedJob, type ServedWorkload, serveWorkload } from "./serve.ts";
