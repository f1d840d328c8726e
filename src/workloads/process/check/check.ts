/**
 * Tries a program against the rules of the protocol, with the program's own tiny jobs: what a worker will ask of it, in
 * a few seconds and without a cluster. Everything runs on the very code that workers use.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, sleep } from "../../../kernel/index.ts";
import { type Child, type ChildEdges, startChild } from "../child.ts";
import type { WorkloadDeclaration } from "../declaration.ts";
import type { JobHooks, JobRequest } from "../job-run.ts";
import { type Fault, type JobOutcome, tellExit, type VerifiedArtifact } from "../outcome.ts";
import { launch } from "../program.ts";
import { EXIT_BAD_INPUT, EXIT_PREEMPTED, type ExampleJob, type Hello, type PairsMessage } from "../protocol.ts";
import { inputsOf } from "./inputs.ts";
import { changesBetween, treeOf } from "./tree.ts";

export interface CheckResult {
  /** What was tried, such as `job selfplay`. */
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
  /** What was seen, and what to do where it is wrong. */
  readonly detail: string;
}

export interface CheckReport {
  readonly ok: boolean;
  readonly program: Pick<Hello, "name" | "version" | "protocol" | "kinds"> | null;
  readonly results: readonly CheckResult[];
  /** The end of what the program wrote to standard error, where something failed. */
  readonly stderr_tail: string;
}

export interface CheckPlan {
  readonly declaration: Omit<WorkloadDeclaration, "kinds">;
  /** An empty folder for all of it. */
  readonly folder: string;
  /** Tiny jobs to try it with; those of its hello unless given. */
  readonly jobs?: readonly ExampleJob[];
  /** What relative paths in them start from. */
  readonly jobsFolder: string;
  readonly seed: number;
  readonly onResult?: (result: CheckResult) => void;
  readonly signal?: AbortSignal;
}

interface Ran {
  readonly outcome: JobOutcome;
  readonly pairs: readonly PairsMessage[];
  readonly progress: number;
  /** Paths outside of its folders that the job changed. */
  readonly strayed: readonly string[];
}

/** A program that waits so long after a job waits for the next one. */
const LINGER_MS = 300;
const UNKNOWN_KIND = "ringrift-check-no-such-kind";

const tellFault = (fault: Fault | undefined): string =>
  fault === undefined ? "no reason" : `${fault.class}, ${fault.code}: ${fault.reason}`;

const tellOutcome = ({ status, error, reason }: JobOutcome): string =>
  error === undefined ? `${status}: ${reason}` : `${status} (${tellFault(error)})`;

