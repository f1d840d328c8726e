import { defined } from "../kernel/index.ts";
import type { HandlerContext, Store } from "../router/index.ts";
import { type ArtifactRow, dataTypeOf } from "./artifact.ts";
import { type DamagedArtifact, noteDamaged, noteSound } from "./artifact-operations.ts";
import type { ArtifactCatalog } from "./catalog.ts";
import { noteCopies, noteGone } from "./copies/copy-operations.ts";
import type { Inspection } from "./file-check.ts";

type Damaged = Inspection & { readonly sound: false };

/** What a look at files means for their rows, and what is said of it in the same commit. */
export function createInspectionEvents(ports: {
  readonly store: Pick<Store, "read">;
  readonly catalog: Pick<ArtifactCatalog, "get" | "rebuildOf">;
  readonly nodeId: string;
}) {
  const { store, catalog, nodeId } = ports;

  /** The name under which a model was handed out; its hash before that. */
  const modelIdOf = (sha256: string): string =>
    store.read<{ model_id: string }>(
      "SELECT model_id FROM sync_runs WHERE sha256 = ? AND model_id IS NOT NULL ORDER BY run_id LIMIT 1",
      sha256,
    )[0]?.model_id ?? sha256;

  const emitDamage = (
    { emit }: HandlerContext,
    { sha256, damage, actual }: Damaged,
    row: ArtifactRow,
    each: boolean,
  ): void => {
    const { kind, config_key } = row;
    if (kind === "model")
      emit("MODEL_CORRUPTED", {
        model_id: modelIdOf(sha256),
        node_id: nodeId,
        artifact_hash: sha256,
        damage,
        ...defined({ actual_hash: actual ?? undefined, config_key: config_key ?? undefined }),
      });
    else if (each) {
      const job = catalog.rebuildOf(sha256)?.work_id;
      emit("DATA_SYNC_FAILED", {
        sync_id: `check:${sha256}`,
        node_id: nodeId,
        data_type: dataTypeOf([kind]),
        error: `the ${kind} ${sha256} of ${config_key} is damaged (${damage})${job === undefined ? "" : `; job ${job} made it`}`,
        retryable: job !== undefined,
      });
    }
  };

  return {
    /**
     * Notes what was found. Damage is told for each file, or only for models where the end of a run tells of the others. Files
     * that have no row, or are given up, are nobody's loss.
     */
    inspected(context: HandlerContext, found: readonly Inspection[], at: number, emitFor: "each" | "models"): void {
      const sound = found.filter((one) => one.sound).map(({ sha256 }) => sha256);
      if (sound.length > 0) {
        context.rows.apply(noteSound({ sha256s: sound, at }));
        context.rows.apply(noteCopies({ node_id: nodeId, sha256s: sound, by: nodeId, at, isHome: true }));
      }
      const damaged: DamagedArtifact[] = [];
      for (const one of found) {
        const row = one.sound ? undefined : catalog.get(one.sha256);
        if (one.sound || row === undefined || row.state === "freed" || row.state === "quarantined") continue;
        damaged.push({ sha256: one.sha256, damage: one.damage, from: row.state });
        if (row.state !== "rejected") emitDamage(context, one, row, emitFor === "each");
      }
      if (damaged.length === 0) return;
      context.rows.apply(noteDamaged({ damaged, at }));
      context.rows.apply(noteGone({ node_id: nodeId, sha256s: damaged.map(({ sha256 }) => sha256) }));
    },
    /** Says of sound games that they are there, each once. Gives those it said. */
    announce({ emit }: HandlerContext, found: readonly Inspection[]): string[] {
      return found.flatMap(({ sha256, sound }) => {
        const row = sound ? catalog.get(sha256) : undefined;
        if (row === undefined || row.kind !== "games" || row.games === 0 || row.announced_at !== null) return [];
        const { config_key, games, bytes } = row;
        emit("DATABASE_CREATED", { config_key, artifact_hash: sha256, node_id: nodeId, games, artifact_bytes: bytes });
        return [sha256];
      });
    },
  };
}

export type InspectionEvents = ReturnType<typeof createInspectionEvents>;
