import type { TermWriter } from "../../../cluster/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import type { Store } from "../../../router/index.ts";
import { createCommitQueue, storeClosed, storeOver } from "../commit-queue.ts";
import { createReader } from "../reader.ts";
import { openReader } from "../writer.ts";

/**
 * The store of one term: commits go through the log, reads see what was committed here. When the term is over it refuses for good, and
 * whoever works with it has to end; the next term has a store of its own.
 *
 * It reads on a connection of its own: that of the writer would show what the log has not accepted yet.
 */
export function replicatedStore(writer: Pick<TermWriter, "apply" | "ended">, path: string, clock: Clock): Store {
  const reader = openReader(path);
  const queue = createCommitQueue(clock, (batch) => {
    void writer.apply(batch).then((outcomes) => queue.settle(outcomes));
  });
  void writer.ended.then((why) => queue.close(why));
  const scans = createReader(path, clock);
  return storeOver(
    queue,
    reader,
    async () => {
      await queue.drained();
      queue.close(storeClosed());
      await scans.close();
      if (reader.isOpen) reader.close();
    },
    scans.scan,
  );
}
