import { definePart } from "../daemons/index.ts";
import { type Clock, type Log, messageOf, sleep } from "../kernel/index.ts";
import type { AnyEvent, EventRouter, HandlerContext, Store } from "../router/index.ts";
import type { ArtifactStore, Inspection } from "./artifact-store.ts";
import type { ArtifactCatalog } from "./catalog.ts";
import {
  bytesOf,
  createRuns,
  type DamagedFile,
  type Distribution,
  damagedOf,
  type RunOptions,
  type RunOutcome,
  type SyncBatch,
} from "./runs.ts";
import { createTelling } from "./telling.ts";

export const ARTIFACT_STORE = "artifact_store";

/** The store of artifacts: it says what was looked through, what is there for everybody, and what is damaged. */
export const artifactStorePart = definePart({
  name: ARTIFACT_STORE,
  placement: "each-node",
  emits: [
    "DATABASE_CREATED",
    "DATA_SYNC_STARTED",
    "DATA_SYNC_COMPLETED",
    "DATA_SYNC_FAILED",
    "MODEL_DISTRIBUTION_STARTED",
    "MODEL_DISTRIBUTION_COMPLETE",
    "MODEL_DISTRIBUTION_FAILED",
    "MODEL_CORRUPTED",
  ],
});

export interface ScrubOptions {
  /** Files of one call. */
  readonly most?: number;
  /** Those that were looked at since are left alone. */
  readonly everyMs?: number;
  readonly bytesPerSecond?: number;
  readonly signal?: AbortSignal;
}

export const scrubDefaults = { most: 200, everyMs: 24 * 3_600_000, bytesPerSecond: 50_000_000 } as const;

export interface ArtifactDesk {
  /**
   * Looks through the files of a batch and records them: DATA_SYNC_STARTED, then DATA_SYNC_COMPLETED, or DATA_SYNC_FAILED if
   * one of them is damaged. Sound games are announced once either way. Asked again it gives the same answer, and after a
   * crash or an abort it does the rest.
   */
  syncBatch(batch: SyncBatch, options?: RunOptions): Promise<RunOutcome>;
  /** The same for a model that all nodes may fetch from now on. One that failed, or was lost since, is tried anew. */
  distribute(distribution: Distribution, options?: RunOptions): Promise<RunOutcome>;
  /** Hashes files again. Damaged ones are set aside, their rows quarantined and their events said. */
  verify(sha256s: readonly string[], signal?: AbortSignal): Promise<Inspection[]>;
  /** Verifies those that nobody looked at for longest, slowly. */
  scrub(options?: ScrubOptions): Promise<{ checked: number; bytes: number; damaged: DamagedFile[] }>;
  /** Stops listening to the store. */
  close(): void;
}

export interface ArtifactDeskPorts {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Pick<Store, "read">;
  readonly files: Pick<ArtifactStore, "inspect" | "onDamage">;
  readonly catalog: ArtifactCatalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  /** Other nodes that are known to have a file. */
  readonly holdersOf?: (sha256: string) => readonly string[];
}

const AT_ONCE = 4;
const IN_COMMIT = 200;

/** Where artifacts are handed in and out: looks at their bytes, keeps their rows right, and tells. */
export function createArtifactDesk(ports: ArtifactDeskPorts): ArtifactDesk {
  const { router, store, files, catalog, clock, log, nodeId } = ports;
  const telling = createTelling({ store, catalog, nodeId });
  const transact = (body: (context: HandlerContext) => void, cause?: AnyEvent): Promise<void> =>
    router.transact(
      { source: ARTIFACT_STORE, validation: "strict", ...(cause === undefined ? {} : { parent: cause }) },
      body,
    );

  const inspectAll = async (sha256s: readonly string[], signal?: AbortSignal): Promise<Inspection[]> => {
    const all = [...new Set(sha256s)];
    const found: Inspection[] = [];
    let next = 0;
    const work = async () => {
      for (let i = next++; i < all.length; i = next++)
        found[i] = await files.inspect(all[i]!, { bytes: catalog.get(all[i]!)?.bytes, signal });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return found;
  };

  const note = async (found: readonly Inspection[]): Promise<void> => {
    for (let at = 0; at < found.length; at += IN_COMMIT)
      await transact((context) => telling.inspected(context, found.slice(at, at + IN_COMMIT), clock.now(), "each"));
  };

  const holdersOf = ports.holdersOf ?? (() => []);
  const runs = createRuns({ catalog, clock, nodeId, telling, transact, inspectAll, holdersOf });

  const close = files.onDamage((found) => {
    note([found]).catch((thrown: unknown) =>
      log.error("the damage of an artifact was not noted", { sha256: found.sha256, error: messageOf(thrown) }),
    );
  });

  return {
    syncBatch: (batch, options = {}) => runs.syncBatch(batch, options),
    distribute: (given, options = {}) => runs.distribute(given, options),
    async verify(sha256s, signal) {
      const found = await inspectAll(sha256s, signal);
      await note(found);
      return found;
    },
    async scrub({ signal, ...options } = {}) {
      const { most, everyMs, bytesPerSecond } = { ...scrubDefaults, ...options };
      const rows = store.read<{ sha256: string; bytes: number; verified_at: number | null }>(
        `SELECT sha256, bytes, verified_at FROM sync_artifacts WHERE state IN ('in_flight', 'durable')
         ORDER BY verified_at LIMIT ?`,
        most,
      );
      const before = clock.now() - everyMs;
      const found: Inspection[] = [];
      for (const { sha256, bytes } of rows.filter(({ verified_at }) => (verified_at ?? 0) < before)) {
        found.push(await files.inspect(sha256, { bytes, signal }));
        await sleep(clock, (bytes / bytesPerSecond) * 1_000, signal);
      }
      await note(found);
      return { checked: found.length, bytes: bytesOf(found), damaged: damagedOf(found) };
    },
    close,
  };
}
