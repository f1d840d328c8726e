import { definePart } from "../daemons/index.ts";
import { type Clock, type Log, messageOf, OperatingError, sleep } from "../kernel/index.ts";
import type { AnyEvent, EventRouter, HandlerContext, Store } from "../router/index.ts";
import { type ArtifactEntryInput, dataTypeOf, parseEntries, unknownArtifact } from "./artifact.ts";
import type { ArtifactStore, Damage, Inspection } from "./artifact-store.ts";
import type { ArtifactCatalog } from "./catalog.ts";
import { beginRun, endRun, noteAnnounced } from "./run-operations.ts";
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

export interface DamagedFile {
  readonly sha256: string;
  readonly damage: Damage;
}

/** How a run ended; the same however often it is asked for. */
export type RunOutcome =
  | { readonly state: "completed"; readonly artifacts: number; readonly bytes: number; readonly games: number }
  | { readonly state: "failed"; readonly error: string; readonly damaged: readonly DamagedFile[] };

export interface SyncBatch {
  readonly sync_id: string;
  readonly config_key: string;
  readonly entries: readonly ArtifactEntryInput[];
}

export interface Distribution {
  readonly model_id: string;
  readonly sha256: string;
  readonly config_key: string;
}

export interface RunOptions {
  readonly signal?: AbortSignal;
  /** The event that is the reason for it. */
  readonly cause?: AnyEvent;
}

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

const damagedOf = (found: readonly Inspection[]): DamagedFile[] =>
  found.flatMap((one) => (one.sound ? [] : [{ sha256: one.sha256, damage: one.damage }]));
const bytesOf = (found: readonly Inspection[]): number =>
  found.reduce((sum, one) => sum + (one.sound ? one.bytes : 0), 0);
const errorOf = (damaged: readonly DamagedFile[]): string =>
  `${damaged.length} of the files ${damaged.length === 1 ? "is" : "are"} damaged: ${damaged
    .slice(0, 10)
    .map(({ sha256, damage }) => `${sha256} (${damage})`)
    .join(", ")}`;

