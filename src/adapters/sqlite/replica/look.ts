/**
 * What the rows come to at one entry, beside the writer: a million of them take seconds, in which a leader that did nothing else would
 * lose its lease.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as otherWork } from "node:timers/promises";
import { assert } from "../../../kernel/index.ts";
import { rowsDigestSteps } from "./digests.ts";

/** For so long it reads at once. */
const SLICE_MS = 10;

export interface Look {
  /** Begins with the rows as they were just committed at this entry. One that is under way is given up: the newer one counts. */
  begin(seq: number): void;
  /** Resolves when none is under way. */
  readonly done: () => Promise<void>;
  stop(): void;
}

export function createLook(open: () => DatabaseSync, found: (seq: number, digest: string) => void): Look {
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function look(reader: DatabaseSync, seq: number, { signal }: AbortController): Promise<void> {
    try {
      const steps = rowsDigestSteps(reader);
      for (let begun = performance.now(); !signal.aborted; ) {
        const { done, value } = steps.next();
        if (done === true) return found(seq, value);
        if (performance.now() - begun < SLICE_MS) continue;
        await otherWork();
        begun = performance.now();
      }
      // Ends what still reads.
      steps.return("");
    } finally {
      reader.close();
    }
  }

  return {
    begin(seq) {
      stopping.abort();
      stopping = new AbortController();
      const reader = open();
      reader.exec("BEGIN");
      const at = reader.prepare("SELECT seq FROM replica_position").get() as { seq: number };
      assert(at.seq === seq, `rows are looked at as entry ${seq} left them, not ${at.seq}`);
      running = look(reader, seq, stopping);
      // Whoever waits for it is told.
      running.catch(() => {});
    },
    done: () => running,
    stop: () => stopping.abort(),
  };
}
