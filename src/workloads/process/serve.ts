/**
 * The other side of the protocol, for programs in TypeScript: gives each job to the function of its kind, and says what
 * has to be said. A job is computed on the loop that also hears `cancel`: long ones must let it breathe (`pause`).
 */
import { hash } from "node:crypto";
import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, isOperatingError, messageOf, OperatingError } from "../../kernel/index.ts";
import { lexicalFault } from "./files-inside.ts";
import { createLineReader } from "./line-reader.ts";
import {
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

export interface ServedJob {
  readonly message: JobMessage;
  /** Aborts when the job is to end; its reason is the worker's. */
  readonly signal: AbortSignal;
  /** Says how far it is; said at most a few times a second, however often it is called. */
  progress(done: number, rest?: Pick<ProgressMessage, "total" | "message" | "metrics">): void;
  /** Writes a file into the output folder: flushed, renamed into place, then announced. Gives its SHA-256. */
  writeArtifact(path: string, bytes: Uint8Array, about: ArtifactAbout): Promise<string>;
  pairs(results: Omit<PairsMessage, "type" | "job_id">): void;
  /** Lets the loop hear; throws if the job is to end. */
  pause(): Promise<void>;
}

export interface ArtifactAbout {
  readonly kind: string;
  readonly rows?: number;
  readonly meta?: { readonly [key: string]: string | number | boolean | null };
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

export interface ServeEdges {
  readonly clock: Clock;
  readonly input: NodeJS.ReadableStream;
  readonly write: (line: string) => void;
  readonly log: (line: string) => void;
}

/** The job, or what it refers to, is wrong and stays wrong. */
export const badInput = (message: string, cause?: unknown): OperatingError =>
  new OperatingError("WORKLOAD_BAD_INPUT", message, { cause, hint: "Correct the job; trying it again does not help." });

const PROGRESS_EVERY_MS = 200;
/** Jobs may carry large parameters; a worker is trusted further than a program. */
const MOST_LINE_BYTES = 64 * 2 ** 20;
const SHORT_OF = new Set(["ENOSPC", "EDQUOT", "ENOMEM", "EMFILE", "ENFILE", "EAGAIN"]);

const failureOf = (thrown: unknown): { code: string; message: string; retryable: boolean } => {
  const message = messageOf(thrown).slice(0, 4_000);
  if (SHORT_OF.has((thrown as NodeJS.ErrnoException)?.code ?? ""))
    return { code: "resource", message, retryable: true };
  if (isOperatingError(thrown)) return { code: thrown.code, message, retryable: thrown.retryable };
  return { code: "internal", message, retryable: true };
};

const syncFolder = async (folder: string): Promise<void> => {
  const handle: FileHandle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** A file appears under its name only when all of it is on the disk. */
async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const neighbour = `${path}.part`;
  await mkdir(dirname(path), { recursive: true });
  const handle = await open(neighbour, "w");
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(neighbour, path);
  await syncFolder(dirname(path));
}

/** Serves jobs until the worker says shutdown or goes away; resolves to the exit code. */
export function serveWorkload(workload: ServedWorkload, { clock, input, write, log }: ServeEdges): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const say = (message: ProgramMessage) => write(writeMessage(message));
  let current: { readonly id: string; readonly ending: AbortController } | undefined;
  let leaving = false;

  const contextOf = (message: JobMessage, signal: AbortSignal): ServedJob => {
    const job_id = message.job_id;
    let saidMs = Number.NEGATIVE_INFINITY;
    return {
      message,
      signal,
      progress(done, rest = {}) {
        if (clock.monotonic() - saidMs < PROGRESS_EVERY_MS) return;
        saidMs = clock.monotonic();
        say({ type: "progress", job_id, done, ...rest });
      },
      async writeArtifact(path, bytes, about) {
        const wrong = lexicalFault(path);
        if (wrong !== undefined) throw badInput(`"${path}" is no path inside the output folder: ${wrong}.`);
        const written = writeDurably(join(message.output_folder, path), bytes);
        // While the disk works.
        const sha256 = hash("sha256", bytes, "hex");
        await written;
        say({ type: "artifact", job_id, path, sha256, bytes: bytes.length, ...about });
        return sha256;
      },
      pairs: (results) => say({ type: "pairs", job_id, ...results }),
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
      say({ type: "done", job_id, status: "ok", metrics: { ...metrics } });
    } catch (thrown) {
      if (ending.signal.aborted) say({ type: "done", job_id, status: "preempted" });
      else {
        log(thrown instanceof Error ? (thrown.stack ?? thrown.message) : messageOf(thrown));
        say({ type: "done", job_id, status: "error", error: failureOf(thrown) });
      }
    } finally {
      current = undefined;
      if (leaving) resolve(EXIT_PREEMPTED);
    }
  };

  const leave = (): void => {
    if (leaving) return;
    leaving = true;
    if (current === undefined) resolve(0);
    else current.ending.abort("shutdown" satisfies CancelReason);
  };

  const hear = (line: string): void => {
    const parsed = parseWorkerLine(line);
    if (!parsed.ok) {
      log(`The worker wrote ${parsed.reason}.`);
      resolve(EXIT_BAD_INPUT);
      return;
    }
    const { message } = parsed;
    if (message.type === "job") void run(message);
    else if (message.type === "cancel") {
      if (current?.id === message.job_id) current.ending.abort(message.reason);
    } else if (message.type === "shutdown") leave();
  };

  const lines = createLineReader(MOST_LINE_BYTES, hear);
  input.on("data", (chunk: Buffer) => {
    if (!lines.push(chunk)) resolve(EXIT_BAD_INPUT);
  });
  input.on("end", leave);
  input.on("error", leave);
  say({
    type: "hello",
    protocol: PROTOCOL_VERSION,
    name: workload.name,
    version: workload.version,
    kinds: Object.keys(workload.kinds),
    ...(workload.capabilities === undefined ? {} : { capabilities: workload.capabilities }),
    ...(workload.examples === undefined ? {} : { examples: [...workload.examples] }),
  });
  return promise;
}
