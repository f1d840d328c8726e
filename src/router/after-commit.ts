import { type Log, messageOf } from "../kernel/index.ts";

/** What was to follow a commit. The work is on disk and cannot fail any more, so a fault here is told and passed over. */
export function runAfterCommit(log: Log, source: string, after: readonly (() => void)[]): void {
  for (const run of after) {
    try {
      run();
    } catch (thrown) {
      log.error("what was to follow a commit failed", { source, error: messageOf(thrown) });
    }
  }
}
