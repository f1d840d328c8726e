/**
 * A program of anybody's as a running process: started without a shell, with a named environment, in a group and a
 * session of its own; its lines are read within bounds, its log is kept within bounds, and its end is the end of all
 * that it started.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { type Clock, type Environment, type FileHasher, type Log, messageOf, systemCode } from "../../kernel/index.ts";
import { childEnvironment, type WorkloadDeclaration } from "./declaration.ts";
import type { Census, Guardian, Watch } from "./guardian.ts";
import { createLineReader } from "./line-reader.ts";
import { createMessageRate } from "./message-rate.ts";
import { type Checked, type ChildExit, type Fault, fault, refused } from "./outcome.ts";
import { type ProgramMessage, parseProgramLine, type WorkerMessage, writeMessage } from "./protocol.ts";
import { createStderrLog, type StderrLog } from "./stderr-log.ts";

export interface ChildEdges {
  readonly clock: Clock;
  readonly log: Log;
  readonly guardian: Guardian;
  readonly hasher: FileHasher;
  /** The environment of this process, of which the child sees what is allowed. */
  readonly env: Environment;
}

export interface ProgramPlace {
  /** Where it runs and keeps what is temporary. */
  readonly folder: string;
  /** Where its standard error is kept; nowhere but in memory if not given. */
  readonly logFile?: string;
}

export interface ProgramEvents {
  readonly message: (message: ProgramMessage) => void;
  /** It broke a rule; it is being ended. Said once, before `ended`. */
  readonly fault: (fault: Fault) => void;
  /** It has ended, all that it wrote has been read, and nothing that it started is left. */
  readonly ended: (exit: ChildExit) => void;
}

export interface Program {
  readonly pid: number;
  readonly stderr: StderrLog;
  /** What it did wrong, once it has. */
  readonly broken: Fault | undefined;
  /** From here on its log and its messages count for a new job. */
  beginJob(): void;
  send(message: WorkerMessage): void;
  /** Writes any line, right or wrong. */
  write(line: string): void;
  closeInput(): void;
  /** Asks the whole group to end. */
  terminate(): void;
  /** Ends it with all that it started, for the given reason if it broke a rule. */
  kill(why?: Fault): void;
  readonly ended: Promise<ChildExit>;
}

/** How long output may still come once nothing is left that could write it. */
const DRAIN_MS = 2_000;

function spawnChild(
  declaration: WorkloadDeclaration,
  { folder }: ProgramPlace,
  { env }: ChildEdges,
  cookie: string,
): Promise<ChildProcessWithoutNullStreams> {
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcessWithoutNullStreams>();
  const child = spawn(declaration.command, declaration.args, {
    cwd: folder,
    env: { TMPDIR: folder, ...childEnvironment(declaration, env), RINGRIFT_WORKLOAD_CHILD: cookie },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
    shell: false,
  });
  child.once("error", reject);
  child.once("spawn", () => resolve(child));
  return promise;
}

export async function launch(
  declaration: WorkloadDeclaration,
  place: ProgramPlace,
  edges: ChildEdges,
  events: ProgramEvents,
): Promise<Checked<Program>> {
  const { limits } = declaration;
  let watch: Watch;
  let child: ChildProcessWithoutNullStreams;
  let census: (census: Census) => void = () => {};
  try {
    watch = await edges.guardian.watch((counted) => census(counted));
  } catch (thrown) {
    return refused("resource", "no_guardian", messageOf(thrown));
  }
  try {
    child = await spawnChild(declaration, place, edges, watch.cookie);
  } catch (thrown) {
    await watch.end();
    const isShort = ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(systemCode(thrown) ?? "");
    const reason = `"${declaration.command}" cannot be started: ${messageOf(thrown)}`;
    return refused(isShort ? "resource" : "crash", "cannot_start", reason);
  }
  const pid = child.pid!;
  watch.started(pid);

  const stderr = createStderrLog(place.logFile, limits.log_bytes, (thrown) =>
    edges.log.warn("The log of a workload cannot be written.", { pid, error: messageOf(thrown) }),
  );
  const rate = createMessageRate(limits.messages_per_second);
  const ended = Promise.withResolvers<ChildExit>();
  let broken: Fault | undefined;
  let reading = true;
  let exited = false;

  const kill = (why?: Fault): void => {
    if (why !== undefined && broken === undefined) {
      broken = why;
      events.fault(why);
    }
    reading = false;
    child.stdout.resume();
    void watch.end();
  };

  const take = (line: string) => {
    if (!reading) return;
    if (!rate.take(edges.clock.monotonic())) {
      const max = limits.messages_per_second;
      return kill(fault("protocol", "too_many_messages", `the program sends more than ${max} messages a second`));
    }
    const parsed = parseProgramLine(line);
    if (parsed.ok) events.message(parsed.message);
    else kill(fault("protocol", "bad_message", `the program wrote ${parsed.reason}`));
  };
  const lines = createLineReader(limits.line_bytes, take);

  child.stdout.on("data", (chunk: Buffer) => {
    if (reading && !lines.push(chunk))
      kill(fault("protocol", "line_too_long", `the program wrote a line of more than ${limits.line_bytes} bytes`));
  });
  child.stdout.once("end", () => {
    // Usually it is about to end. If it is not, nothing more can be heard of it.
    edges.clock.after(limits.term_seconds * 1_000, () => {
      if (!exited && reading)
        kill(fault("protocol", "output_closed", "the program closed its standard output and still runs"));
    });
  });
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});

  census = ({ processes, memoryBytes }) => {
    if (processes > limits.processes)
      kill(
        fault(
          "resource",
          "too_many_processes",
          `the program runs ${processes} processes; ${limits.processes} are allowed`,
        ),
      );
    else if (limits.memory_bytes !== undefined && memoryBytes > limits.memory_bytes)
      kill(
        fault(
          "resource",
          "too_much_memory",
          `the program holds ${memoryBytes} bytes; ${limits.memory_bytes} are allowed`,
        ),
      );
  };

  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.once("exit", async (code, signal) => {
    exited = true;
    // What it left behind goes with it; only then is it sure that nobody writes to its pipes any more.
    const left = await watch.end();
    if (left > 0) edges.log.error("Processes of a workload would not end.", { pid, left });
    const late = edges.clock.after(DRAIN_MS, () => {
      child.stdout.destroy();
      child.stderr.destroy();
    });
    await closed;
    late.cancel();
    await stderr.close();
    events.ended({ code, signal });
    ended.resolve({ code, signal });
  });

  const program: Program = {
    pid,
    stderr,
    get broken() {
      return broken;
    },
    beginJob() {
      stderr.mark();
      rate.refill();
    },
    send: (message) => program.write(writeMessage(message)),
    write(line) {
      child.stdin.write(line, (error) => {
        if (error && !exited && reading)
          kill(fault("protocol", "input_closed", "the program closed its standard input and cannot be told anything"));
      });
    },
    closeInput: () => void child.stdin.end(),
    terminate() {
      if (exited) return;
      try {
        process.kill(-pid, "SIGTERM");
      } catch (thrown) {
        if (systemCode(thrown) !== "ESRCH") throw thrown;
      }
    },
    kill,
    ended: ended.promise,
  };
  return { ok: true, value: program };
}
