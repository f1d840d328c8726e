import { definePart } from "../daemons/index.ts";
import { type Clock, type Log, messageOf, sleep } from "../kernel/index.ts";
import type { EventRouter, HandlerContext, Store } from "../router/index.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import { awaitedFiles } from "./awaited-files.ts";
import type { ArtifactCatalog } from "./catalog.ts";
import type { Inspection } from "./file-check.ts";
import { createInspectionEvents } from "./inspection-events.ts";
import { bytesOf, createRuns, damagedOf } from "./inspection-runs.ts";
import { INSPECTED_AT_ONCE, NOTED_AT_ONCE, scrubDefaults } from "./limits.ts";

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

export interface ArtifactInspectorPorts {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Pick<Store, "read">;
  readonly files: Pick<ArtifactStore, "inspect" | "onDamage">;
  readonly catalog: ArtifactCatalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeId: string;
  /** Whether a file that does not lie here may still come from elsewhere; never unless given. */
  readonly isAwaited?: ((sha256: string) => boolean) | undefined;
}

/** Where artifacts are handed in and out: looks at their bytes, keeps their rows right, and tells. */
export function createArtifactInspector(ports: ArtifactInspectorPorts) {
  const { router, store, files, catalog, clock, log, nodeId, isAwaited = () => false } = ports;
  const events = createInspectionEvents({ store, catalog, nodeId });
  const transact = (body: (context: HandlerContext) => void): Promise<void> =>
    router.transact({ source: ARTIFACT_STORE, validation: "strict" }, body);

  /** That a file does not lie here says nothing of it while it may come: it is judged when it is here, or when nobody has it. */
  const isToCome = (one: Inspection): boolean => !one.sound && one.damage === "missing" && isAwaited(one.sha256);
  const lookAtAll = async (sha256s: readonly string[], signal?: AbortSignal): Promise<Inspection[]> => {
    const all = [...new Set(sha256s)];
    const found: Inspection[] = [];
    let next = 0;
    const work = async () => {
      for (let i = next++; i < all.length; i = next++)
        found[i] = await files.inspect(all[i]!, { bytes: catalog.get(all[i]!)?.bytes, signal });
    };
    await Promise.all(Array.from({ length: INSPECTED_AT_ONCE }, work));
    return found;
  };
  const inspectAll = async (sha256s: readonly string[], signal?: AbortSignal): Promise<Inspection[]> => {
    const found = await lookAtAll(sha256s, signal);
    const awaited = found.filter(isToCome);
    if (awaited.length > 0) throw awaitedFiles(awaited.map(({ sha256 }) => sha256));
    return found;
  };

  const note = async (all: readonly Inspection[]): Promise<void> => {
    const found = all.filter((one) => !isToCome(one));
    for (let at = 0; at < found.length; at += NOTED_AT_ONCE)
      await transact((context) => events.inspected(context, found.slice(at, at + NOTED_AT_ONCE), clock.now(), "each"));
  };

  const runs = createRuns({ catalog, clock, nodeId, events, transact, inspectAll });

  const close = files.onDamage((found) => {
    note([found]).catch((thrown: unknown) =>
      log.error("the damage of an artifact was not stored", { sha256: found.sha256, error: messageOf(thrown) }),
    );
  });

  return {
    ...runs,
    /** Hashes files again. Damaged ones are set aside, their rows quarantined and their events emitted. */
    async verify(sha256s: readonly string[], signal?: AbortSignal): Promise<Inspection[]> {
      const found = await lookAtAll(sha256s, signal);
      await note(found);
      return found;
    },
    /** Verifies those that nobody looked at for longest, slowly. */
    async scrub({ signal, ...options }: Partial<typeof scrubDefaults> & { signal?: AbortSignal } = {}) {
      const { max, everyMs, bytesPerSecond } = { ...scrubDefaults, ...options };
      const rows = store.read<{ sha256: string; bytes: number; verified_at: number | null }>(
        `SELECT sha256, bytes, verified_at FROM sync_artifacts WHERE state IN ('in_flight', 'durable')
         ORDER BY verified_at LIMIT ?`,
        max,
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
    /** Stops listening to the store. */
    close,
  };
}

export type ArtifactInspector = ReturnType<typeof createArtifactInspector>;
