/**
 * A slot for one workload: runs jobs one after the other, on a child that stays or on a new one for each job. Whatever a
 * program does, the next job is run.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { assert, defined, messageOf } from "../../kernel/index.ts";
import { type Child, type ChildStart, startChild } from "./child.ts";
import type { WorkloadDeclaration } from "./declaration.ts";
import { cancelReasonOf, type JobHooks, type JobRequest } from "./job-run.ts";
import {
  type ChildExit,
  type Ending,
  endingOfCancel,
  type Fault,
  failed,
  fault,
  type JobOutcome,
  neverTaken,
} from "./outcome.ts";
import type { ChildEdges } from "./program.ts";
import { checkInputs, type InputMemory } from "./untrusted-files.ts";

export interface RunnerPlace {
  /** For this runner alone: where its child runs, and where the log of its child is kept. */
  readonly folder: string;
  /** Folders in which the inputs of jobs may lie. */
  readonly inputFolders: readonly string[];
}

/** The outcome of a job that never reached a program. */
const notBegun = (job: JobRequest, ending: Ending, stderrTail = "", exit?: ChildExit): JobOutcome => ({
  job_id: job.job_id,
  ...ending,
  artifacts: [],
  metrics: {},
  messages: 0,
  stderr_tail: stderrTail,
  ...defined({ exit }),
});

async function prepare(job: JobRequest): Promise<Fault | undefined> {
  try {
    await mkdir(job.scratch_folder, { recursive: true });
    await mkdir(job.output_folder, { recursive: true });
    if ((await readdir(job.output_folder)).length > 0)
      return fault("retryable", "output_not_empty", "the output folder is not empty: each attempt needs its own");
    return undefined;
  } catch (thrown) {
    return fault("resource", "no_folder", `the folders of the job cannot be made: ${messageOf(thrown)}`);
  }
}

const runOn = async (child: Child, job: JobRequest, hooks: JobHooks): Promise<JobOutcome> =>
  child.hello.kinds.includes(job.kind)
    ? child.runJob(job, hooks)
    : notBegun(job, failed(fault("bad_input", "unknown_kind", `the program does not do "${job.kind}"`)));

export function createRunner(declaration: WorkloadDeclaration, place: RunnerPlace, edges: ChildEdges) {
  const memory: InputMemory = new Map();
  const childFolder = join(place.folder, "child");
  let child: Child | undefined;
  /** Aborts when the runner closes: a job that runs then is given back. */
  const closing = new AbortController();
  let busy: Promise<unknown> | undefined;

  /** What a program has made unremovable stays, and is told; it is no reason to stop. */
  const remove = (folder: string): Promise<void> =>
    rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch((thrown: unknown) =>
      edges.log.warn("A folder of a workload cannot be removed.", { folder, error: messageOf(thrown) }),
    );

  /** `traceparent` is that of the job it is started for; later ones tell it their own. */
  const freshChild = async (traceparent?: string): Promise<ChildStart> => {
    if (child !== undefined && !child.usable) await child.stop();
    child = undefined;
    try {
      await rm(childFolder, { recursive: true, force: true });
      await mkdir(childFolder, { recursive: true });
    } catch (thrown) {
      const wrong = fault("resource", "no_folder", `the folder of the program cannot be made: ${messageOf(thrown)}`);
      return { ok: false, fault: wrong, stderr_tail: "" };
    }
    const env = { ...defined({ TRACEPARENT: traceparent }), ...declaration.env };
    const started = await startChild(
      { ...declaration, env },
      { folder: childFolder, logFile: join(place.folder, "child.log") },
      edges,
    );
    if (started.ok) child = started.child;
    return started;
  };

  const tryJob = async (job: JobRequest, hooks: JobHooks): Promise<JobOutcome> => {
    const wrong = (await prepare(job)) ?? (await checkInputs(job.inputs, place.inputFolders, edges.hasher, memory));
    if (wrong !== undefined) return notBegun(job, failed(wrong));
    if (hooks.signal?.aborted)
      return notBegun(job, endingOfCancel(cancelReasonOf(hooks.signal), "the job had not begun"));
    if (child?.usable) {
      const outcome = await runOn(child, job, hooks);
      if (!neverTaken(outcome) || (await prepare(job)) !== undefined) return outcome;
    }
    const started = await freshChild(job.traceparent);
    if (started.ok) return runOn(started.child, job, hooks);
    return notBegun(job, failed(started.fault), started.stderr_tail, started.exit);
  };

  /** A child that serves one job is only done when it has gone: its last words belong to the job. */
  const dismiss = async (outcome: JobOutcome): Promise<JobOutcome> => {
    const last = child;
    if (!declaration.one_child_per_job || last === undefined) return outcome;
    const exit = await last.stop();
    child = undefined;
    if (last.broken !== undefined && outcome.status === "completed")
      return { ...outcome, ...failed(last.broken), artifacts: [], exit };
    return { ...outcome, exit };
  };

  return {
    /** The child that waits or works now. */
    get child(): Child | undefined {
      return child;
    },
    /** Never rejects for what a program does. The output and the scratch folder are made if they are not there. */
    async runJob(job: JobRequest, hooks: JobHooks = {}): Promise<JobOutcome> {
      assert(
        busy === undefined && !closing.signal.aborted,
        "a runner runs one job at a time, and none once it is closed",
      );
      const signal = hooks.signal === undefined ? closing.signal : AbortSignal.any([closing.signal, hooks.signal]);
      const running = tryJob(job, { ...hooks, signal }).then(dismiss);
      busy = running;
      try {
        return await running;
      } finally {
        await remove(job.scratch_folder);
        busy = undefined;
      }
    },
    /** Starts the child before there is a job for it; its hello, or why there is none. */
    async warm(): Promise<Child | Fault> {
      if (child?.usable) return child;
      const started = await freshChild();
      return started.ok ? started.child : started.fault;
    },
    /** Gives a running job back, and ends the child with all that it started. */
    async close(): Promise<void> {
      closing.abort("shutdown");
      await busy;
      await child?.stop();
      child = undefined;
      await remove(childFolder);
    },
  };
}

export type Runner = ReturnType<typeof createRunner>;
