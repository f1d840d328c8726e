/** Where a check runs: folders for its jobs, a child that waits for the next one, and an eye on what a job touches. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { OperatingError } from "../../../kernel/index.ts";
import { type Child, type ChildEdges, type ChildStart, startChild } from "../child.ts";
import type { WorkloadDeclaration } from "../declaration.ts";
import type { JobHooks, JobRequest } from "../job-run.ts";
import type { JobOutcome, VerifiedArtifact } from "../outcome.ts";
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

export interface Ran {
  readonly outcome: JobOutcome;
  readonly pairs: readonly PairsMessage[];
  readonly progress: number;
  /** Paths outside of its folders that the job changed. */
  readonly strayed: readonly string[];
}

export interface Stage {
  readonly declaration: WorkloadDeclaration;
  /** The end of the log of the last thing that went wrong. */
  readonly stderrTail: string;
  /** The program goes after each job: whatever else is tried is tried on a fresh one. */
  leaves: boolean;
  start(): Promise<ChildStart>;
  /** The child that waits, or a new one. */
  present(): Promise<Child>;
  /** A folder for one more process. */
  newFolder(): Promise<string>;
  requestOf(example: ExampleJob, parameters?: JobRequest["parameters"]): Promise<JobRequest>;
  run(child: Child, request: JobRequest, hooks?: JobHooks): Promise<Ran>;
  /** What jobs made may be the input of later ones. */
  keep(artifacts: readonly VerifiedArtifact[]): void;
  close(): Promise<void>;
}

export function createStage(plan: StagePlan, edges: ChildEdges): Stage {
  const declaration: WorkloadDeclaration = { ...plan.declaration, kinds: [] };
  const made: VerifiedArtifact[] = [];
  let stderrTail = "";
  let jobs = 0;
  let folders = 0;
  let child: Child | undefined;

  const stage: Stage = {
    declaration,
    leaves: false,
    get stderrTail() {
      return stderrTail;
    },
    async newFolder() {
      folders += 1;
      const folder = join(plan.folder, `child-${folders}`);
      await mkdir(folder, { recursive: true });
      return folder;
    },
    async start() {
      const started = await startChild(declaration, { folder: await stage.newFolder() }, edges);
      if (started.ok) child = started.child;
      else stderrTail = started.stderr_tail;
      return started;
    },
    async present() {
      if (child?.usable && !stage.leaves) return child;
      await child?.stop();
      const started = await stage.start();
      if (started.ok) return started.child;
      throw new OperatingError("WORKLOAD_CHECK_START", `It did not start again: ${started.fault.reason}.`, {
        hint: "Look at the end of its log.",
      });
    },
    async requestOf(example, parameters = example.parameters ?? {}) {
      jobs += 1;
      const folder = join(plan.folder, "jobs", String(jobs));
      const places = { inputFolder: join(folder, "input"), jobsFolder: plan.jobsFolder };
      const request: JobRequest = {
        job_id: `check-${jobs}`,
        kind: example.kind,
        config_key: example.config_key ?? "check_2p",
        attempt: 1,
        fence: jobs,
        seed: plan.seed,
        deadline: null,
        parameters,
        inputs: await inputsOf(example, made, places, edges.hasher),
        output_folder: join(folder, "output"),
        scratch_folder: join(folder, "scratch"),
      };
      await mkdir(request.output_folder, { recursive: true });
      await mkdir(request.scratch_folder, { recursive: true });
      return request;
    },
    async run(on, request, hooks = {}) {
      const own = [request.output_folder, request.scratch_folder, join(plan.folder, `child-${folders}`)];
      const before = await treeOf(plan.folder, own);
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
      if (outcome.status === "failed") stderrTail = outcome.stderr_tail || stderrTail;
      return { outcome, pairs, progress, strayed: changesBetween(before, await treeOf(plan.folder, own)) };
    },
    keep: (artifacts) => void made.push(...artifacts),
    async close() {
      await child?.stop();
      child = undefined;
    },
  };
  return stage;
}
