/**
 * The worker's side of the guardian: one small process for all children of a worker, so that no child outlives it.
 *
 * A child is announced by its cookie before it is started: however early the worker dies, the announcement is in the
 * guardian's pipe, and the pipe reads as closed only once no half-started copy of the worker holds it any more.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Ids, type Log, moduleBeside, OperatingError, systemCode } from "../../kernel/index.ts";

export interface Census {
  /** Processes that are alive, and the memory that they hold; what they share is counted for each. */
  readonly processes: number;
  readonly memoryBytes: number;
}

export interface Watch {
  /** To be put into the child's environment. */
  readonly cookie: string;
  started(pid: number): void;
  /** Ends the child and all that it started; resolves to how many would not go, which is 0. */
  end(): Promise<number>;
}

interface Entry {
  readonly id: number;
  readonly cookie: string;
  readonly onCensus: (census: Census) => void;
  pid: number | undefined;
  ending: PromiseWithResolvers<number> | undefined;
}

interface Report {
  readonly ready?: boolean;
  readonly census?: readonly { readonly id: number; readonly processes: number; readonly memory_bytes: number }[];
  readonly ended?: number;
  readonly left?: number;
}

/** A guardian needs little: small heaps keep its memory down. */
const SMALL = ["--max-old-space-size=32", "--max-semi-space-size=1"];

const unready = (how: string, cause?: unknown) =>
  OperatingError.internal("WORKLOAD_GUARDIAN_FAILED", `The guardian process ${how}.`, {
    cause,
    retryable: true,
    hint: "The machine may be out of processes or memory.",
  });

export function createGuardian({ ids, log }: { readonly ids: Ids; readonly log: Log }) {
  const file = fileURLToPath(moduleBeside(import.meta.url, "./guardian.worker"));
  const entries = new Map<number, Entry>();
  let next = 0;
  let closed = false;
  let standing: { process: ChildProcess; ready: Promise<void>; gone: Promise<void> } | undefined;

  const order = (order: object): void => void standing?.process.stdin?.write(`${JSON.stringify(order)}\n`);

  const introduce = ({ id, cookie, pid, ending }: Entry): void => {
    order({ watch: id, cookie });
    if (pid !== undefined) order({ started: id, pid });
    if (ending !== undefined) order({ end: id });
  };

  const hear = ({ census, ended, left }: Report): void => {
    for (const { id, processes, memory_bytes } of census ?? [])
      entries.get(id)?.onCensus({ processes, memoryBytes: memory_bytes });
    if (ended === undefined) return;
    const entry = entries.get(ended);
    entries.delete(ended);
    entry?.ending?.resolve(left ?? 0);
  };

  const endGroup = ({ id, pid, ending }: Entry): void => {
    if (ending === undefined) return;
    entries.delete(id);
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch (thrown) {
      if (systemCode(thrown) !== "ESRCH") log.warn("A workload could not be ended.", { pid });
    }
    ending.resolve(0);
  };

  const start = (): NonNullable<typeof standing> => {
    const child = spawn(process.execPath, [...SMALL, file], {
      // A session of its own: what ends the worker's group must not end the guardian first.
      detached: true,
      env: {},
      cwd: "/",
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ready = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    ready.promise.catch(() => {});
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      const word = JSON.parse(line) as Report;
      if (word.ready) ready.resolve();
      else hear(word);
    });
    child.once("error", (cause) => {
      if (standing?.process === child) standing = undefined;
      // Without a guardian there is still the group itself.
      for (const entry of entries.values()) endGroup(entry);
      ready.reject(unready("could not be started", cause));
      gone.resolve();
    });
    child.once("exit", () => {
      gone.resolve();
      ready.reject(unready("ended before it was ready"));
      if (standing?.process !== child) return;
      standing = undefined;
      if (closed) return;
      log.warn("The guardian of the workloads was ended; a new one takes over.", { children: entries.size });
      if (entries.size > 0) stand();
    });
    return { process: child, ready: ready.promise, gone: gone.promise };
  };

  const stand = (): Promise<void> => {
    if (standing === undefined) {
      standing = start();
      for (const entry of entries.values()) introduce(entry);
    }
    return standing.ready;
  };

  return {
    /** Resolves once the guardian stands. */
    async watch(onCensus: (census: Census) => void): Promise<Watch> {
      if (closed)
        throw OperatingError.internal("WORKLOAD_GUARDIAN_CLOSED", "The guardian is closed; no child can start.", {
          hint: "Start children before the worker closes.",
        });
      await stand();
      next += 1;
      const entry: Entry = { id: next, cookie: ids.uuid(), onCensus, pid: undefined, ending: undefined };
      entries.set(entry.id, entry);
      introduce(entry);
      return {
        cookie: entry.cookie,
        started(pid) {
          entry.pid = pid;
          order({ started: entry.id, pid });
        },
        end() {
          if (entry.ending === undefined) {
            entry.ending = Promise.withResolvers<number>();
            order({ end: entry.id });
            if (standing === undefined && entries.has(entry.id)) void stand().catch(() => endGroup(entry));
          }
          return entry.ending.promise;
        },
      };
    },
    get pid(): number | undefined {
      return standing?.process.pid;
    },
    /** Lets it end all that is still watched, and then itself. */
    async close(): Promise<void> {
      closed = true;
      standing?.process.stdin?.end();
      await standing?.gone;
      for (const { ending } of entries.values()) ending?.resolve(0);
      entries.clear();
    },
  };
}

export type Guardian = ReturnType<typeof createGuardian>;
