/**
 * One thread for many mutants. Loading the code costs a second or more, the tests of one mutant some hundredths of one; nothing
 * of ours keeps state in a module, so what is loaded serves the next mutant as well. A mutant in what a module does while it is
 * loaded gets a thread of its own.
 */
import { type PoolOptions, type PoolWorker, ThreadsPoolWorker } from "vitest/node";

/** A thread is left after so many runs: what a broken test leaves behind does not pile up. */
const RUNS = 40;

export function keptThread() {
  let kept: { readonly thread: ThreadsPoolWorker; runs: number } | undefined;
  return { name: "kept-thread", createPoolWorker };

  function createPoolWorker(options: PoolOptions): PoolWorker {
    const context = options.project.getProvidedContext() as unknown as Readonly<Record<string, unknown>>;
    const alone = context.mode !== "mutant" || context.mutantActivation === "static";
    const heard: [event: string, callback: (...args: unknown[]) => void][] = [];
    let stays = false;
    const thread = (): ThreadsPoolWorker => kept!.thread;
    return {
      name: "kept-thread",
      async start() {
        if (kept !== undefined && (alone || kept.runs >= RUNS)) await leave();
        if (kept === undefined) {
          kept = { thread: new ThreadsPoolWorker(options), runs: 0 };
          await kept.thread.start();
        }
        kept.runs += 1;
      },
      on(event, callback) {
        heard.push([event, callback]);
        thread().on(event, callback);
      },
      off(event, callback) {
        thread().off(event, callback);
      },
      send(message) {
        stays = message.type === "stop" && !alone;
        if (!stays) return thread().send(message);
        // It is told that the thread has ended, which waits for the next mutant.
        for (const [event, callback] of heard)
          if (event === "message") callback({ type: "stopped", __vitest_worker_response__: true });
      },
      async stop() {
        for (const [event, callback] of heard) thread().off(event, callback);
        if (!stays) await leave();
      },
      deserialize: (data) => data,
    };
  }

  async function leave(): Promise<void> {
    const left = kept;
    kept = undefined;
    await left?.thread.stop();
  }
}
