import { getPriority, setPriority } from "node:os";
import { type Log, messageOf } from "../../kernel/index.ts";

/** Steps a process back behind others, and with it all that it starts from now on. It never steps forward. */
export function beNice(nice: number, log: Pick<Log, "info">, pid = process.pid): void {
  try {
    if (getPriority(pid) < nice) setPriority(pid, nice);
  } catch (thrown) {
    // A system that refuses it runs jobs all the same.
    log.info("the worker could not lower its priority", { error: messageOf(thrown) });
  }
}
