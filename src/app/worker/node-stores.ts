/** S3_NODE_SYNC: what this node holds is brought to the S3 stores of its file of places, where any node can fetch it. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Log, messageOf } from "../../kernel/index.ts";
import type { CopiesAnswer } from "../../surfaces/index.ts";
import type { PackedFiles, Source, Transfers, Wanted } from "../../sync/index.ts";

export interface StorePorts {
  readonly folder: string;
  /** Files of this node that lie together. */
  readonly packed?: PackedFiles | undefined;
  readonly stores: readonly Source[];
  readonly transfers: Pick<Transfers, "put">;
  readonly log: Log;
}

const POLICY = "S3_NODE_SYNC";
/** Files that are brought in one go, and those that wait for it at most. */
const AT_ONCE = 50;
const MAX_WAITING = 100_000;

export function fillStores({ folder, packed, stores, transfers, log }: StorePorts) {
  const waiting = new Set<string>();
  let isOn = false;
  let running: Promise<void> | undefined;

  const note = (sha256s: readonly string[]): void => {
    for (const sha256 of sha256s) if (isOn && waiting.size < MAX_WAITING) waiting.add(sha256);
  };

  const bring = async (signal: AbortSignal): Promise<void> => {
    const some = [...waiting].slice(0, AT_ONCE);
    const wanted: Wanted[] = [];
    // What is sent to a store is read by its path.
    await packed?.makeFiles(some);
    for (const sha256 of some) {
      waiting.delete(sha256);
      const about = await stat(join(folder, sha256)).catch(() => undefined);
      // One that has gone meanwhile is nobody's loss: it went because it may.
      if (about !== undefined) wanted.push({ sha256, bytes: about.size });
    }
    for (const to of wanted.length === 0 ? [] : stores) {
      const { failed } = await transfers.put({ wanted, to, priority: "low", signal });
      const [first] = failed;
      if (first === undefined) continue;
      log.warn("files could not be brought to a store; they are tried again", { files: failed.length, ...first });
      note(failed.map(({ sha256 }) => sha256));
    }
  };

  /** Goes on in the background; one go at a time. */
  const work = (signal: AbortSignal): void => {
    if (waiting.size === 0 || running !== undefined) return;
    running = bring(signal)
      .catch((thrown: unknown) => {
        if (!signal.aborted) log.warn("files could not be brought to a store", { error: messageOf(thrown) });
      })
      .finally(() => {
        running = undefined;
      });
  };

  return {
    /**
     * What the main process has said of copies that it was shown. When the policy comes on, all copies that it knows here are brought once,
     * and from then on each new one.
     */
    async told(
      shown: readonly string[],
      { held, policies }: Pick<CopiesAnswer, "held" | "policies">,
      listed: () => Promise<readonly { readonly sha256: string }[]>,
      signal: AbortSignal,
    ): Promise<void> {
      if (stores.length === 0) return;
      if (!policies.includes(POLICY)) {
        isOn = false;
        return waiting.clear();
      }
      const more = isOn ? shown.filter((_, i) => held[i] === "counted") : (await listed()).map(({ sha256 }) => sha256);
      isOn = true;
      note(more);
      work(signal);
    },
    get isBusy(): boolean {
      return waiting.size > 0;
    },
    ended: async (): Promise<void> => running,
  };
}

export type StoreFiller = ReturnType<typeof fillStores>;
