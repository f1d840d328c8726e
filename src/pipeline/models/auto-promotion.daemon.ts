import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import { defineTable, type Store } from "../../router/index.ts";
import { configs } from "../config-plan.ts";
import { ladderKey, ladders, ratingOf } from "../evaluation/ratings-table.ts";
import { budgetOf } from "../evaluation/search-budget.ts";
import { type Iteration, isTurnOf, iterations } from "../iteration.ts";
import { beginWork, evaluationWork, isFor, type PromotionOwn, promotionWork, trainingWork } from "../stage-work.ts";
import { champions, crown, withdrawnModels } from "./champion.ts";
import { championHistory } from "./champion-rows.ts";
import { type ConfigKey, doneWork, eachConfig, failedWork } from "./loop-parts.ts";
import { decidePromotion, type PromotionDecision, tiersPassed } from "./promotion-decision.ts";

export interface AutoPromotionPorts {
  readonly store: Pick<Store, "read">;
  readonly settings?: Partial<AutoPromotionSettings>;
}

export interface AutoPromotionSettings {
  readonly everyMs: number;
}

export const autoPromotionDefaults: AutoPromotionSettings = { everyMs: 2_000 };

/** Named baselines that a config's champions have passed, each with the first that did. */
export type Tiers = {
  readonly passed: readonly {
    readonly tier: string;
    readonly model: string;
    readonly elo: number;
    readonly low: number;
    readonly at: number;
  }[];
};
/** By config_key. Written by `auto_promotion`. */
export const tiers = defineTable<Tiers>("pipeline_tiers");

type Said = "PROMOTION_STARTED" | "MODEL_PROMOTED" | "PROMOTION_REJECTED" | "PROMOTION_FAILED";
type Context = UnitContext<Said>;
const UNIT = "auto_promotion";

const numberIn = (evidence: { readonly [name: string]: unknown }, name: string): number => {
  const value = evidence[name];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
};

