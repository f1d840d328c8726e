/** What is tried of a program, one rule after the other. */
import { describeExit, type Fault, type JobOutcome } from "../outcome.ts";
import type { ChildEdges } from "../program.ts";
import { launch } from "../program.ts";
import { EXIT_BAD_INPUT, EXIT_PREEMPTED, type ExampleJob, type Hello } from "../protocol.ts";
import type { Stage, StageRun } from "./stage.ts";

export interface CheckResult {
  /** What was tried, such as `job selfplay`. */
  readonly name: string;
  readonly status: "passed" | "failed" | "skipped";
  /** What was seen, and what to do where it is wrong. */
  readonly detail: string;
}

interface World {
  readonly stage: Stage;
  readonly edges: ChildEdges;
  readonly note: (result: CheckResult) => void;
}

/** A long job that says nothing is cancelled after so long. */
const EARLY_MS = 1_000;
const UNKNOWN_KIND = "ringrift-check-no-such-kind";

export const describeFault = (fault: Fault | undefined): string =>
  fault === undefined ? "no reason" : `${fault.class}, ${fault.code}: ${fault.reason}`;

const describeOutcome = ({ status, error, reason }: JobOutcome): string =>
  error === undefined ? `${status}: ${reason}` : `${status} (${describeFault(error)})`;

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

const judge = ({ note }: World, name: string, holds: boolean, good: string, bad: string): boolean => {
  note({ name, status: holds ? "passed" : "failed", detail: holds ? good : bad });
  return holds;
};

/** What a deterministic program gives again. */
const essenceOf = ({ outcome, pairs }: StageRun): string =>
  JSON.stringify([
    outcome.artifacts.map(({ path, sha256 }) => `${path} ${sha256}`).sort(),
    pairs.flatMap(({ candidate, opponent, blocks }) => blocks.map((block) => [candidate, opponent, block])),
  ]);

/** The tiny job of one kind, and the same job again on the same process. */
export async function tryKind(world: World, hello: Hello, example: ExampleJob): Promise<void> {
  const { stage, note } = world;
  const { kind } = example;
  const first = await stage.run(await stage.requestOf(example));
  const blocks = first.pairs.flatMap((message) => message.blocks).length;
  const completed = judge(
    world,
    `job ${kind}`,
    first.outcome.status === "completed",
    `done, ${counted(first.outcome.artifacts.length, "artifact")}, ${counted(blocks, "block")}`,
    `${describeOutcome(first.outcome)}; give a tiny job that works in the examples of hello, or with --jobs`,
  );
  judge(
    world,
    `folders ${kind}`,
    first.strayed.length === 0,
    "wrote into its own folders only",
    `touched what is not its own: ${first.strayed.slice(0, 5).join(", ")}`,
  );
  if (!completed) return;
  stage.keep(first.outcome.artifacts);
  judge(
    world,
    `progress ${kind}`,
    first.progress > 0,
    counted(first.progress, "message"),
    "none; send one every few seconds, or a long job counts as silent",
  );

  await stage.linger(first.on);
  const second = await stage.run(await stage.requestOf(example));
  const isSame = second.on === first.on;
  const stayed = judge(
    world,
    `sequence ${kind}`,
    second.outcome.status === "completed" && isSame,
    `two jobs on process ${first.on.pid}`,
    isSame
      ? `the second job on one process: ${describeOutcome(second.outcome)}`
      : "it left after one job; stay and wait for the next, or declare one_child_per_job",
  );
  const name = `deterministic ${kind}`;
  if (hello.capabilities?.deterministic !== true)
    note({ name, status: "skipped", detail: "it does not say that it is (capabilities.deterministic)" });
  else if (stayed)
    judge(
      world,
      name,
      essenceOf(first) === essenceOf(second),
      "the same seed gave the same bytes",
      "the same seed gave other artifacts or results; take all randomness from the job's seed",
    );
}

/** Cancels a job as soon as it says something. */
export async function tryCancel(world: World, example: ExampleJob): Promise<void> {
  const { stage, edges, note } = world;
  const ending = new AbortController();
  const request = await stage.requestOf(example, example.long_parameters ?? example.parameters);
  const early = edges.clock.after(EARLY_MS, () => ending.abort("cancelled"));
  const { outcome } = await stage.run(request, {
    signal: ending.signal,
    progress: () => ending.abort("cancelled"),
  });
  early.cancel();
  const name = `cancel ${example.kind}`;
  const inTime = outcome.exit === undefined || outcome.exit.code === EXIT_PREEMPTED;
  if (outcome.status === "completed" && example.long_parameters === undefined) {
    const detail = "it was done before it could be cancelled; give its example long_parameters";
    return note({ name, status: "skipped", detail });
  }
  judge(
    world,
    name,
    outcome.status === "cancelled" && inTime,
    outcome.reason,
    outcome.status === "completed"
      ? "it finished a long job instead of ending it; read standard input while you work"
      : `${describeOutcome(outcome)}; on cancel say done with status preempted, or exit with ${EXIT_PREEMPTED}`,
  );
}

export async function tryUnknownKind(world: World): Promise<void> {
  const { stage } = world;
  const { outcome } = await stage.run(await stage.requestOf({ kind: UNKNOWN_KIND }));
  judge(
    world,
    "bad input: unknown kind",
    outcome.status === "failed" && outcome.error?.class === "bad_input",
    describeFault(outcome.error),
    `${describeOutcome(outcome)}; say done with an error that is not retryable, or exit with ${EXIT_BAD_INPUT}`,
  );
}

/** A line that is no message, to a process of its own. */
export async function tryGarbage(world: World): Promise<void> {
  const { stage, edges } = world;
  const { declaration } = stage;
  const greeted = Promise.withResolvers<void>();
  const launched = await launch(declaration, { folder: await stage.newFolder() }, edges, {
    message: () => greeted.resolve(),
    fault: () => {},
    ended: () => greeted.resolve(),
  });
  const name = "bad input: no JSON";
  if (!launched.ok) return world.note({ name, status: "failed", detail: describeFault(launched.fault) });
  const program = launched.value;
  const hello = edges.clock.after(declaration.limits.hello_seconds * 1_000, () => program.kill());
  await greeted.promise;
  hello.cancel();
  program.write("this line is no JSON\n");
  const late = edges.clock.after(declaration.limits.term_seconds * 1_000, () => program.kill());
  const exit = await program.ended;
  late.cancel();
  const how = describeExit(exit);
  judge(
    world,
    name,
    exit.code === EXIT_BAD_INPUT,
    how,
    `${how}; on a line that cannot be read, exit with ${EXIT_BAD_INPUT}`,
  );
}

export async function tryEnd(world: World, name: "shutdown" | "input closed"): Promise<void> {
  const child = await world.stage.present();
  const exit = await (name === "shutdown" ? child.stop() : child.abandon());
  const good = exit.code === 0 || (name === "input closed" && exit.code === EXIT_PREEMPTED);
  const when = name === "shutdown" ? "it is told to" : "its standard input closes";
  judge(world, name, good, describeExit(exit), `${describeExit(exit)}; exit with 0, by itself, when ${when}`);
}