/** Where artifacts are handed in and out: looks at their bytes, keeps their rows right, and tells. */
export function createArtifactDesk(ports: ArtifactDeskPorts): ArtifactDesk {
  const { router, store, files, catalog, clock, log, nodeId } = ports;
  const telling = createTelling({ store, catalog, nodeId });
  /** One run of a name at a time; who asks meanwhile waits for it. */
  const running = new Map<string, Promise<RunOutcome>>();

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

  const once = (runId: string, run: () => Promise<RunOutcome>): Promise<RunOutcome> => {
    const under = running.get(runId);
    if (under !== undefined) return under;
    const begun = run().finally(() => running.delete(runId));
    running.set(runId, begun);
    return begun;
  };

  /** What the run has come to, if it has. */
  const endOf = (runId: string): RunOutcome | undefined => {
    const run = catalog.run(runId);
    return run === undefined || run.state === "running" ? undefined : (JSON.parse(run.outcome!) as RunOutcome);
  };

  /** Ends a run with what was found; `tell` says it. A run that has ended meanwhile stays as it is. */
  const end = async (
    runId: string,
    outcome: RunOutcome,
    tell: (context: HandlerContext, about: { now: number; seconds: number; attempts: number }) => void,
    cause: AnyEvent | undefined,
  ): Promise<RunOutcome> => {
    await transact((context) => {
      const run = catalog.run(runId);
      if (run === undefined || run.state !== "running") return;
      const now = clock.now();
      const { attempts } = run;
      tell(context, { now, seconds: Math.max(0, now - run.started_at) / 1_000, attempts });
      const args = { run_id: runId, attempts, state: outcome.state, outcome: JSON.stringify(outcome), at: now };
      context.rows.apply(endRun(args));
    }, cause);
    return endOf(runId) ?? outcome;
  };

  const runBatch = async (batch: SyncBatch, runId: string, { signal, cause }: RunOptions): Promise<RunOutcome> => {
    const { sync_id, config_key } = batch;
    const ended = endOf(runId);
    if (ended !== undefined) return ended;
    const entries = parseEntries(batch.entries);
    if (entries.length === 0) throw new OperatingError("SYNC_EMPTY", `the batch ${sync_id} has no files`);
    const about = { sync_id, node_id: nodeId, data_type: dataTypeOf(entries.map(({ kind }) => kind)) };
    await transact(({ rows, emit }) => {
      if (catalog.run(runId) !== undefined) return;
      catalog.join({ rows }).record(entries);
      rows.apply(beginRun({ run_id: runId, config_key, model_id: null, sha256: null, attempts: 1, at: clock.now() }));
      emit("DATA_SYNC_STARTED", { ...about, config_key, target_node_ids: [nodeId] });
    }, cause);
    const found = await inspectAll(
      entries.map(({ sha256 }) => sha256),
      signal,
    );
    const damaged = damagedOf(found);
    const games = found.reduce((sum, { sha256 }) => sum + (catalog.get(sha256)?.counted ?? 0), 0);
    const outcome: RunOutcome =
      damaged.length > 0
        ? { state: "failed", error: errorOf(damaged), damaged }
        : { state: "completed", artifacts: found.length, bytes: bytesOf(found), games };
    const tell = (context: HandlerContext, { now, seconds }: { now: number; seconds: number }) => {
      telling.inspected(context, found, now, "models");
      const announced = telling.announce(context, found);
      context.rows.apply(noteAnnounced({ sha256s: announced, at: now }));
      if (outcome.state === "failed")
        context.emit("DATA_SYNC_FAILED", {
          ...about,
          error: outcome.error,
          retryable: damaged.every(({ sha256 }) => catalog.rebuildOf(sha256) !== undefined),
          attempts: 1,
        });
      else
        context.emit("DATA_SYNC_COMPLETED", {
          ...about,
          artifacts: outcome.artifacts,
          bytes_transferred: outcome.bytes,
          duration_seconds: seconds,
          config_key,
          target_node_ids: [nodeId],
          transport: "local",
          ...(games > 0 ? { games } : {}),
        });
    };
    return end(runId, outcome, tell, cause);
  };

  const runDistribution = async (given: Distribution, runId: string, { signal, cause }: RunOptions) => {
    const { model_id, sha256, config_key } = given;
    const artifact = catalog.get(sha256);
    if (artifact === undefined) throw unknownArtifact(sha256);
    const isUsable = (artifact.state === "in_flight" || artifact.state === "durable") && artifact.freed_at === null;
    const last = catalog.run(runId);
    const ended = endOf(runId);
    if (ended?.state === "completed" && isUsable) return ended;
    const nodes = () => [...new Set([nodeId, ...(ports.holdersOf?.(sha256) ?? [])])];
    if (last?.state !== "running")
      await transact(({ rows, emit }) => {
        const attempts = (catalog.run(runId)?.attempts ?? 0) + 1;
        rows.apply(beginRun({ run_id: runId, config_key, model_id, sha256, attempts, at: clock.now() }));
        const about = { model_id, artifact_hash: sha256, config_key };
        emit("MODEL_DISTRIBUTION_STARTED", { ...about, node_ids: nodes(), artifact_bytes: artifact.bytes });
      }, cause);
    const found = await inspectAll([sha256], signal);
    const damaged = damagedOf(found);
    const outcome: RunOutcome =
      damaged.length > 0
        ? { state: "failed", error: errorOf(damaged), damaged }
        : { state: "completed", artifacts: 1, bytes: bytesOf(found), games: 0 };
    const tell = (
      context: HandlerContext,
      { now, seconds, attempts }: { now: number; seconds: number; attempts: number },
    ) => {
      telling.inspected(context, found, now, "models");
      if (outcome.state === "failed")
        context.emit("MODEL_DISTRIBUTION_FAILED", {
          model_id,
          error: outcome.error,
          retryable: catalog.rebuildOf(sha256) !== undefined,
          missing_node_ids: [nodeId],
          attempts,
          config_key,
        });
      else
        context.emit("MODEL_DISTRIBUTION_COMPLETE", {
          model_id,
          artifact_hash: sha256,
          node_ids: nodes(),
          duration_seconds: seconds,
          config_key,
        });
    };
    return end(runId, outcome, tell, cause);
  };

  const close = files.onDamage((found) => {
    note([found]).catch((thrown: unknown) =>
      log.error("the damage of an artifact was not noted", { sha256: found.sha256, error: messageOf(thrown) }),
    );
  });

  return {
    syncBatch: (batch, options = {}) =>
      once(`sync:${batch.sync_id}`, () => runBatch(batch, `sync:${batch.sync_id}`, options)),
    distribute: (given, options = {}) =>
      once(`model:${given.model_id}:${given.sha256}`, () =>
        runDistribution(given, `model:${given.model_id}:${given.sha256}`, options),
      ),
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
