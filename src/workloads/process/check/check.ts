/**
 * Tries a program against the rules of the protocol, with the program's own tiny jobs: what a worker will ask of it, in
 * a few seconds and without a cluster. Everything runs on the very code that workers use.
 */
import { defined, messageOf } from "../../../kernel/index.ts";
import type { ChildEdges } from "../program.ts";
import type { ExampleJob, Hello } from "../protocol.ts";
import { createStage, type StagePlan } from "./stage.ts";
import { type CheckResult, describeFault, tryCancel, tryEnd, tryGarbage, tryKind, tryUnknownKind } from "./tries.ts";

export interface CheckReport {
  readonly ok: boolean;
  readonly program: Pick<Hello, "name" | "version" | "protocol" | "kinds"> | null;
  readonly results: readonly CheckResult[];
  /** The end of what the program wrote to standard error, where something failed. */
  readonly stderr_tail: string;
}

export interface CheckPlan extends StagePlan {
  /** Tiny jobs to try it with; those of its hello unless given. */
  readonly jobs?: readonly ExampleJob[];
  readonly onResult?: (result: CheckResult) => void;
}

/** The examples, and a job without parameters for each kind that has none. */
function examplesOf({ kinds, capabilities, examples = [] }: Hello, given: readonly ExampleJob[] | undefined) {
  const chosen = given ?? examples;
  const config_key = capabilities?.config_keys?.[0];
  const bare = kinds
    .filter((kind) => !chosen.some((each) => each.kind === kind))
    .map((kind): ExampleJob => ({ kind, ...defined({ config_key }) }));
  return [...chosen, ...bare];
}

export async function checkWorkload(plan: CheckPlan, edges: ChildEdges): Promise<CheckReport> {
  const stage = createStage(plan, edges);
  const results: CheckResult[] = [];
  const note = (result: CheckResult): void => {
    results.push(result);
    plan.onResult?.(result);
  };
  const report = (program: CheckReport["program"]): CheckReport => {
    const ok = results.every(({ status }) => status !== "failed");
    return { ok, program, results, stderr_tail: ok ? "" : stage.stderrTail };
  };
  /** Whatever is thrown on the way is the result of what was being tried. */
  const attempt = async (name: string, act: () => Promise<void>): Promise<void> => {
    if (plan.signal?.aborted) return;
    try {
      await act();
    } catch (thrown) {
      note({ name, status: "failed", detail: messageOf(thrown) });
    }
  };

  const started = await stage.start();
  if (!started.ok) {
    note({ name: "hello", status: "failed", detail: describeFault(started.fault) });
    return report(null);
  }
  const { hello } = started.child;
  const { name, version, protocol, kinds } = hello;
  note({ name: "hello", status: "passed", detail: `${name} ${version}, protocol ${protocol}, ${kinds.join(", ")}` });
  const world = { stage, edges, note };
  const examples = examplesOf(hello, plan.jobs);
  try {
    for (const each of examples) await attempt(`job ${each.kind}`, () => tryKind(world, hello, each));
    for (const each of examples) await attempt(`cancel ${each.kind}`, () => tryCancel(world, each));
    await attempt("bad input: unknown kind", () => tryUnknownKind(world));
    await attempt("bad input: no JSON", () => tryGarbage(world));
    await attempt("shutdown", () => tryEnd(world, "shutdown"));
    await attempt("input closed", () => tryEnd(world, "input closed"));
    if (plan.signal?.aborted) note({ name: "all", status: "failed", detail: "the check was interrupted" });
  } finally {
    await stage.close();
  }
  return report({ name, version, protocol, kinds });
}
