import { type Clock, createAskedThread, moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { SqlValue, Store } from "../../router/index.ts";
import { storeClosed } from "./commit-queue.ts";
import { fromPortable } from "./portable-error.ts";
import type { ReaderAnswer, ReaderQuestion } from "./reader.thread.ts";

/** Questions that wait at once, and how long one waits for its answer. */
const MAX_WAITING = 100;
const PATIENCE_MS = 30_000;

/** One question, and everybody who asked it while it waited: they get the same rows. */
interface Question extends Pick<ReaderQuestion, "sql" | "params"> {
  readonly askers: Set<PromiseWithResolvers<unknown[]>>;
}

const keyOf = (sql: string, params: readonly SqlValue[]): string =>
  [sql, ...params.map((value) => `${typeof value} ${value}`)].join("\n");

/**
 * Reads that go through many rows, one after another on a thread of their own, so that the caller's never stands still.
 * SQLite cannot be stopped half-way from here: who hangs up while the question waits takes it back, and later the answer is
 * dropped.
 */
export function createReader(path: string, clock: Clock): { readonly scan: Store["scan"]; close(): Promise<void> } {
  const thread = createAskedThread<ReaderQuestion, ReaderAnswer>(
    moduleBeside(import.meta.url, "./reader.thread"),
    (message) => OperatingError.unavailable("READER_GONE", `the thread that reads the database ended: ${message}`),
  );
  const waiting = new Map<string, Question>();
  let isBusy = false;
  let isClosed = false;

  const next = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    for (const [key, { sql, params, askers }] of waiting) {
      waiting.delete(key);
      try {
        const answer = await thread.ask({ path, sql, params });
        if ("error" in answer) throw fromPortable(answer.error);
        for (const { resolve } of askers) resolve(answer.rows);
      } catch (thrown) {
        for (const { reject } of askers) reject(thrown);
      }
    }
    isBusy = false;
  };

  return {
    async scan<T>(sql: string, params: readonly SqlValue[] = [], signal?: AbortSignal): Promise<readonly T[]> {
      signal?.throwIfAborted();
      if (isClosed) throw storeClosed();
      const key = keyOf(sql, params);
      if (!waiting.has(key) && waiting.size >= MAX_WAITING)
        throw OperatingError.busy("READER_BUSY", `more than ${MAX_WAITING} questions wait for the database`, {
          hint: "Try again in a moment, with fewer requests at once.",
        });
      const question = waiting.get(key) ?? { sql, params, askers: new Set() };
      waiting.set(key, question);
      const asker = Promise.withResolvers<unknown[]>();
      question.askers.add(asker);
      const leave = (reason: unknown) => {
        asker.reject(reason);
        question.askers.delete(asker);
        if (question.askers.size === 0 && waiting.get(key) === question) waiting.delete(key);
      };
      const stop = () => leave(signal?.reason);
      signal?.addEventListener("abort", stop, { once: true });
      const timer = clock.after(PATIENCE_MS, () =>
        leave(
          OperatingError.unavailable("READ_TOO_LONG", `the database had no answer within ${PATIENCE_MS / 1_000} s`, {
            hint: "Ask for less, or try again when the disk is less busy.",
          }),
        ),
      );
      void next();
      try {
        return (await asker.promise) as T[];
      } finally {
        timer.cancel();
        signal?.removeEventListener("abort", stop);
      }
    },
    async close() {
      isClosed = true;
      for (const { askers } of waiting.values()) for (const { reject } of askers) reject(storeClosed());
      waiting.clear();
      await thread.close();
    },
  };
}
