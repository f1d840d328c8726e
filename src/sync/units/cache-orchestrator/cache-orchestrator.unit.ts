import { type ContextOf, defineDaemon, type Wiring } from "../../../daemons/index.ts";
import type { PayloadFor } from "../../../events/index.ts";
import { defineTable } from "../../../router/index.ts";
import { invalidateCopies } from "../../copies/invalid-operations.ts";
import { cacheLimits } from "../../limits.ts";
import type { SyncUnitServices } from "../../services.ts";
import { type Withdrawn, whatToForget } from "./decide.ts";

const wiring = {
  name: "cache_orchestrator",
  layer: 1,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["CACHE_COORDINATION"],
  alsoKnownAs: ["CacheCoordinationOrchestrator", "CacheCoordinator"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["CACHE_INVALIDATED"],
} as const satisfies Wiring;

type Context = ContextOf<typeof wiring>;
type Payload = PayloadFor<"CACHE_INVALIDATED">;

/** Models that nobody shall play with, by their file: copies of one that come later are invalid too. */
const withdrawn = defineTable<Withdrawn>("sync_withdrawn");

const CACHED = `SELECT count(DISTINCT h.seq) AS models, count(DISTINCT h.node_id) AS nodes, count(*) AS copies
  FROM sync_artifacts a JOIN sync_held h ON h.seq = a.seq AND h.state = 'held' AND h.node_id <> ?
  WHERE a.kind = 'model' AND a.freed_at IS NULL`;
const HOLDERS = `SELECT h.node_id FROM sync_held h JOIN sync_artifacts a ON a.seq = h.seq
  WHERE a.sha256 = ? AND h.state = 'held' AND h.node_id <> ? ORDER BY h.node_id`;

/**
 * Knows from receipts which nodes cache which model, and declares copies invalid: of a champion that was rolled back, and of a model
 * whose file was found damaged anywhere. Every node is told until it has dropped its copy, or has hashed it anew where the
 * cluster cannot do without it.
 */
export const cacheOrchestrator = (
  { store, nodeId }: Pick<SyncUnitServices, "store" | "nodeId">,
  limits = cacheLimits,
) => {
  const invalidate = ({ rows, emit, now, log }: Context, model: string, reason: string, only?: string): void => {
    const held = store.read<{ node_id: string }>(HOLDERS, model, nodeId).map(({ node_id }) => node_id);
    const nodes = held.filter((node_id) => only === undefined || node_id === only);
    if (nodes.length === 0) return;
    rows.apply(invalidateCopies({ sha256: model, reason, at: now, except: nodeId, node_id: only }));
    log.info("copies of a model are invalid", { model, reason, nodes: nodes.length });
    emit.CACHE_INVALIDATED({
      model_id: model,
      artifact_hash: model as NonNullable<Payload["artifact_hash"]>,
      reason,
      node_ids: nodes as Payload["node_ids"],
    });
  };

  const withdraw = (context: Context, model: string, reason: string): void => {
    if (context.rows.get(withdrawn, model) !== undefined) return;
    context.rows.put(withdrawn, model, { reason, at: context.now });
    invalidate(context, model, reason);
  };

  return defineDaemon({
    ...wiring,
    state: { tables: { withdrawn } },
    on: {
      PROMOTION_ROLLED_BACK: ({ payload: { model_id } }, context) =>
        withdraw(context, model_id, "it was champion and was rolled back"),
      REGISTRY_UPDATED({ payload: { model_id, model_state } }, context) {
        if (model_state === "rolled_back") withdraw(context, model_id, "it was champion and was rolled back");
      },
      MODEL_CORRUPTED: ({ payload: { artifact_hash, damage } }, context) =>
        invalidate(context, artifact_hash, `a copy of it is damaged (${damage})`),
      // Whoever is champion again may be played with again.
      MODEL_PROMOTED: ({ payload: { model_id } }, { rows }) => rows.delete(withdrawn, model_id),
      P2P_MODEL_SYNCED({ payload: { model_id, node_id } }, context) {
        const known = context.rows.get(withdrawn, model_id);
        if (known !== undefined) invalidate(context, model_id, known.reason, node_id);
      },
    },
    loop: {
      everyMs: limits.everyMs,
      tick({ rows, now }) {
        for (const model of whatToForget(rows.list(withdrawn), now, limits)) rows.delete(withdrawn, model);
      },
    },
    health: ({ rows }) => {
      const [cached] = store.read<{ models: number; nodes: number; copies: number }>(CACHED, nodeId);
      const [waiting] = store.read<{ n: number }>("SELECT count(*) AS n FROM sync_invalid");
      const details = { ...cached, withdrawn: rows.list(withdrawn).length, invalid_copies: waiting?.n ?? 0 };
      const message =
        details.invalid_copies === 0 ? "" : `${details.invalid_copies} invalid copies are still to be dropped`;
      return { status: "running", message, details };
    },
  });
};
