import type { Worker } from "node:worker_threads";
import { assert, messageOf } from "./errors.ts";

/** A thread that answers questions. It starts when it is first asked, and keeps no process alive while nobody waits. */
export interface AskedThread<Question, Answer> {
  ask(question: Question, signal?: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

interface Reply<Answer> {
  readonly id: number;
  readonly answer?: Answer;
  readonly failed?: { readonly code?: string; readonly message: string };
}

/** Loaded by those who have threads: a command that only asks has none. */
const threads = () => process.getBuiltinModule("node:worker_threads");

/** The module beside the given one, by the ending that its own has: `.ts` in the sources, `.js` in what is published. */
export const moduleBeside = (importMetaUrl: string, name: string): URL =>
  new URL(`${name}${importMetaUrl.endsWith(".ts") ? ".ts" : ".js"}`, importMetaUrl);

/** `broken` says what it means that a question has no answer; with the code of the error, if it had one. */
export function createAskedThread<Question, Answer>(
  file: URL,
  broken: (message: string, code?: string) => Error,
): AskedThread<Question, Answer> {
  const waiting = new Map<number, PromiseWithResolvers<Answer>>();
  let thread: Worker | undefined;
  let ids = 0;

  const start = (): Worker => {
    const worker = new (threads().Worker)(file);
    const gone = (message: string) => {
      if (thread === worker) thread = undefined;
      for (const { reject } of waiting.values()) reject(broken(message));
      waiting.clear();
    };
    worker.on("message", ({ id, answer, failed }: Reply<Answer>) => {
      const asked = waiting.get(id);
      waiting.delete(id);
      if (waiting.size === 0) worker.unref();
      if (answer === undefined) asked?.reject(broken(failed?.message ?? "no answer", failed?.code));
      else asked?.resolve(answer);
    });
    worker.on("error", (error) => gone(error.message));
    worker.on("exit", () => gone("the thread ended"));
    return worker;
  };

  return {
    async ask(question, signal) {
      signal?.throwIfAborted();
      thread ??= start();
      thread.ref();
      ids += 1;
      const asked = Promise.withResolvers<Answer>();
      waiting.set(ids, asked);
      const stop = () => asked.reject(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      thread.postMessage({ id: ids, question });
      try {
        return await asked.promise;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
    async close() {
      await thread?.terminate();
      thread = undefined;
    },
  };
}

/** The body of such a thread. Questions that wait for something are answered side by side. */
export function answerQuestions<Question>(answer: (question: Question) => unknown): void {
  const { parentPort: port } = threads();
  assert(port, "this module runs in a worker thread");
  port.on("message", async ({ id, question }: { id: number; question: Question }) => {
    try {
      port.postMessage({ id, answer: await answer(question) });
    } catch (thrown) {
      port.postMessage({ id, failed: { code: (thrown as { code?: string }).code, message: messageOf(thrown) } });
    }
  });
}
