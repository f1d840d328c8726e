import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { defineTable, type Store } from "../../router/index.ts";
import { regressions } from "../evaluation/regressions-table.ts";
import type { Wait } from "../iteration.ts";
import { type Rollback, rollbacks } from "../training/training-line.ts";
import { champions, crown, lastGood, withdrawnModels } from "./champion.ts";
import { championHistory, checkOutcomes } from "./champion-rows.ts";
import { type ConfigKey, eachConfig } from "./loop-parts.ts";
import { checkpointOf } from "./training-runs.ts";

export interface ModelRollbackPorts {
  readonly store: Pick<Store, "read">;
  readonly settings?: Partial<ModelRollbackSettings>;
}

export interface ModelRollbackSettings {
  readonly everyMs: number;
}

export const modelRollbackDefaults: ModelRollbackSettings = { everyMs: 2_000 };

/** A champion that should go and cannot, and why. By config_key. */
export type RefusedRollback = { readonly generation: number; readonly waits: readonly Wait[] };
export const refusedRollbacks = defineTable<RefusedRollback>("pipeline_refused_rollbacks");

type Said = "PROMOTION_ROLLED_BACK" | "TRAINING_ROLLBACK_COMPLETED";
export type RollbackContext = Pick<UnitContext<Said>, "rows" | "emit" | "now">;

export interface RollbackOrder {
  readonly configKey: ConfigKey;
  readonly reason: string;
  readonly by: string;
  /** Opponents that could not play are not gone back to. */
  readonly except?: readonly string[];
}

export type RollbackOutcome =
  | { readonly restored: string; readonly withdrawn: string; readonly checkpoint: string | null }
  | { readonly refused: string; readonly actual: string; readonly required: string };

/** Where a rollback would lead, or why there is none: what it does and what a dry run shows. */
export function planRollback(
  { rows }: Pick<RollbackContext, "rows">,
  store: Pick<Store, "read">,
  { configKey, except = [] }: Pick<RollbackOrder, "configKey" | "except">,
): RollbackOutcome {
  const champion = rows.get(champions, configKey);
  if (champion === undefined) return { refused: "there is no champion", actual: "none", required: "a champion" };
  const history = championHistory(store, configKey);
  if (withdrawnModels(history).has(champion.model))
    return {
      refused: "it was withdrawn once before, and a person put it back",
      actual: champion.model,
      required: "another champion, by a person's word",
    };
  const target = lastGood(history, checkOutcomes(store, configKey), champion.model, except);
  if (target === undefined)
    return {
      refused: "there is no good champion to go back to",
      actual: "none",
      required: "one that was not withdrawn",
    };
  const checkpoint = checkpointOf(store, configKey, target.model);
  return { restored: target.model, withdrawn: champion.model, checkpoint };
}

/** Restores the last good champion by compare and set, sets the line of training back to it, and tells both. */
export function rollBack(context: RollbackContext, store: Pick<Store, "read">, order: RollbackOrder): RollbackOutcome {
  const planned = planRollback(context, store, order);
  if ("refused" in planned) return planned;
  const { rows, emit, now } = context;
  const { configKey, reason, by } = order;
  const { restored, withdrawn, checkpoint } = planned;
  const { iteration } = rows.get(champions, configKey)!;
  const evidence = { reason, withdrawn };
  const crowned = crown(context, {
    configKey,
    model: restored,
    expected: withdrawn,
    iteration,
    cause: "rollback",
    by,
    evidence,
  });
  const row: Rollback = { generation: crowned.generation, withdrawn, restored, checkpoint, reason, at: now };
  rows.put(rollbacks, configKey, row);
  const told = { config_key: configKey, model_id: withdrawn, restored_model_id: restored, reason };
  emit.PROMOTION_ROLLED_BACK({ ...told, artifact_hash: restored });
  if (checkpoint !== null) emit.TRAINING_ROLLBACK_COMPLETED({ ...told, artifact_hash: checkpoint });
  return planned;
}

/**
 * Decides the way back: a champion that is severely or critically weaker, or broken, makes room for the last good one. Never
 * twice for one model, and never to one that was withdrawn itself. It has a loop, as a lost event must not leave a weak
 * champion in its place.
 */
export const modelRollback = ({ store, settings: given = {} }: ModelRollbackPorts) => {
  const settings = { ...modelRollbackDefaults, ...given };

  const reconcile = (configKey: ConfigKey, context: UnitContext<Said>) => {
    const { rows, log, now } = context;
    const regression = rows.get(regressions, configKey);
    const champion = rows.get(champions, configKey);
    if (regression?.state !== "regressed" || regression.generation !== champion?.generation) return;
    const { reason, excluded } = regression;
    const outcome = rollBack(context, store, { configKey, reason, by: "model_rollback", except: excluded });
    if (!("refused" in outcome)) {
      log.warn("a champion was withdrawn", { config_key: configKey, ...outcome, reason });
      return;
    }
    if (rows.get(refusedRollbacks, configKey)?.generation === champion.generation) return;
    log.error("a champion should go and cannot", { config_key: configKey, why: outcome.refused, reason });
    const { refused, actual, required } = outcome;
    rows.put(refusedRollbacks, configKey, {
      generation: champion.generation,
      waits: [{ for: `a rollback: ${refused}`, actual, required, since: now }],
    });
  };

  return defineDaemon({
    name: "model_rollback",
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["RecoveryOrchestrator"],
    dependsOn: ["model_performance_watchdog", "model_coordinator"],
    emits: ["PROMOTION_ROLLED_BACK", "TRAINING_ROLLBACK_COMPLETED"],
    state: { tables: { rollbacks, refusedRollbacks } },
    on: onEach(
      ["REGRESSION_SEVERE", "REGRESSION_CRITICAL", "TRAINING_ROLLBACK_NEEDED"],
      ({ payload }, context: UnitContext<Said>) => reconcile(payload.config_key, context),
    ),
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => {
      const stuck = rows
        .list(refusedRollbacks)
        .filter(([key, { generation }]) => rows.get(champions, key)?.generation === generation);
      return stuck.length === 0
        ? { status: "running", message: "" }
        : { status: "degraded", message: stuck.map(([key, { waits }]) => `${key}: ${waits[0]!.for}`).join(", ") };
    },
  });
};
