/** What people ask and order about models. Orders have a dry run that says what they would do and changes nothing. */
import { definePart } from "../../daemons/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type EventRouter, type Store } from "../../router/index.ts";
import { configs } from "../config-plan.ts";
import { ratedBudgets } from "../evaluation/ledger.ts";
import { ladderKey, ladders, type RatedLadder } from "../evaluation/ratings-table.ts";
import { type FalsePromotions, falsePromotions } from "../evaluation/statistics/index.ts";
import { type GateVerdict, gateTallies, gateVerdicts } from "../evaluation/verdicts.ts";
import { type Champion, champions, crown, withdrawnModels } from "./champion.ts";
import { type Crowned, championHistory } from "./champion-rows.ts";
import type { ConfigKey } from "./loop-parts.ts";
import { planRollback, type RollbackOutcome, rollBack } from "./model-rollback.daemon.ts";
import { type ModelEntry, type ModelFilter, modelEntries, modelEntry } from "./registry.ts";

type Reader = Pick<Store, "read">;

export interface ModelCommandPorts {
  readonly router: Pick<EventRouter, "transact">;
  readonly store: Reader;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** It speaks when a person rolls back: in the commit that does it. */
export const modelCommandsPart = definePart({
  name: "model_commands",
  placement: "leader",
  emits: ["PROMOTION_ROLLED_BACK", "TRAINING_ROLLBACK_COMPLETED"],
});

export const championOf = (store: Reader, configKey: string): Champion | undefined =>
  createWriteSet(store).get(champions, configKey);

/** What was champion when, and why; newest first. */
export const championsOf = (store: Reader, configKey: string, limit?: number): Crowned[] =>
  championHistory(store, configKey, limit);

export const listModels = (store: Reader, filter?: ModelFilter): ModelEntry[] => modelEntries(store, filter);

/** The ladders of a config, one for each search budget that has been rated. */
export const ladderOf = (store: Reader, configKey: string): RatedLadder[] => {
  const rows = createWriteSet(store);
  return ratedBudgets(store, configKey).flatMap((budget) => rows.get(ladders, ladderKey(configKey, budget)) ?? []);
};

/** The rated champions of a config, oldest first, by when they became champion. */
export function ratedChampions(store: Reader, configKey: string, budget: string) {
  const players = createWriteSet(store).get(ladders, ladderKey(configKey, budget))?.players ?? [];
  const rated = new Map(players.filter(({ linked }) => linked).map((player) => [player.player, player]));
  return championHistory(store, configKey)
    .reverse()
    .flatMap(({ model, at }) => {
      const player = rated.get(model);
      return player === undefined ? [] : [{ model_id: model, at, elo: player.elo, low: player.low, high: player.high }];
    });
}

/** What the gates of a config said, newest first. */
export const gateHistory = (store: Reader, configKey: string, limit?: number): GateVerdict[] =>
  gateVerdicts(store, configKey, limit);

/** How many promotions of a config were probably mistakes. */
export const falsePromotionsSoFar = (store: Reader, configKey: string): FalsePromotions =>
  falsePromotions(gateTallies(store, configKey));

const LEAST_PREFIX = 6;

/** A model by its hash or the beginning of it. */
export function resolveModel(store: Reader, configKey: string, text: string): ModelEntry {
  const hint = `'ringrift models ${configKey}' lists them.`;
  if (!/^[0-9a-f]{6,64}$/.test(text))
    throw new OperatingError("INVALID_MODEL", `'${text}' is no model`, {
      hint: `Give its SHA-256, or the first ${LEAST_PREFIX} or more digits of it. ${hint}`,
    });
  const found = store.read<{ model: string }>(
    "SELECT model FROM model_registry WHERE config_key = ? AND model >= ? AND model < ? LIMIT 2",
    configKey,
    text,
    `${text}g`,
  );
  if (found.length === 0) throw new OperatingError("MODEL_NOT_FOUND", `${configKey} has no model '${text}'`, { hint });
  if (found.length > 1)
    throw new OperatingError("MODEL_AMBIGUOUS", `several models of ${configKey} begin with '${text}'`, {
      hint: "Give more digits.",
    });
  return modelEntry(store, configKey, found[0]!.model)!;
}

export interface OrderByHand {
  readonly configKey: ConfigKey;
  readonly by: string;
  readonly reason: string;
  readonly dryRun?: boolean;
}

export interface PromotedByHand {
  readonly config_key: string;
  readonly model: string;
  readonly previous: string | null;
  readonly generation: number;
  readonly dry_run: boolean;
}

/**
 * Makes a model the champion by a person's word. Without games behind it no promotion is told; the watchdog sees the new
 * champion in its row, has it play the last good one at once, and has it withdrawn if it is weaker.
 */
export async function promoteByHand(
  ports: ModelCommandPorts,
  order: OrderByHand & { model: string },
): Promise<PromotedByHand> {
  const { router, store, now } = ports;
  const { configKey, by, reason, dryRun = false } = order;
  requireConfig(store, configKey);
  const entry = resolveModel(store, configKey, order.model);
  if (entry.corrupted !== null)
    throw new OperatingError("MODEL_CORRUPTED", `the file of ${entry.model} is damaged`, {
      hint: "Make it again first: the registry says how.",
    });
  if (withdrawnModels(championHistory(store, configKey)).has(entry.model))
    throw new OperatingError("MODEL_WITHDRAWN", `${entry.model} was champion once and was withdrawn`, {
      hint: "Train on from it and let a gate decide.",
    });
  let outcome: PromotedByHand | undefined;
  const decide = (rows: Parameters<typeof crown>[0]["rows"]) => {
    const current = rows.get(champions, configKey);
    const { generation } = crown(
      { rows, now: now() },
      {
        configKey,
        model: entry.model,
        expected: current?.model ?? null,
        iteration: entry.iteration,
        cause: "hand",
        by,
        evidence: { reason },
      },
    );
    outcome = {
      config_key: configKey,
      model: entry.model,
      previous: current?.model ?? null,
      generation,
      dry_run: dryRun,
    };
  };
  if (dryRun) decide(createWriteSet(store));
  else await router.transact({ source: "model_commands", validation: "strict" }, ({ rows }) => decide(rows));
  return outcome!;
}

/** Withdraws the champion for the last good one, by a person's word. */
export async function rollbackByHand(
  ports: ModelCommandPorts,
  order: OrderByHand,
): Promise<RollbackOutcome & { dry_run: boolean }> {
  const { router, store, now } = ports;
  const { configKey, by, reason, dryRun = false } = order;
  requireConfig(store, configKey);
  if (dryRun) return { ...planRollback({ rows: createWriteSet(store) }, store, order), dry_run: true };
  let outcome: RollbackOutcome | undefined;
  await router.transact({ source: "model_commands", validation: "strict" }, ({ rows, emit }) => {
    outcome = rollBack(
      {
        rows,
        now: now(),
        emit: {
          PROMOTION_ROLLED_BACK: (payload) => emit("PROMOTION_ROLLED_BACK", payload),
          TRAINING_ROLLBACK_COMPLETED: (payload) => emit("TRAINING_ROLLBACK_COMPLETED", payload),
        },
      },
      store,
      { configKey, by, reason },
    );
  });
  if ("refused" in outcome!)
    throw new OperatingError("ROLLBACK_REFUSED", outcome.refused, {
      hint: `There is: ${outcome.actual}. There must be: ${outcome.required}.`,
    });
  return { ...outcome!, dry_run: false };
}

function requireConfig(store: Reader, configKey: string): void {
  const rows = createWriteSet(store);
  if (rows.get(configs, configKey) !== undefined) return;
  throw new OperatingError("CONFIG_NOT_FOUND", `there is no config '${configKey}'`, {
    hint: `Configs are: ${
      rows
        .list(configs)
        .map(([key]) => key)
        .join(", ") || "none yet"
    }.`,
  });
}
