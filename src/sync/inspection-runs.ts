import { type Clock, OperatingError } from "../kernel/index.ts";
import type { Cause, HandlerContext } from "../router/index.ts";
import { type ArtifactEntryInput, dataTypeOf, isUsable, parseEntries } from "./artifact.ts";
import type { ArtifactCatalog } from "./catalog.ts";
import type { Damage, Inspection } from "./file-check.ts";
import type { InspectionEvents } from "./inspection-events.ts";
import { beginRun, endRun, noteAnnounced } from "./run-operations.ts";
import { unknownArtifact } from "./unknown-artifact.ts";

export interface DamagedFile {
  readonly sha256: string;
  readonly damage: Damage;
}

/** How a run ended; the same however often it is asked for. */
export type RunOutcome =
  | { readonly state: "completed"; readonly artifacts: number; readonly bytes: number; readonly games: number }
  | { readonly state: "failed"; readonly error: string; readonly damaged: readonly DamagedFile[] };

export interface SyncBatch {
  readonly syncId: string;
  readonly configKey: string;
  readonly entries: readonly ArtifactEntryInput[];
  /** The event that it follows from, if it follows from one. */
  readonly cause?: Cause | undefined;
}

export interface Distribution {
  readonly modelId: string;
  readonly sha256: string;
  readonly configKey: string;
  readonly cause?: Cause | undefined;
}

export interface RunPorts {
  readonly catalog: ArtifactCatalog;
  readonly clock: Clock;
  readonly nodeId: string;
  readonly events: InspectionEvents;
  /** One commit in the name of the store. */
  readonly transact: (body: (context: HandlerContext) => void) => Promise<void>;
  readonly inspectAll: (sha256s: readonly string[], signal?: AbortSignal) => Promise<Inspection[]>;
}

export const damagedOf = (found: readonly Inspection[]): DamagedFile[] =>
  found.flatMap((one) => (one.sound ? [] : [{ sha256: one.sha256, damage: one.damage }]));
export const bytesOf = (found: readonly Inspection[]): number =>
  found.reduce((sum, one) => sum + (one.sound ? one.bytes : 0), 0);
const errorOf = (damaged: readonly DamagedFile[]): string =>
  `${damaged.length} of the files ${damaged.length === 1 ? "is" : "are"} damaged: ${damaged
    .slice(0, 10)
    .map(({ sha256, damage }) => `${sha256} (${damage})`)
    .join(", ")}`;

/** What is told in a commit follows from the cause. */
const following = (context: HandlerContext, cause: Cause | undefined): HandlerContext => ({
  ...context,
  emit: (type, payload, own = cause) => context.emit(type, payload, own),
});

/** When a run ends, how long it took, and at which attempt. */
interface Ending {
  readonly now: number;
  readonly seconds: number;
  readonly attempts: number;
}

const outcomeOf = (found: readonly Inspection[], games: number): RunOutcome => {
  const damaged = damagedOf(found);
  return damaged.length > 0
    ? { state: "failed", error: errorOf(damaged), damaged }
    : { state: "completed", artifacts: found.length, bytes: bytesOf(found), games };
};

/**
 * Runs of two commits: one that begins it, and one that ends it with what was found in between. They are rows, so a run that
 * died goes on where it was, and one that has ended is asked, not done again.
 */
