import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import type { Json } from "../../kernel/index.ts";
import { defineTable, type Store } from "../../router/index.ts";
import type { ModelArtifacts } from "../artifacts.port.ts";
import { evaluationWork, trainingWork } from "../stage-work.ts";
import { champions, lastGood, withdrawnModels } from "./champion.ts";
import { championHistory, checkOutcomes } from "./champion-rows.ts";
import { type ConfigKey, eachConfig } from "./loop-parts.ts";
import { modelState } from "./model-state.ts";
import { changeModel, configsOfModel, livingModels, type ModelEntry, modelEntry, registerModel } from "./registry.ts";
import { checkpointOf, unregisteredRuns } from "./training-runs.ts";

export interface ModelCoordinatorPorts {
  readonly store: Pick<Store, "read">;
  /** Where champions and candidates are pinned; without it nothing is. */
  readonly artifacts?: ModelArtifacts;
  readonly settings?: Partial<ModelCoordinatorSettings>;
}

export interface ModelCoordinatorSettings {
  readonly everyMs: number;
  /** Champions whose files are kept, newest first; the first one always is. */
  readonly keptChampions: number;
}

export const modelCoordinatorDefaults: ModelCoordinatorSettings = { everyMs: 2_000, keptChampions: 64 };

/** What is pinned for a config, so that it is said again only when it changes. */
type Pinned = { readonly champions: readonly string[]; readonly candidates: readonly string[] };
const pins = defineTable<Pinned>("pipeline_model_pins");

type Context = UnitContext<never>;

/** How a lost file can be made again: jobs follow from what they are given, byte for byte. */
export const rebuildOf = (entry: Pick<ModelEntry, "work_id" | "job_id" | "inputs" | "base_checkpoint">) => ({
  how: `run the training job ${entry.work_id} (${entry.job_id}) again: the same inputs give the same bytes`,
  work_id: entry.work_id,
  inputs: [...entry.inputs, ...(entry.base_checkpoint === null ? [] : [entry.base_checkpoint])],
});

