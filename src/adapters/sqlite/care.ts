import { statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { DatabaseCare } from "../../daemons/index.ts";
import { moduleBeside, OperatingError } from "../../kernel/index.ts";
import type { CareAnswer, CareOptions } from "./care.thread.ts";

const ask = (options: CareOptions, signal: AbortSignal | undefined): Promise<CareAnswer> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const thread = new Worker(moduleBeside(import.meta.url, "./care.thread"), {
      name: `database ${options.chore}`,
      workerData: options,
    });
    thread.once("message", resolve);
    thread.once("error", reject);
    // After an answer this says nothing new.
    thread.once("exit", () => {
      signal?.removeEventListener("abort", stop);
      reject(OperatingError.internal("CARE_FAILED", `'${options.chore}' ended without an answer`));
    });
    // It only reads, or leaves the log as long as it was: ending it half-way harms nothing.
    const stop = () => {
      reject(signal?.reason);
      void thread.terminate();
    };
    signal?.addEventListener("abort", stop, { once: true });
  });

/** The care of one database file, each chore on a thread of its own. */
export function sqliteCare(path: string): DatabaseCare {
  const answerTo = async (
    chore: CareOptions["chore"],
    signal?: AbortSignal,
  ): Promise<Exclude<CareAnswer, { error: string }>> => {
    const answer = await ask({ path, chore }, signal);
    if ("error" in answer)
      throw OperatingError.internal("CARE_FAILED", `'${chore}' of the database failed: ${answer.error}`, {
        retryable: true,
        hint: "It will be tried again. If it keeps failing, check the disk.",
      });
    return answer;
  };
  return {
    async check(signal) {
      const answer = await answerTo("check", signal);
      return "problems" in answer ? answer.problems : [];
    },
    async truncateWal() {
      const answer = await answerTo("truncate_wal");
      return "done" in answer && answer.done;
    },
    walBytes: () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}
