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
 * edges are a clock, a log, the environment, one `Guardian` and one `FileHasher` for all slots of a worker. `startChild` is
 * the child alone. `serveProcess` is the program's side, for programs in TypeScript; clients/python has the same for
 * Python. `checkWorkload` tries a program against all rules. `MESSAGES` is the protocol.
 */

export type { CheckResult } from "./check/tries.ts";
export { createWorkloadConsole, type WorkloadConsole } from "./console.ts";
export {
  parseDeclaration,
  resolvePaths,
  type WorkloadDeclaration,
  type WorkloadDeclarationInput,
  workloadDeclarationSchema,
} from "./declaration.ts";
export { createWorkloadHasher } from "./file-hasher.ts";
export { createGuardian } from "./guardian.ts";
export type { JobRequest } from "./job-run.ts";
export type { JobOutcome } from "./outcome.ts";
export { MAX_POSITION_BYTES, PLAY_KIND, POSITION_KIND, type Position, positionSchema } from "./position.ts";
export { processTable } from "./process-table.ts";
export type { ChildEdges } from "./program.ts";
export {
  EXIT_BAD_INPUT,
  type ExampleJob,
  type JobInput,
  type PairsMessage,
  RESUME_INPUT,
  RESUME_KIND,
} from "./protocol.ts";
export { createRunner, type Runner } from "./runner.ts";
export { badInput, type JobHandler, type ServedJob, type ServedWorkload, serveProcess } from "./serve.ts";
