/**
 * The other side of the protocol, for programs in TypeScript: gives each job to the function of its kind, and says what
 * has to be said. A job is computed on the loop that also hears `cancel`: long ones must let it breathe (`pause`).
 */
import { hash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  defined,
  isOperatingError,
  messageOf,
  OperatingError,
  stackOf,
  syncFolder,
  systemClock,
  systemCode,
  writeDurably,
} from "../../kernel/index.ts";
import { createLineReader } from "./line-reader.ts";
import {
  type ArtifactMessage,
  type CancelReason,
  EXIT_BAD_INPUT,
  EXIT_PREEMPTED,
  type ExampleJob,
  type Hello,
  type JobMessage,
  type PairsMessage,
  PROTOCOL_VERSION,
  type ProgramMessage,
  type ProgressMessage,
  parseWorkerLine,
  writeMessage,
} from "./protocol.ts";
import { lexicalFault } from "./untrusted-files.ts";

export interface ServedJob {
  readonly message: JobMessage;
  /** Aborts when the job is to end; its reason is the worker's. */
  readonly signal: AbortSignal;
  /**
   * Says how far it is; said at most a few times a second, however often it is called. `board` is asked for what is on the board only
   * when it is said.
   */
  progress(
    done: number,
    rest?: Pick<ProgressMessage, "total" | "message" | "metrics"> & { readonly board?: () => ProgressMessage["board"] },
  ): void;
  /** Writes a file into the output folder: flushed, renamed into place, then announced. Gives its SHA-256. */
  writeArtifact(
    path: string,
    bytes: Uint8Array,
    about: Pick<ArtifactMessage, "kind" | "rows" | "meta">,
  ): Promise<string>;
  pairs(results: Omit<PairsMessage, "type" | "job_id">): void;
  /** Lets the loop hear; throws if the job is to end. */
  pause(): Promise<void>;
}

/** Does a job; what it returns are the metrics of `done`. */
export type JobHandler = (job: ServedJob) => Promise<Readonly<Record<string, number>>>;

export interface ServedWorkload {
  readonly name: string;
  readonly version: string;
  readonly capabilities?: Hello["capabilities"];
  readonly kinds: Readonly<Record<string, JobHandler>>;
  readonly examples?: readonly ExampleJob[];
}

/** The job, or what it refers to, is wrong and stays wrong. */
export const badInput = (message: string, cause?: unknown): OperatingError =>
  OperatingError.internal("WORKLOAD_BAD_INPUT", message, {
    cause,
    hint: "Correct the job; a retry does not help.",
  });

const PROGRESS_EVERY_MS = 200;
/** Jobs may carry large parameters; a worker is trusted further than a program. */
const MAX_LINE_BYTES = 64 * 2 ** 20;
const SHORT_OF = new Set(["ENOSPC", "EDQUOT", "ENOMEM", "EMFILE", "ENFILE", "EAGAIN"]);

const failureOf = (thrown: unknown) => {
  const message = messageOf(thrown).slice(0, 4_000);
  if (SHORT_OF.has(systemCode(thrown) ?? "")) return { code: "resource", message, retryable: true };
  if (isOperatingError(thrown)) return { code: thrown.code, message, retryable: thrown.retryable };
  return { code: "internal", message, retryable: true };
};

/** Serves jobs on the standard streams of this process until the worker says shutdown or goes away, and ends with it. */
export async function serveProcess(workload: ServedWorkload): Promise<void> {
  const { stdin, stdout, stderr } = process;
  const clock = systemClock();
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const emit = (message: ProgramMessage) => void stdout.write(writeMessage(message));
  const log = (line: string) => void stderr.write(`${line}\n`);
  let current: { readonly id: string; readonly ending: AbortController } | undefined;
  let leaving = false;

  const contextOf = (message: JobMessage, signal: AbortSignal): ServedJob => {
    const job_id = message.job_id;
    let emittedMs = Number.NEGATIVE_INFINITY;
    return {
      message,
      signal,
      progress(done, { board, ...rest } = {}) {
        if (clock.monotonic() - emittedMs < PROGRESS_EVERY_MS) return;
        emittedMs = clock.monotonic();
        emit({ type: "progress", job_id, done, ...rest, ...defined({ board: board?.() }) });
      },
      async writeArtifact(path, bytes, about) {
        const wrong = lexicalFault(path);
        if (wrong !== undefined) throw badInput(`"${path}" is not a path inside the output folder: ${wrong}.`);
        const file = join(message.output_folder, path);
        await mkdir(dirname(file), { recursive: true });
        const written = writeDurably(file, bytes, 0o666);
        // While the disk works.
        const sha256 = hash("sha256", bytes, "hex");
        await written;
        await syncFolder(dirname(file));
        emit({ type: "artifact", job_id, path, sha256, bytes: bytes.length, ...about });
        return sha256;
      },
      pairs: (results) => emit({ type: "pairs", job_id, ...results }),
      async pause() {
        await new Promise((resume) => setImmediate(resume));
        signal.throwIfAborted();
      },
    };
  };

  const run = async (message: JobMessage): Promise<void> => {
    const job_id = message.job_id;
    const ending = new AbortController();
    current = { id: job_id, ending };
    try {
      const handler = Object.hasOwn(workload.kinds, message.kind) ? workload.kinds[message.kind] : undefined;
      if (handler === undefined) throw badInput(`This program does not do "${message.kind}".`);
      const metrics = await handler(contextOf(message, ending.signal));
      emit({ type: "done", job_id, status: "ok", metrics: { ...metrics } });
    } catch (thrown) {
      if (ending.signal.aborted) emit({ type: "done", job_id, status: "preempted" });
      else {
        log(stackOf(thrown));
        emit({ type: "done", job_id, status: "error", error: failureOf(thrown) });
      }
    } finally {
      current = undefined;
      if (leaving) end(EXIT_PREEMPTED);
    }
  };

  const leave = (): void => {
    if (leaving) return;
    leaving = true;
    if (current === undefined) end(0);
    else current.ending.abort("shutdown" satisfies CancelReason);
  };

  const hear = (line: string) => {
    const parsed = parseWorkerLine(line);
    if (!parsed.ok) {
      log(`The worker wrote ${parsed.reason}.`);
      return end(EXIT_BAD_INPUT);
    }
    const { message } = parsed;
    if (message.type === "job") void run(message);
    else if (message.type === "cancel") {
      if (current?.id === message.job_id) current.ending.abort(message.reason);
    } else if (message.type === "shutdown") leave();
  };

  const lines = createLineReader(MAX_LINE_BYTES, hear);
  stdin.on("data", (chunk: Buffer) => {
    if (!lines.push(chunk)) end(EXIT_BAD_INPUT);
  });
  stdin.on("end", leave);
  stdin.on("error", leave);
  emit({
    type: "hello",
    protocol: PROTOCOL_VERSION,
    name: workload.name,
    version: workload.version,
    kinds: Object.keys(workload.kinds),
    ...defined({ capabilities: workload.capabilities }),
    ...(workload.examples === undefined ? {} : { examples: [...workload.examples] }),
  });
  const code = await ended;
  // The last words first.
  stdout.write("", () => process.exit(code));
}