export function createRuns({ catalog, clock, nodeId, events, transact, inspectAll }: RunPorts) {
  /** One run of a name at a time; who asks meanwhile waits for it. */
  const running = new Map<string, Promise<RunOutcome>>();

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

  /** Ends a run with what was found; `emitEnd` says it. A run that has ended meanwhile stays as it is. */
  const end = async (
    runId: string,
    outcome: RunOutcome,
    cause: Cause | undefined,
    emitEnd: (context: HandlerContext, ending: Ending) => void,
  ): Promise<RunOutcome> => {
    await transact((context) => {
      const run = catalog.run(runId);
      if (run === undefined || run.state !== "running") return;
      const now = clock.now();
      const { attempts } = run;
      emitEnd(following(context, cause), { now, seconds: Math.max(0, now - run.started_at) / 1_000, attempts });
      const args = { run_id: runId, attempts, state: outcome.state, outcome: JSON.stringify(outcome), at: now };
      context.rows.apply(endRun(args));
    });
    return endOf(runId) ?? outcome;
  };

  const runBatch = async (batch: SyncBatch, runId: string, signal?: AbortSignal): Promise<RunOutcome> => {
    const { syncId: sync_id, configKey: config_key, cause } = batch;
    const ended = endOf(runId);
    if (ended !== undefined) return ended;
    const entries = parseEntries(batch.entries);
    if (entries.length === 0) throw OperatingError.internal("SYNC_EMPTY", `the batch ${sync_id} has no files`);
    const about = { sync_id, node_id: nodeId, data_type: dataTypeOf(entries.map(({ kind }) => kind)) };
    await transact(({ rows, emit }) => {
      if (catalog.run(runId) !== undefined) return;
      catalog.join({ rows }).record(entries);
      rows.apply(beginRun({ run_id: runId, config_key, model_id: null, sha256: null, attempts: 1, at: clock.now() }));
      emit("DATA_SYNC_STARTED", { ...about, config_key, target_node_ids: [nodeId] }, cause);
    });
    const found = await inspectAll(
      entries.map(({ sha256 }) => sha256),
      signal,
    );
    const games = found.reduce((sum, { sha256 }) => sum + (catalog.get(sha256)?.counted ?? 0), 0);
    const outcome = outcomeOf(found, games);
    const emitEnd = (context: HandlerContext, { now, seconds }: Ending) => {
      events.inspected(context, found, now, "models");
      const announced = events.announce(context, found);
      context.rows.apply(noteAnnounced({ sha256s: announced, at: now }));
      if (outcome.state === "failed")
        context.emit("DATA_SYNC_FAILED", {
          ...about,
          error: outcome.error,
          retryable: outcome.damaged.every(({ sha256 }) => catalog.rebuildOf(sha256) !== undefined),
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
    return end(runId, outcome, cause, emitEnd);
  };

  const runDistribution = async (given: Distribution, runId: string, signal?: AbortSignal): Promise<RunOutcome> => {
    const { modelId: model_id, sha256, configKey: config_key, cause } = given;
    const artifact = catalog.get(sha256);
    if (artifact === undefined) throw unknownArtifact(sha256);
    const last = catalog.run(runId);
    const ended = endOf(runId);
    if (ended?.state === "completed" && isUsable(artifact)) return ended;
    const about = { model_id, artifact_hash: sha256, node_ids: [nodeId], config_key };
    if (last?.state !== "running")
      await transact(({ rows, emit }) => {
        const attempts = (catalog.run(runId)?.attempts ?? 0) + 1;
        rows.apply(beginRun({ run_id: runId, config_key, model_id, sha256, attempts, at: clock.now() }));
        emit("MODEL_DISTRIBUTION_STARTED", { ...about, artifact_bytes: artifact.bytes }, cause);
      });
    const found = await inspectAll([sha256], signal);
    const outcome = outcomeOf(found, 0);
    const emitEnd = (context: HandlerContext, { now, seconds, attempts }: Ending) => {
      events.inspected(context, found, now, "models");
      if (outcome.state === "failed")
        context.emit("MODEL_DISTRIBUTION_FAILED", {
          model_id,
          error: outcome.error,
          retryable: catalog.rebuildOf(sha256) !== undefined,
          missing_node_ids: [nodeId],
          attempts,
          config_key,
        });
      else context.emit("MODEL_DISTRIBUTION_COMPLETE", { ...about, duration_seconds: seconds });
    };
    return end(runId, outcome, cause, emitEnd);
  };

  return {
    /**
     * Looks through the files of a batch and records them: DATA_SYNC_STARTED, then DATA_SYNC_COMPLETED, or DATA_SYNC_FAILED
     * if one of them is damaged. Sound games are announced once either way. Asked again it gives the same answer, and after
     * a crash or an abort it does the rest.
     */
    syncBatch(batch: SyncBatch, signal?: AbortSignal): Promise<RunOutcome> {
      const runId = `sync:${batch.syncId}`;
      return once(runId, () => runBatch(batch, runId, signal));
    },
    /** The same for a model that all nodes may fetch from now on. One that failed, or was lost since, is tried anew. */
    distribute(given: Distribution, signal?: AbortSignal): Promise<RunOutcome> {
      const runId = `model:${given.modelId}:${given.sha256}`;
      return once(runId, () => runDistribution(given, runId, signal));
    },
  };
}
