/** Where a check runs: folders for its jobs, a child that waits for the next one, and an eye on what a job touches. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError, sleep } from "../../../kernel/index.ts";
import { type Child, type ChildStart, startChild } from "../child.ts";
import type { WorkloadDeclaration } from "../declaration.ts";
import type { JobHooks, JobRequest } from "../job-run.ts";
import { type JobOutcome, neverTaken, type VerifiedArtifact } from "../outcome.ts";
import type { ChildEdges } from "../program.ts";
import type { ExampleJob, PairsMessage } from "../protocol.ts";
import { inputsOf } from "./inputs.ts";
import { changesBetween, treeOf } from "./tree.ts";

export interface StagePlan {
  readonly declaration: Omit<WorkloadDeclaration, "kinds">;
  /** An empty folder for all of it. */
  readonly folder: string;
  /** What relative paths in the examples start from. */
  readonly jobsFolder: string;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

export interface StageRun {
  /** Who did it. */
  readonly on: Child;
  readonly outcome: JobOutcome;
  readonly pairs: readonly PairsMessage[];
  readonly progress: number;
  /** Paths outside of its folders that the job changed. */
  readonly strayed: readonly string[];
}

/** A program that waits so long after a job waits for the next one. */
const LINGER_MS = 300;

export function createStage(plan: StagePlan, edges: ChildEdges) {
  const declaration: WorkloadDeclaration = { ...plan.declaration, kinds: [] };
  const made: VerifiedArtifact[] = [];
  let stderrTail = "";
  let jobs = 0;
  let folders = 0;
  let child: Child | undefined;
  /** The program goes after each job: whatever else is tried is tried on a fresh one. */
  let leaves = false;

  /** A folder for one more process. */
  const newFolder = async (): Promise<string> => {
    folders += 1;
    const folder = join(plan.folder, `child-${folders}`);
    await mkdir(folder, { recursive: true });
    return folder;
  };

  const start = async (): Promise<ChildStart> => {
    const started = await startChild(declaration, { folder: await newFolder() }, edges);
    if (started.ok) child = started.child;
    else stderrTail = started.stderr_tail;
    return started;
  };

  /** The child that waits, or a new one. */
  const present = async (): Promise<Child> => {
    if (child?.usable && !leaves) return child;
    await child?.stop();
    const started = await start();
    if (started.ok) return started.child;
    throw OperatingError.internal("WORKLOAD_CHECK_START", `It did not start again: ${started.fault.reason}.`, {
      hint: "See the end of its log.",
    });
  };

  /** One that goes without a word as it gets the job never had it: on a busy machine its end is heard late. A fresh one does it. */
  const run = async (request: JobRequest, hooks: JobHooks = {}): Promise<StageRun> => {
    const on = await present();
    const own = [request.output_folder, request.scratch_folder, join(plan.folder, `child-${folders}`)];
    const before = await treeOf(plan.folder, own);
    const onFresh = () => {
      leaves = true;
      return run(request, hooks);
    };
    if (!on.usable && !leaves) return onFresh();
    const pairs: PairsMessage[] = [];
    let progress = 0;
    const outcome = await on.runJob(request, {
      signal: AbortSignal.any([plan.signal, hooks.signal].filter((each) => each !== undefined)),
      progress(message) {
        progress += 1;
        hooks.progress?.(message);
      },
      pairs: (message) => pairs.push(message),
    });
    if (neverTaken(outcome) && !leaves) return onFresh();
    if (outcome.status === "failed") stderrTail = outcome.stderr_tail || stderrTail;
    const strayed = changesBetween(before, await treeOf(plan.folder, own));
    return { on, outcome, pairs, progress, strayed };
  };

  return {
    declaration,
    newFolder,
    start,
    /** The end of the log of the last thing that went wrong. */
    get stderrTail(): string {
      return stderrTail;
    },
    present,
    /** Sees whether a child stays after its job. */
    async linger(on: Child): Promise<void> {
      await Promise.race([on.ended, sleep(edges.clock, LINGER_MS)]);
      leaves ||= !on.usable;
    },
    async requestOf(example: ExampleJob, parameters = example.parameters ?? {}): Promise<JobRequest> {
      jobs += 1;
      const folder = join(plan.folder, "jobs", String(jobs));
      const [output_folder, scratch_folder] = [join(folder, "output"), join(folder, "scratch")];
      for (const each of [output_folder, scratch_folder]) await mkdir(each, { recursive: true });
      return {
        job_id: `check-${jobs}`,
        kind: example.kind,
        config_key: example.config_key ?? "check_2p",
        attempt: 1,
        fence: jobs,
        seed: plan.seed,
        deadline: null,
        parameters,
        inputs: await inputsOf(example, made, join(folder, "input"), plan.jobsFolder, edges.hasher),
        output_folder,
        scratch_folder,
      };
    },
    run,
    /** What jobs made may be the input of later ones. */
    keep: (artifacts: readonly VerifiedArtifact[]) => void made.push(...artifacts),
    async close(): Promise<void> {
      await child?.stop();
      child = undefined;
    },
  };
}

export type Stage = ReturnType<typeof createStage>;
