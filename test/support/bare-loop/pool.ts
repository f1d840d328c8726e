import { Worker } from "node:worker_threads";
import { OperatingError } from "../../../src/kernel/index.ts";
import type { BlockResult } from "../../../src/workloads/arena/play/match.ts";
import type { SelfPlayResult } from "../../../src/workloads/arena/play/self-play.ts";
import type { MatchTask, SelfPlayTask } from "./tasks.ts";

/** Worker threads that take tasks in order; who computes what never shows in a result. */
export interface Pool {
  readonly workers: number;
  selfPlay(task: SelfPlayTask): Promise<SelfPlayResult>;
  match(task: MatchTask): Promise<BlockResult[]>;
  close(): Promise<void>;
}

interface Job {
  readonly task: SelfPlayTask | MatchTask;
  readonly resolve: (result: never) => void;
  readonly reject: (reason: OperatingError) => void;
}

const lost = (message: string) =>
  OperatingError.unavailable("ARENA_WORKER_LOST", message, {
    hint: "The task may be given to another worker.",
  });

export function createPool(configKey: string, workers: number): Pool {
  const file = new URL("./arena.worker.ts", import.meta.url);
  const waiting: Job[] = [];
  const idle: Worker[] = [];
  const running = new Map<Worker, Job>();
  let closed = false;

  const feed = (): void => {
    while (idle.length > 0 && waiting.length > 0) {
      const worker = idle.pop()!;
      const job = waiting.shift()!;
      running.set(worker, job);
      worker.postMessage(job.task);
    }
  };

  const finish = (worker: Worker): Job | undefined => {
    const job = running.get(worker);
    running.delete(worker);
    return job;
  };

  const threads = Array.from({ length: workers }, () => {
    const worker = new Worker(file, { workerData: { configKey } });
    worker.on("message", (answer: { result?: never; error?: string }) => {
      const job = finish(worker);
      idle.push(worker);
      if (answer.error === undefined) job?.resolve(answer.result!);
      else job?.reject(OperatingError.internal("ARENA_TASK_FAILED", answer.error));
      feed();
    });
    worker.on("error", (error) => finish(worker)?.reject(lost(error.message)));
    worker.on("exit", () => {
      finish(worker)?.reject(lost("The worker thread ended before it answered."));
      const at = idle.indexOf(worker);
      if (at >= 0) idle.splice(at, 1);
      threadsLeft -= 1;
      if (threadsLeft === 0) for (const job of waiting.splice(0)) job.reject(lost("No worker thread is left."));
    });
    idle.push(worker);
    return worker;
  });
  let threadsLeft = threads.length;

  const submit = <Result>(task: SelfPlayTask | MatchTask): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (closed || threadsLeft === 0) return reject(lost("The pool is closed."));
      waiting.push({ task, resolve: resolve as (result: never) => void, reject });
      feed();
    });

  return {
    workers,
    selfPlay: (task) => submit(task),
    match: (task) => submit(task),
    async close() {
      closed = true;
      await Promise.all(threads.map((worker) => worker.terminate()));
    },
  };
}
