/** A child: a program that has said hello, and takes one job after the other. */
import { assert } from "../../kernel/index.ts";
import type { WorkloadDeclaration } from "./declaration.ts";
import { type JobHooks, type JobRequest, startJob, UNREAD_MS } from "./job-run.ts";
import { type ChildExit, describeExit, endingOfExit, type Fault, fault, type JobOutcome } from "./outcome.ts";
import { type ChildEdges, launch, type ProgramPlace } from "./program.ts";
import { commonVersion, type Hello, PROTOCOL_MIN, PROTOCOL_VERSION, type ProgramMessage } from "./protocol.ts";

export interface Child {
  readonly pid: number;
  readonly hello: Hello;
  /** Whether it can take another job. */
  readonly usable: boolean;
  /** The rule that it broke, if it has. */
  readonly broken: Fault | undefined;
  runJob(job: JobRequest, hooks?: JobHooks): Promise<JobOutcome>;
  /** Asks it to leave; ends it if it does not. Resolves when nothing of it is left. */
  stop(): Promise<ChildExit>;
  /** The same by closing its input, as the death of a worker does. */
  abandon(): Promise<ChildExit>;
  readonly ended: Promise<ChildExit>;
}

export type ChildStart =
  | { readonly ok: true; readonly child: Child }
  | { readonly ok: false; readonly fault: Fault; readonly stderr_tail: string; readonly exit?: ChildExit };

const refusalOf = (hello: Hello, { kinds }: WorkloadDeclaration): Fault | undefined => {
  if (commonVersion(hello) === undefined) {
    const theirs = `${hello.protocol_least ?? hello.protocol} to ${hello.protocol}`;
    return fault(
      "protocol",
      "wrong_version",
      `the program speaks versions ${theirs} of the protocol; here are ${PROTOCOL_MIN} to ${PROTOCOL_VERSION}`,
    );
  }
  const missing = kinds.filter((kind) => !hello.kinds.includes(kind));
  if (missing.length === 0) return undefined;
  return fault(
    "protocol",
    "missing_kind",
    `the program is declared to do ${missing.join(", ")}, but does only ${hello.kinds.join(", ")}`,
  );
};

/** Starts a program and waits for its hello. Whatever goes wrong is an answer, not an exception. */
export async function startChild(
  declaration: WorkloadDeclaration,
  place: ProgramPlace,
  edges: ChildEdges,
): Promise<ChildStart> {
  const { clock } = edges;
  const { limits } = declaration;
  const greeted = Promise.withResolvers<Hello | undefined>();
  let hello: Hello | undefined;
  let running: ReturnType<typeof startJob> | undefined;
  let stopping = false;
  let gone: ChildExit | undefined;

  const message = (received: ProgramMessage) => {
    if (running !== undefined) return running.message(received);
    if (hello === undefined && received.type === "hello") {
      hello = received;
      return greeted.resolve(received);
    }
    const job = "job_id" in received ? ` of job "${received.job_id}"` : "";
    program.kill(
      hello === undefined
        ? fault("protocol", "no_hello", `the program began with ${received.type} instead of hello`)
        : fault("protocol", "without_job", `the program sent ${received.type}${job} while it had no job`),
    );
  };

  const launched = await launch(declaration, place, edges, {
    message,
    fault: (broken) => running?.broke(broken),
    ended(exit) {
      gone = exit;
      greeted.resolve(undefined);
      running?.exited(exit);
    },
  });
  if (!launched.ok) return { ...launched, stderr_tail: "" };
  const program = launched.value;

  const notStarted = async (why: (exit: ChildExit) => Fault): Promise<ChildStart> => {
    const exit = await program.ended;
    return { ok: false, fault: program.broken ?? why(exit), stderr_tail: program.stderr.tail(), exit };
  };

  const late = () =>
    program.kill(fault("timeout", "no_hello", `the program did not say hello within ${limits.hello_seconds} s`));
  let timer = clock.after(limits.hello_seconds * 1_000, () => {
    timer = clock.after(UNREAD_MS, late);
  });
  const said = await greeted.promise;
  timer.cancel();
  if (said === undefined)
    return notStarted((exit) =>
      fault(
        endingOfExit(exit).error?.class ?? "crash",
        "no_hello",
        `the program ended before it said hello (${describeExit(exit)})`,
      ),
    );
  const refusal = refusalOf(said, declaration);
  if (refusal !== undefined) {
    program.kill(refusal);
    return notStarted(() => refusal);
  }
  program.send({
    type: "welcome",
    protocol: commonVersion(said)!,
    limits: { line_bytes: limits.line_bytes, messages_per_second: limits.messages_per_second },
  });

  /** Gives it time to leave by itself, then presses. */
  const leave = async (ask: () => void): Promise<ChildExit> => {
    if (!stopping && gone === undefined) {
      stopping = true;
      ask();
      const term = clock.after(limits.term_seconds * 1_000, () => program.terminate());
      const kill = clock.after(2 * limits.term_seconds * 1_000, () => program.kill());
      await program.ended;
      term.cancel();
      kill.cancel();
    }
    return program.ended;
  };

  const child: Child = {
    pid: program.pid,
    hello: said,
    get usable() {
      return gone === undefined && !stopping && program.broken === undefined && running === undefined;
    },
    get broken() {
      return program.broken;
    },
    async runJob(job, hooks = {}) {
      assert(child.usable, "a child takes one job at a time, and none after its end");
      program.beginJob();
      running = startJob(program, job, hooks, edges, limits);
      try {
        return await running.outcome;
      } finally {
        running = undefined;
      }
    },
    stop: () =>
      leave(() => {
        program.send({ type: "shutdown" });
        program.closeInput();
      }),
    abandon: () => leave(() => program.closeInput()),
    ended: program.ended,
  };
  return { ok: true, child };
}
