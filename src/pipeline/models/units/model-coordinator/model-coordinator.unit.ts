import type { Wiring } from "../../../../daemons/index.ts";
import { defined, type Json } from "../../../../kernel/index.ts";
import { defineTable } from "../../../../router/index.ts";
import {
  type ConfigLook,
  cascadeStarts,
  defineConfigUnit,
  evaluationWork,
  everyMs,
  type LookOf,
  type StageServices,
  startFromOf,
  trainingWork,
} from "../../../stage/index.ts";
import { champions, lastGood, withdrawnModels } from "../../champion.ts";
import { championAfter, championHistory, checkOutcomes, firstChampion } from "../../champion-history.ts";
import { CHAMPIONS_KEPT } from "../../limits.ts";
import {
  changeModel,
  configsOfModel,
  derivedModels,
  livingModels,
  type ModelEntry,
  modelEntry,
  registerModel,
  type Standing,
} from "../../registry.ts";
import { checkpointOf, unregisteredRuns } from "../../training-runs.ts";
import { modelState } from "./decide.ts";
import { enterBest, enterStudents } from "./enter-derived.ts";

const wiring = {
  name: "model_coordinator",
  layer: 2,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "models",
  alsoKnownAs: ["ModelLifecycleCoordinator", "ModelRegistry"],
  pattern: "WIRE",
  dependsOn: ["event_router"],
  emits: ["REGISTRY_UPDATED", "MODEL_UPDATED", "MODEL_SYNC_REQUESTED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;
type Told = Pick<Look, "emit">;

/** What is pinned for a config, so that it is said again only when it changes. */
type Pinned = {
  readonly champions: readonly string[];
  readonly candidates: readonly string[];
  readonly derived?: readonly string[];
};
const pins = defineTable<Pinned>("pipeline_model_pins");

/**
 * Owns the model registry: what each model came from, where it is in its life, and what is known of it. States are never
 * set by events; they are read off the rows of training, evaluation and champions, so that none can be missed. It has a loop
 * for that reason.
 */
export const modelCoordinator = (services: StageServices) => {
  const { store } = services;
  return defineConfigUnit({
    ...wiring,
    state: { tables: { pins } },
    wakes: [
      "TRAINING_STARTED",
      "TRAINING_COMPLETED",
      "CHECKPOINT_SAVED",
      "CHECKPOINT_LOADED",
      "MODEL_PROMOTED",
      "PROMOTION_FAILED",
      "PROMOTION_ROLLED_BACK",
      "ELO_UPDATED",
      "NAS_BEST_ARCHITECTURE",
    ],
    on: {
      REGRESSION_DETECTED: ({ payload }, context) =>
        setRegression(store, payload, payload.regression_severity, context),
      REGRESSION_MINOR: ({ payload }, context) => setRegression(store, payload, "minor", context),
      REGRESSION_MODERATE: ({ payload }, context) => setRegression(store, payload, "moderate", context),
      REGRESSION_CLEARED: ({ payload }, context) => setRegression(store, payload, "cleared", context),
      TIER_PROMOTION: ({ payload: { config_key, model_id, tier } }, context) =>
        setStanding(store, config_key, model_id, context, { tier: { name: tier, at: context.now } }),
      CROSSBOARD_PROMOTION({ payload: { config_keys, model_id } }, context) {
        for (const config_key of configsOfModel(store, model_id))
          setStanding(store, config_key, model_id, context, { boards: { config_keys, at: context.now } });
      },
      NAS_BEST_ARCHITECTURE: ({ payload }, context) => enterBest(services, payload, context),
      REPAIR_COMPLETED({ payload: { artifact_hash: model } }, { rows, now, emit }) {
        for (const config_key of configsOfModel(store, model)) {
          rows.apply(changeModel({ config_key, model, now, corrupted: null }));
          emitUpdated({ emit }, config_key, model, "corrupted");
        }
      },
      MODEL_CORRUPTED({ payload: { model_id, node_id, damage, artifact_hash: model } }, { rows, now, log, emit }) {
        for (const config_key of configsOfModel(store, model)) {
          const rebuild = rebuildOf(modelEntry(store, config_key, model)!);
          log.error("the file of a model is damaged", { config_key, model_id, node_id, damage, ...rebuild });
          rows.apply(changeModel({ config_key, model, now, corrupted: { damage, node_id, at: now, rebuild } }));
          emitUpdated({ emit }, config_key, model, "corrupted");
          if (rows.get(champions, config_key)?.model === model)
            emit.MODEL_SYNC_REQUESTED({
              model_id,
              node_id,
              config_key: config_key as Look["configKey"],
              urgency: "high",
              reason: `its file is damaged (${damage})`,
            });
        }
      },
    },
    everyMs: everyMs(services),
    look: (look) => {
      enterStudents(services, look);
      register(services, look);
      pin(services, look);
    },
  });
};

/** How a lost file can be made again: jobs follow from what they are given, byte for byte. */
const rebuildOf = (entry: Pick<ModelEntry, "work_id" | "job_id" | "inputs" | "base_checkpoint">) => ({
  how: `run the training job ${entry.work_id} (${entry.job_id}) again: the same inputs give the same bytes`,
  work_id: entry.work_id,
  inputs: [...entry.inputs, ...(entry.base_checkpoint === null ? [] : [entry.base_checkpoint])],
});

/** What is written about a model is another thing now. */
const emitUpdated = ({ emit }: Told, config_key: string, model: string, ...changed_fields: string[]): void =>
  void emit.MODEL_UPDATED({
    model_id: model,
    config_key: config_key as Look["configKey"],
    artifact_hash: model,
    changed_fields,
  });

const setRegression = (
  store: StageServices["store"],
  { config_key, model_id: model }: { readonly config_key: string; readonly model_id: string },
  regression: string,
  { rows, now, emit }: Pick<Look, "rows" | "now" | "emit">,
): void => {
  const known = modelEntry(store, config_key, model);
  if (known === undefined || known.regression === regression) return;
  rows.apply(changeModel({ config_key, model, now, regression }));
  emitUpdated({ emit }, config_key, model, "regression");
};

const setStanding = (
  store: StageServices["store"],
  config_key: string,
  model: string,
  { rows, now, emit }: Pick<Look, "rows" | "now" | "emit">,
  standing: Standing,
): void => {
  const known = modelEntry(store, config_key, model);
  if (known === undefined) return;
  rows.apply(changeModel({ config_key, model, now, standing: { ...known.standing, ...standing } }));
  emitUpdated({ emit }, config_key, model, "standing");
};

/** Enters new models and brings the states of the living ones up to date. */
function register({ store, catalog }: StageServices, { rows, row, now, emit, configKey: config_key }: Look): void {
  const evaluation = row(evaluationWork);
  const champion = row(champions)?.model ?? null;
  const history = championHistory(store, config_key);
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
    newest: row(trainingWork)?.own.model ?? null,
    kept: new Set(derivedModels(store, config_key).map(({ model }) => model)),
  };
  const newRuns = unregisteredRuns(store, config_key);
  for (const run of newRuns) rows.apply(registerModel({ run, now }));
  type Known = Pick<ModelEntry, "model" | "state" | "verdict" | "corrupted">;
  const fresh = newRuns.map(({ model }): Known => ({ model, state: "training", verdict: null, corrupted: null }));
  const restored = champion === null ? undefined : modelEntry(store, config_key, champion);
  const known = new Map<string, Known>(
    [...fresh, ...livingModels(store, config_key)].map((entry) => [entry.model, entry]),
  );
  if (restored !== undefined) known.set(restored.model, restored);
  for (const { model, ...before } of known.values()) {
    const state = modelState(model, facts);
    const isJudged = evaluation?.state === "done" && evaluation.own.candidate === model;
    const isNews = isJudged && evaluation.own.verdict !== null && before.verdict === null;
    const verdict = isNews ? (evaluation.evidence as { [name: string]: Json }) : undefined;
    if (state !== before.state || verdict !== undefined)
      rows.apply(changeModel({ config_key, model, now, state, ...defined({ verdict }) }));
    if (state !== before.state || fresh.some((entered) => entered.model === model))
      emit.REGISTRY_UPDATED({ model_id: model, config_key, model_state: state, artifact_hash: model });
    if (verdict !== undefined) emitUpdated({ emit }, config_key, model, "verdict");
  }
  // The right bytes are there again, whoever brought them.
  const isSound = (model: string, since: number): boolean => {
    const file = catalog.get(model);
    return (file?.state === "durable" || file?.state === "in_flight") && (file.verified_at ?? 0) >= since;
  };
  for (const { model, corrupted } of known.values())
    if (corrupted !== null && isSound(model, Number(corrupted.at))) {
      rows.apply(changeModel({ config_key, model, now, corrupted: null }));
      emitUpdated({ emit }, config_key, model, "corrupted");
    }
}

/** Champions with their checkpoints, as far as they are kept, and what the line of training needs. */
function pin({ store, catalog }: StageServices, look: ConfigLook): void {
  const { row, configKey, plan } = look;
  const history = championHistory(store, configKey, CHAMPIONS_KEPT);
  // What the first model was made of, so that it can be made again.
  const from = startFromOf(plan, row(cascadeStarts));
  const related = from === null ? undefined : championAfter(store, from.config_key, from.iteration);
  const work = row(trainingWork);
  const training = work?.own;
  // A run that is under way may need its beginning again.
  const resumed = work?.state === "running" ? work.evidence.base_checkpoint : null;
  const current = row(champions)?.model;
  const good = current === undefined ? undefined : lastGood(history, checkOutcomes(store, configKey), current)?.model;
  // Only those that one may go back to need the place where their training stopped.
  const restorable = [current, good].filter((model) => model !== undefined);
  const sorted = (all: readonly (string | null | undefined)[]) =>
    [...new Set(all.filter((sha256) => sha256 !== null && sha256 !== undefined))].sort();
  const wanted: Pinned = {
    champions: sorted([
      firstChampion(store, configKey),
      related,
      current,
      ...history.map(({ model }) => model),
      ...restorable.map((model) => checkpointOf(store, configKey, model)),
    ]),
    derived: sorted(derivedModels(store, configKey).flatMap(({ model, checkpoint }) => [model, checkpoint])),
    candidates: sorted([training?.model, training?.checkpoint, typeof resumed === "string" ? resumed : null]),
  };
  const before = row(pins);
  const same = (name: keyof Pinned) => (before?.[name] ?? []).join() === wanted[name]!.join();
  if (before !== undefined && same("champions") && same("candidates") && same("derived")) return;
  const artifacts = catalog.join(look);
  artifacts.pin(`champions:${configKey}`, wanted.champions);
  artifacts.pin(`candidates:${configKey}`, wanted.candidates);
  if (!same("derived")) artifacts.pin(`derived:${configKey}`, wanted.derived!);
  look.put(pins, wanted);
}