/** Decides on candidates: promoted, rejected or failed, each with its evidence, in one commit with the champion's row. */
export const autoPromotion = ({ store, settings: given = {} }: AutoPromotionPorts) => {
  const settings = { ...autoPromotionDefaults, ...given };

  const tellCrowned = (
    configKey: ConfigKey,
    decision: PromotionDecision & { kind: "crown" },
    { rows, emit }: Context,
  ) => {
    const { model, expected } = decision;
    const evidence = rows.get(evaluationWork, configKey)!.evidence;
    const { plan } = rows.get(configs, configKey)!;
    const previous = expected === null ? undefined : ratingOf(rows, configKey, budgetOf(plan.evaluation), expected);
    const change = numberIn(evidence, "elo");
    emit.MODEL_PROMOTED({
      config_key: configKey,
      model_id: model,
      artifact_hash: model,
      elo: (previous?.elo ?? 0) + change,
      games: numberIn(evidence, "games"),
      elo_change: change,
      win_rate: numberIn(evidence, "score"),
      ...(expected === null ? {} : { previous_model_id: expected }),
      ...(previous === undefined ? {} : { previous_elo: previous.elo }),
    });
  };

  const tellRejected = (
    configKey: ConfigKey,
    decision: PromotionDecision & { kind: "reject" },
    { rows, emit }: Context,
  ) => {
    const { evidence } = rows.get(evaluationWork, configKey)!;
    const games = numberIn(evidence, "games");
    emit.PROMOTION_REJECTED({
      config_key: configKey,
      model_id: decision.model,
      gate: "elo",
      actual: numberIn(evidence, "normalized_elo"),
      required: numberIn(evidence, "elo1"),
      reason: decision.reason,
      ...(games > 0 ? { games } : {}),
    });
  };

  const decide = (configKey: ConfigKey, iteration: Iteration, context: Context) => {
    const { rows, emit, now } = context;
    const training = rows.get(trainingWork, configKey);
    const evaluation = rows.get(evaluationWork, configKey);
    const champion = rows.get(champions, configKey)?.model ?? null;
    const candidate = training?.iteration === iteration.iteration ? training.own.model : null;
    const decision = decidePromotion({
      iteration: iteration.iteration,
      candidate,
      champion,
      evaluation: evaluation?.iteration === iteration.iteration ? evaluation : undefined,
      withdrawn: withdrawnModels(championHistory(store, configKey)),
    });
    const work = beginWork<PromotionOwn>(iteration, now, {
      promoted: false,
      model: candidate ?? "",
      champion: champion ?? "",
    });
    const end = (promoted: boolean, evidence: { [name: string]: string | number | null }) =>
      rows.put(
        promotionWork,
        configKey,
        doneWork(work, now, {
          own: { ...work.own, promoted, champion: promoted ? work.own.model : work.own.champion },
          evidence,
        }),
      );
    if (decision.kind === "nothing") return end(false, { decision: "nothing", reason: decision.reason });
    if (decision.kind === "fail") {
      const { code, message } = decision;
      rows.put(promotionWork, configKey, failedWork(work, now, { code, message, retryable: true }));
      if (candidate !== null)
        emit.PROMOTION_FAILED({
          config_key: configKey,
          model_id: candidate,
          error: message,
          retryable: true,
          error_code: code,
        });
      return;
    }
    emit.PROMOTION_STARTED({
      config_key: configKey,
      model_id: decision.model,
      ...(champion === null ? {} : { champion_model_id: champion }),
    });
    if (decision.kind === "reject") {
      tellRejected(configKey, decision, context);
      return end(false, { decision: "rejected", reason: decision.reason });
    }
    try {
      const { model, cause, expected } = decision;
      const evidence =
        cause === "first" ? { reason: "the first model of the config" } : rows.get(evaluationWork, configKey)!.evidence;
      const crowned = crown(context, {
        configKey,
        model,
        expected,
        iteration: iteration.iteration,
        cause,
        by: UNIT,
        evidence,
      });
      // An event of a promotion tells of its games; the first champion has none to tell of.
      if (cause === "gate") tellCrowned(configKey, decision, context);
      end(true, { decision: "promoted", cause, generation: crowned.generation, previous: expected });
    } catch (thrown) {
      if (!isOperatingError(thrown, "CHAMPION_CHANGED")) throw thrown;
      // The verdict is about a champion that is none any more. The round ends; the next candidate meets the new one.
      const { code, message } = thrown;
      emit.PROMOTION_FAILED({
        config_key: configKey,
        model_id: decision.model,
        error: message,
        retryable: false,
        error_code: code,
      });
      end(false, { decision: "overtaken", reason: message });
    }
  };

  /** A tier once passed stays passed: it is a milestone, not a state. */
  const watchTiers = (configKey: ConfigKey, { rows, now }: Context) => {
    const champion = rows.get(champions, configKey)?.model;
    const plan = rows.get(configs, configKey)?.plan;
    if (champion === undefined || plan === undefined) return;
    const players = rows.get(ladders, ladderKey(configKey, budgetOf(plan.evaluation)))?.players ?? [];
    const rated = players.find(({ player }) => player === champion);
    if (rated?.linked !== true) return;
    const passed = rows.get(tiers, configKey)?.passed ?? [];
    const fresh = tiersPassed({ champion: rated, anchors: players.filter(({ anchor }) => anchor) }).filter(
      (tier) => !passed.some((known) => known.tier === tier),
    );
    if (fresh.length === 0) return;
    const { elo, low } = rated;
    rows.put(tiers, configKey, {
      passed: [...passed, ...fresh.map((tier) => ({ tier, model: champion, elo, low, at: now }))],
    });
  };

  const reconcile = (configKey: ConfigKey, context: Context) => {
    const iteration = context.rows.get(iterations, configKey);
    if (isTurnOf("promotion", iteration) && !isFor(context.rows.get(promotionWork, configKey), iteration))
      decide(configKey, iteration, context);
    watchTiers(configKey, context);
  };

  return defineDaemon({
    name: UNIT,
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["AUTO_PROMOTION", "UNIFIED_PROMOTION", "AutoPromotionDaemon", "PromotionController"],
    dependsOn: ["evaluation_daemon", "model_coordinator"],
    emits: ["PROMOTION_STARTED", "MODEL_PROMOTED", "PROMOTION_REJECTED", "PROMOTION_FAILED"],
    state: { tables: { promotionWork, champions, tiers } },
    on: onEach(
      ["PIPELINE_STAGE_ENTERED", "EVALUATION_COMPLETED", "PROMOTION_CANDIDATE", "PROMOTION_ROLLED_BACK", "ELO_UPDATED"],
      ({ payload }, context: Context) => reconcile(payload.config_key, context),
    ),
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(champions).map(([key, { model, generation }]) => [key, `${generation}: ${model.slice(0, 12)}`]),
      ),
    }),
  });
};