const same = (a: readonly string[], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * Owns the model registry: what each model came from, where it is in its life, and what is known of it. States are never
 * set by events; they are read off the rows of training, evaluation and champions, so that none can be missed. It has a loop
 * for that reason.
 */
export const modelCoordinator = ({ store, artifacts, settings: given = {} }: ModelCoordinatorPorts) => {
  const settings = { ...modelCoordinatorDefaults, ...given };

  const isSound = (model: string, since: number): boolean => {
    const file = artifacts?.get?.(model);
    return (file?.state === "durable" || file?.state === "in_flight") && (file.verified_at ?? 0) >= since;
  };

  /** Champions with their checkpoints, as far as they are kept, and what the line of training needs. */
  const pin = (configKey: ConfigKey, context: Context) => {
    if (artifacts === undefined) return;
    const { rows } = context;
    const history = championHistory(store, configKey, settings.keptChampions);
    const training = rows.get(trainingWork, configKey);
    const current = rows.get(champions, configKey)?.model;
    const good = current === undefined ? undefined : lastGood(history, checkOutcomes(store, configKey), current)?.model;
    const first = store.read<{ model: string }>(
      "SELECT model FROM champion_history WHERE config_key = ? AND generation = 1",
      configKey,
    )[0]?.model;
    // Only those that one may go back to need the place where their training stopped.
    const restorable = [current, good].filter((model) => model !== undefined);
    const sorted = (all: readonly (string | null | undefined)[]) =>
      [...new Set(all.filter((sha256) => sha256 !== null && sha256 !== undefined))].sort();
    const wanted: Pinned = {
      champions: sorted([
        first,
        current,
        ...history.map(({ model }) => model),
        ...restorable.map((model) => checkpointOf(store, configKey, model)),
      ]),
      candidates: sorted([training?.own.model, training?.own.checkpoint]),
    };
    const before = rows.get(pins, configKey);
    if (before !== undefined && same(wanted.champions, before.champions) && same(wanted.candidates, before.candidates))
      return;
    const joined = artifacts.join(context);
    joined.pin(`champions:${configKey}`, wanted.champions);
    joined.pin(`candidates:${configKey}`, wanted.candidates);
    rows.put(pins, configKey, wanted);
  };

  const reconcile = (configKey: ConfigKey, context: Context) => {
    const { rows, now } = context;
    const evaluation = rows.get(evaluationWork, configKey);
    const training = rows.get(trainingWork, configKey);
    const champion = rows.get(champions, configKey)?.model ?? null;
    const history = championHistory(store, configKey);
    const facts = {
      champion,
      withdrawn: withdrawnModels(history),
      crowned: new Set(history.map(({ model }) => model)),
      evaluation:
        evaluation === undefined
          ? null
          : {
              candidate: evaluation.own.candidate,
              running: evaluation.state === "running",
              verdict: evaluation.own.verdict,
            },
      newest: training?.own.model ?? null,
    };
    const newRuns = unregisteredRuns(store, configKey);
    for (const run of newRuns) rows.apply(registerModel({ run, now }));
    const fresh = newRuns.map(({ model }) => ({ model, state: "training" as const, verdict: null }));
    const restored = champion === null ? undefined : modelEntry(store, configKey, champion);
    const known = new Map([...fresh, ...livingModels(store, configKey)].map((entry) => [entry.model, entry]));
    if (restored !== undefined) known.set(restored.model, restored);
    for (const entry of known.values()) {
      const state = modelState(entry.model, facts);
      const isJudged =
        evaluation?.state === "done" && evaluation.own.candidate === entry.model && evaluation.own.verdict !== null;
      const verdict = isJudged && entry.verdict === null ? evaluation.evidence : undefined;
      if (state === entry.state && verdict === undefined) continue;
      rows.apply(
        changeModel({
          config_key: configKey,
          model: entry.model,
          now,
          state,
          ...(verdict === undefined ? {} : { verdict: verdict as { [name: string]: Json } }),
        }),
      );
    }
    // The right bytes are there again, whoever brought them.
    for (const { model, corrupted } of known.values() as Iterable<Partial<ModelEntry> & { model: string }>)
      if (corrupted != null && isSound(model, Number(corrupted.at)))
        rows.apply(changeModel({ config_key: configKey, model, now, corrupted: null }));
    pin(configKey, context);
  };

  return defineDaemon({
    name: "model_coordinator",
    layer: 2,
    placement: "leader",
    alsoKnownAs: ["ModelLifecycleCoordinator", "ModelRegistry"],
    pattern: "WIRE",
    dependsOn: ["event_router"],
    emits: [],
    state: { tables: { pins } },
    on: {
      ...onEach(
        [
          "TRAINING_STARTED",
          "TRAINING_COMPLETED",
          "CHECKPOINT_SAVED",
          "MODEL_PROMOTED",
          "PROMOTION_FAILED",
          "PROMOTION_ROLLED_BACK",
          "ELO_UPDATED",
        ],
        ({ payload }, context: Context) => reconcile(payload.config_key, context),
      ),
      ...onEach(
        ["REGRESSION_DETECTED", "REGRESSION_MINOR", "REGRESSION_MODERATE", "REGRESSION_CLEARED"],
        ({ eventType, payload }, { rows, now }: Context) => {
          const regression =
            eventType === "REGRESSION_CLEARED"
              ? "cleared"
              : eventType === "REGRESSION_DETECTED"
                ? (payload as { regression_severity: string }).regression_severity
                : eventType.slice("REGRESSION_".length).toLowerCase();
          rows.apply(changeModel({ config_key: payload.config_key, model: payload.model_id, now, regression }));
        },
      ),
      REPAIR_COMPLETED({ payload: { artifact_hash } }, { rows, now }) {
        for (const configKey of configsOfModel(store, artifact_hash))
          rows.apply(changeModel({ config_key: configKey, model: artifact_hash, now, corrupted: null }));
      },
      MODEL_CORRUPTED({ payload: { model_id, node_id, damage, artifact_hash } }, { rows, now, log }) {
        for (const configKey of configsOfModel(store, artifact_hash)) {
          const entry = modelEntry(store, configKey, artifact_hash)!;
          const rebuild = rebuildOf(entry);
          log.error("the file of a model is damaged", { config_key: configKey, model_id, node_id, damage, ...rebuild });
          const corrupted = { damage, node_id, at: now, rebuild };
          rows.apply(changeModel({ config_key: configKey, model: artifact_hash, now, corrupted }));
        }
      },
    },
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
  });
};
