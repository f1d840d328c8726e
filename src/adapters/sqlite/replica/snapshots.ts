import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { ClusterSnapshot } from "../../../cluster/index.ts";
import { createAskedThread, moduleBeside, OperatingError } from "../../../kernel/index.ts";
import type { SnapshotQuestion } from "./snapshot.thread.ts";
import type { Snapshot } from "./snapshot.ts";

/** Copies of one database for others to fetch, one at a time, since each is as large as the database. */
export function createSnapshots(path: string, into: string) {
  const thread = createAskedThread<SnapshotQuestion, Snapshot>(
    moduleBeside(import.meta.url, "./snapshot.thread"),
    (message) => OperatingError.internal("SNAPSHOT_FAILED", `the database could not be copied: ${message}`),
  );
  let isTaken = false;

  async function* readOnce(): AsyncIterable<Uint8Array> {
    try {
      yield* createReadStream(into, { highWaterMark: 2 ** 20 });
    } finally {
      await rm(into, { force: true });
      isTaken = false;
    }
  }

  return {
    async take(): Promise<ClusterSnapshot> {
      if (isTaken)
        throw OperatingError.busy("SNAPSHOT_BUSY", "another coordinator is fetching a snapshot", {
          hint: "Try again when it has joined.",
          details: { retryAfterSeconds: 10 },
        });
      isTaken = true;
      try {
        const { position, sha256, bytes } = await thread.ask({ path, into });
        return { ...position, sha256, bytes, read: readOnce };
      } catch (thrown) {
        isTaken = false;
        throw thrown;
      }
    },
    close: () => thread.close(),
  };
}
