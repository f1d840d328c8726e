/** The way back to the last good champion, by `model_rollback` or by a person's word. */
import type { UnitContext } from "../../daemons/index.ts";
import type { Store } from "../../router/index.ts";
import {
  championHistory,
  champions,
  checkOutcomes,
  checkpointOf,
  crown,
  lastGood,
  withdrawnModels,
} from "../models/index.ts";
import type { ConfigKey, Wait } from "../stage/index.ts";
import { rollbacks } from "../training/index.ts";

export interface RollbackOrder {
  readonly configKey: ConfigKey;
  readonly reason: string;
  readonly by: string;
  /** Opponents that could not play are not gone back to. */
  readonly except?: readonly string[];
}

/** Why there is no way back, in words. */
export const REFUSALS = {
  no_champion: "there is no champion",
  withdrawn_before: "it was withdrawn once before, and a person put it back",
  no_good_champion: "there is no good champion to go back to",
} as const;

export interface RestoredChampion {
  readonly restored: string;
  readonly withdrawn: string;
  readonly checkpoint: string | null;
}
type RefusedRollback = {
  readonly refused: keyof typeof REFUSALS;
  readonly actual: string;
  readonly required: string;
};

/** Restores the last good champion by compare and set, sets the line of training back to it, and tells both. */
export function rollBack(
  context: Pick<UnitContext<"PROMOTION_ROLLED_BACK" | "TRAINING_ROLLBACK_COMPLETED">, "rows" | "emit" | "now">,
  store: Pick<Store, "read">,
  { configKey, reason, by, except = [] }: RollbackOrder,
): RestoredChampion | RefusedRollback {
  const { rows, emit, now } = context;
  const champion = rows.get(champions, configKey);
  if (champion === undefined) return { refused: "no_champion", actual: "none", required: "a champion" };
  const { model: withdrawn, iteration } = champion;
  const history = championHistory(store, configKey);
  if (withdrawnModels(history).has(withdrawn))
    return { refused: "withdrawn_before", actual: withdrawn, required: "another champion, by a person's word" };
  const restored = lastGood(history, checkOutcomes(store, configKey), withdrawn, except)?.model;
  if (restored === undefined)
    return { refused: "no_good_champion", actual: "none", required: "one that was not withdrawn" };
  const checkpoint = checkpointOf(store, configKey, restored);
  const crowning = { configKey, model: restored, expected: withdrawn, iteration, by };
  const { generation } = crown(context, { ...crowning, cause: "rollback", evidence: { reason, withdrawn } });
  rows.put(rollbacks, configKey, { generation, withdrawn, restored, checkpoint, reason, at: now });
  const about = { config_key: configKey, model_id: withdrawn, restored_model_id: restored, reason };
  emit.PROMOTION_ROLLED_BACK({ ...about, artifact_hash: restored });
  if (checkpoint !== null) emit.TRAINING_ROLLBACK_COMPLETED({ ...about, artifact_hash: checkpoint });
  return { restored, withdrawn, checkpoint };
}

/** What a refused rollback waits for, in words. Rows of long ago hold the words themselves. */
export const refusalWords = ({ for: what, about }: Pick<Wait, "for" | "about">): string =>
  about === undefined ? what : `a rollback: ${REFUSALS[about.refused as keyof typeof REFUSALS]}`;
