/** What people order about models. An order has a dry run that says what it would do and changes nothing. */
import { definePart } from "../../daemons/index.ts";
import { type Clock, OperatingError } from "../../kernel/index.ts";
import { createWriteSet, type EventRouter, type HandlerContext, type Store } from "../../router/index.ts";
import { type Champion, championHistory, champions, crown, modelEntry, withdrawnModels } from "../models/index.ts";
import { type ConfigKey, type ConfigRow, configs } from "../stage/index.ts";
import { REFUSALS, type RestoredChampion, rollBack } from "./roll-back.ts";

export interface ByHandPorts {
  readonly router: EventRouter;
  readonly store: Store;
  readonly clock: Clock;
}

export interface OrderByHand {
  readonly configKey: ConfigKey;
  readonly by: string;
  readonly reason: string;
  readonly dryRun?: boolean;
}

/** It speaks when a person rolls back: in the commit that does it. */
export const modelCommandsPart = definePart({
  name: "model_commands",
  placement: "leader",
  emits: ["PROMOTION_ROLLED_BACK", "TRAINING_ROLLBACK_COMPLETED"],
});

export const championOf = (store: Pick<Store, "read">, configKey: string): Champion | undefined =>
  createWriteSet(store).get(champions, configKey);

/** What a person decides, in one commit; a dry run decides over rows that nobody writes. */
export async function decideByHand<T>(
  { router, store }: ByHandPorts,
  dryRun: boolean,
  decide: (context: Pick<HandlerContext, "rows" | "emit">) => T,
): Promise<T> {
  if (dryRun) return decide({ rows: createWriteSet(store), emit: () => undefined as never });
  let decided: T;
  await router.transact({ source: modelCommandsPart.name, validation: "strict" }, (context) => {
    decided = decide(context);
  });
  return decided!;
}

/** The row of a config, which must be there. */
export function requireConfig(rows: Pick<HandlerContext["rows"], "get" | "list">, configKey: string): ConfigRow {
  const row = rows.get(configs, configKey);
  if (row !== undefined) return row;
  const known = rows.list(configs).map(([key]) => key);
  throw OperatingError.notFound("CONFIG_NOT_FOUND", `there is no config '${configKey}'`, {
    hint: `Configs are: ${known.join(", ") || "none yet"}.`,
  });
}

/**
 * Makes a model the champion by a person's word. Without games behind it no promotion is told; the watchdog sees the new
 * champion in its row, has it play the last good one at once, and has it withdrawn if it is weaker.
 */
export async function promoteByHand(ports: ByHandPorts, order: OrderByHand & { readonly model: string }) {
  const { store, clock } = ports;
  const { configKey, model, by, reason, dryRun = false } = order;
  requireConfig(createWriteSet(store), configKey);
  const entry = modelEntry(store, configKey, model);
  if (entry === undefined)
    throw OperatingError.notFound("MODEL_NOT_FOUND", `${configKey} has no model '${model}'`, {
      hint: `'ringrift models list' lists them; 'ringrift find <text>' looks in all that has a name.`,
    });
  if (entry.corrupted !== null)
    throw OperatingError.conflict("MODEL_CORRUPTED", `the file of ${model} is damaged`, {
      hint: "Make it again first: the registry says how.",
    });
  if (withdrawnModels(championHistory(store, configKey)).has(model))
    throw OperatingError.conflict("MODEL_WITHDRAWN", `${model} was once champion and was rolled back`, {
      hint: "Continue training from it, and let a gate decide.",
    });
  return decideByHand(ports, dryRun, ({ rows }) => {
    const expected = rows.get(champions, configKey)?.model ?? null;
    const about = { configKey, model, expected, iteration: entry.iteration };
    crown({ rows, now: clock.now() }, { ...about, cause: "hand", by, evidence: { reason } });
    return { previous: expected, model };
  });
}

/** Withdraws the champion for the last good one, by a person's word. */
export async function rollbackByHand(ports: ByHandPorts, order: OrderByHand): Promise<RestoredChampion> {
  const { store, clock } = ports;
  requireConfig(createWriteSet(store), order.configKey);
  const outcome = await decideByHand(ports, order.dryRun ?? false, ({ rows, emit }) =>
    rollBack(
      {
        rows,
        now: clock.now(),
        emit: {
          PROMOTION_ROLLED_BACK: (payload) => emit("PROMOTION_ROLLED_BACK", payload),
          TRAINING_ROLLBACK_COMPLETED: (payload) => emit("TRAINING_ROLLBACK_COMPLETED", payload),
        },
      },
      store,
      order,
    ),
  );
  if (!("refused" in outcome)) return outcome;
  throw OperatingError.conflict("ROLLBACK_REFUSED", REFUSALS[outcome.refused], {
    hint: `There is: ${outcome.actual}. There must be: ${outcome.required}.`,
  });
}
