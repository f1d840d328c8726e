import { isOperatingError } from "../kernel/index.ts";
import { emissionsOf } from "./append-all.ts";
import type { CommitHooks } from "./parts.ts";
import { beginWork, type WorkBody, type WorkOptions } from "./work.ts";

export interface TransactWork extends Pick<WorkOptions, "source" | "signal" | "prepareEmission"> {
  readonly timeoutMs: number;
}

/** Work whose read set keeps changing under it: after so many runs it counts as failed. */
export const MAX_CONFLICTS = 50;

/**
 * Runs work that no delivery asked for (the tick of a loop, a passing event) like a handler: rows and emissions are
 * collected, and committed together when it has succeeded; if what it read changed meanwhile, it runs again.
 */
export async function transact(hooks: CommitHooks, asked: TransactWork, body: WorkBody): Promise<void> {
  for (let conflicts = 0; ; conflicts += 1) {
    try {
      return await once(hooks, asked, body);
    } catch (thrown) {
      if (!isOperatingError(thrown, "READ_CONFLICT") || conflicts >= MAX_CONFLICTS) throw thrown;
    }
  }
}

async function once(hooks: CommitHooks, asked: TransactWork, body: WorkBody): Promise<void> {
  asked.signal?.throwIfAborted();
  const work = beginWork({ ...asked, store: hooks.store, what: "its work" });
  await work.run(body, hooks.timeLimits, asked.timeoutMs);
  const { appends, onCommitted } = emissionsOf(hooks, work.emitted);
  const operations = [...work.rows.operations(), ...appends];
  onCommitted(operations.length === 0 ? [] : await hooks.store.commit(operations));
  work.runAfterCommit(hooks.log);
}