export async function checkWorkload(plan: CheckPlan, edges: ChildEdges): Promise<CheckReport> {
  const results: CheckResult[] = [];
  const made: VerifiedArtifact[] = [];
  let stderrTail = "";
  let jobs = 0;
  let children = 0;
  let child: Child | undefined;
  /** It goes after each job: whatever else is tried is tried on a fresh one. */
  let leaves = false;

  const note = (name: string, status: CheckResult["status"], detail: string): boolean => {
    const result = { name, status, detail };
    results.push(result);
    plan.onResult?.(result);
    return status !== "failed";
  };
  const judge = (name: string, holds: boolean, good: string, bad: string): boolean =>
    note(name, holds ? "passed" : "failed", holds ? good : bad);
  const report = (hello: Hello | undefined): CheckReport => ({
    ok: results.every(({ status }) => status !== "failed"),
    program:
      hello === undefined
        ? null
        : { name: hello.name, version: hello.version, protocol: hello.protocol, kinds: hello.kinds },
    results,
    stderr_tail: stderrTail,
  });

  const newFolder = async (): Promise<string> => {
    children += 1;
    const folder = join(plan.folder, `child-${children}`);
    await mkdir(folder, { recursive: true });
    return folder;
  };
  const declaration: WorkloadDeclaration = { ...plan.declaration, kinds: [] };
  const fresh = async () => startChild(declaration, { folder: await newFolder() }, edges);
  /** The child that waits, or a new one. */
  const present = async (): Promise<Child> => {
    if (child?.usable && !leaves) return child;
    await child?.stop();
    const started = await fresh();
    if (!started.ok) {
      stderrTail = started.stderr_tail;
      throw new Error(`it did not start again: ${started.fault.reason}`);
    }
    child = started.child;
    return child;
  };

  const requestOf = async (example: ExampleJob, parameters = example.parameters ?? {}): Promise<JobRequest> => {
    jobs += 1;
    const folder = join(plan.folder, "jobs", String(jobs));
    const places = { inputFolder: join(folder, "input"), jobsFolder: plan.jobsFolder };
    const request = {
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
  };

  const run = async (on: Child, request: JobRequest, hooks: JobHooks = {}): Promise<Ran> => {
    const own = [request.output_folder, request.scratch_folder, join(plan.folder, `child-${children}`)];
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
    if (outcome.status === "failed" && request.kind !== UNKNOWN_KIND) stderrTail = outcome.stderr_tail || stderrTail;
    return { outcome, pairs, progress, strayed: changesBetween(before, await treeOf(plan.folder, own)) };
  };

  const tryKind = async (hello: Hello, example: ExampleJob): Promise<void> => {
    const { kind } = example;
    const on = await present();
    const first = await run(on, await requestOf(example));
    const completed = judge(
      `job ${kind}`,
      first.outcome.status === "completed",
      `done, ${first.outcome.artifacts.length} artifacts, ${first.pairs.flatMap(({ blocks }) => blocks).length} blocks`,
      `${tellOutcome(first.outcome)}; give a tiny job that works in the examples of hello, or with --jobs`,
    );
    judge(
      `folders ${kind}`,
      first.strayed.length === 0,
      "wrote into its own folders only",
      `touched what is not its own: ${first.strayed.slice(0, 5).join(", ")}`,
    );
    if (!completed) return;
    made.push(...first.outcome.artifacts);
    judge(
      `progress ${kind}`,
      first.progress > 0,
      first.progress === 1 ? "1 message" : `${first.progress} messages`,
      "none; send one every few seconds, or a long job counts as silent",
    );

    await Promise.race([on.ended, sleep(edges.clock, LINGER_MS)]);
    leaves ||= !on.usable;
    const again = await present();
    const second = await run(again, await requestOf(example));
    const completedAgain = judge(
      `sequence ${kind}`,
      second.outcome.status === "completed" && again === on,
      `two jobs on process ${on.pid}`,
      again === on
        ? `the second job on one process: ${tellOutcome(second.outcome)}`
        : "it left after one job; stay and wait for the next, or declare one_child_per_job",
    );
    if (hello.capabilities?.deterministic !== true)
      note(`deterministic ${kind}`, "skipped", "it does not say that it is (capabilities.deterministic)");
    else if (completedAgain) {
      const essence = ({ outcome, pairs }: Ran) =>
        JSON.stringify([
          outcome.artifacts.map(({ path, sha256 }) => `${path} ${sha256}`).sort(),
          pairs.flatMap(({ candidate, opponent, blocks }) => blocks.map((block) => [candidate, opponent, block])),
        ]);
      judge(
        `deterministic ${kind}`,
        essence(first) === essence(second),
        "the same seed gave the same bytes",
        "the same seed gave other artifacts or results; take all randomness from the job's seed",
      );
    }
  };

  const tryCancel = async (example: ExampleJob): Promise<void> => {
    const on = await present();
    const ending = new AbortController();
    const request = await requestOf(example, example.long_parameters ?? example.parameters);
    const early = edges.clock.after(1_000, () => ending.abort("cancelled"));
    const { outcome } = await run(on, request, {
      signal: ending.signal,
      progress: () => ending.abort("cancelled"),
    });
    early.cancel();
    const name = `cancel ${example.kind}`;
    const inTime = outcome.exit === undefined || outcome.exit.code === EXIT_PREEMPTED;
    if (outcome.status === "completed" && example.long_parameters === undefined)
      note(name, "skipped", "it was done before it could be cancelled; give its example long_parameters");
    else
      judge(
        name,
        outcome.status === "cancelled" && inTime,
        `${outcome.reason}`,
        outcome.status === "completed"
          ? "it finished a long job instead of ending it; read standard input while you work"
          : `${tellOutcome(outcome)}; on cancel say done with status preempted, or exit with ${EXIT_PREEMPTED}`,
      );
  };

  const tryUnknownKind = async (): Promise<void> => {
    const { outcome } = await run(await present(), await requestOf({ kind: UNKNOWN_KIND }));
    judge(
      "bad input: unknown kind",
      outcome.status === "failed" && outcome.error?.class === "bad_input",
      tellFault(outcome.error),
      `${tellOutcome(outcome)}; say done with an error that is not retryable, or exit with ${EXIT_BAD_INPUT}`,
    );
  };

  const tryGarbage = async (): Promise<void> => {
    const greeted = Promise.withResolvers<void>();
    const launched = await launch(declaration, { folder: await newFolder() }, edges, {
      message: () => greeted.resolve(),
      fault: () => {},
      ended: () => greeted.resolve(),
    });
    if (!launched.ok) throw new Error(launched.fault.reason);
    await greeted.promise;
    launched.program.write("this line is no JSON\n");
    const late = edges.clock.after(declaration.limits.term_seconds * 1_000, () => launched.program.kill());
    const exit = await launched.program.ended;
    late.cancel();
    judge(
      "bad input: no JSON",
      exit.code === EXIT_BAD_INPUT,
      tellExit(exit),
      `${tellExit(exit)}; on a line that cannot be read, exit with ${EXIT_BAD_INPUT}`,
    );
  };

  const tryEnd = async (name: string, how: "stop" | "abandon", what: string): Promise<void> => {
    const exit = await (await present())[how]();
    child = undefined;
    const good = exit.code === 0 || (how === "abandon" && exit.code === EXIT_PREEMPTED);
    judge(name, good, tellExit(exit), `${tellExit(exit)}; exit with 0, by itself, when ${what}`);
  };

  /** Whatever is thrown on the way is the result of what was being tried. */
  const attempt = async (name: string, act: () => Promise<void>): Promise<void> => {
    if (plan.signal?.aborted) return;
    try {
      await act();
    } catch (thrown) {
      note(name, "failed", messageOf(thrown));
    }
  };

  const started = await fresh();
  if (!started.ok) {
    stderrTail = started.stderr_tail;
    note("hello", "failed", tellFault(started.fault));
    return report(undefined);
  }
  child = started.child;
  const { hello } = child;
  note("hello", "passed", `${hello.name} ${hello.version}, protocol ${hello.protocol}, ${hello.kinds.join(", ")}`);

  const examples = [...(plan.jobs ?? hello.examples ?? [])];
  for (const kind of hello.kinds)
    if (!examples.some((each) => each.kind === kind))
      examples.push({
        kind,
        ...(hello.capabilities?.config_keys?.[0] ? { config_key: hello.capabilities.config_keys[0] } : {}),
      });
  try {
    for (const example of examples) await attempt(`job ${example.kind}`, () => tryKind(hello, example));
    for (const example of examples) await attempt(`cancel ${example.kind}`, () => tryCancel(example));
    await attempt("bad input: unknown kind", tryUnknownKind);
    await attempt("bad input: no JSON", tryGarbage);
    await attempt("shutdown", () => tryEnd("shutdown", "stop", "it is told to"));
    await attempt("input closed", () => tryEnd("input closed", "abandon", "its standard input closes"));
    if (plan.signal?.aborted) note("all", "failed", "the check was interrupted");
  } finally {
    await child?.stop();
  }
  return report(hello);
}
