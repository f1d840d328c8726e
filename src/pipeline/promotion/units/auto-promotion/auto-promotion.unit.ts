import type { Wiring } from "../../../../daemons/index.ts";
import { defined, isOperatingError } from "../../../../kernel/index.ts";
import {
  budgetOf,
  championHistory,
  champions,
  crown,
  ladderKey,
  ladders,
  ratingOf,
  withdrawnModels,
} from "../../../models/index.ts";
import {
  type ConfigLook,
  defineStage,
  done,
  evaluationWork,
  everyMs,
  failed,
  type PromotionOwn,
  promotionWork,
  type StageServices,
  type StageWork,
  type TurnOf,
  trainingWork,
} from "../../../stage/index.ts";
import { tiers } from "../../tables.ts";
import { decidePromotion, type PromotionDecision, tiersPassed } from "./decide.ts";

const wiring = {
  name: "auto_promotion",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["AUTO_PROMOTION", "UNIFIED_PROMOTION"],
  alsoKnownAs: ["AutoPromotionDaemon", "PromotionController"],
  dependsOn: ["evaluation_daemon", "model_coordinator"],
  emits: ["PROMOTION_STARTED", "MODEL_PROMOTED", "PROMOTION_REJECTED", "PROMOTION_FAILED"],
} as const satisfies Wiring;

type Turn = TurnOf<typeof wiring>;
type Work = StageWork<PromotionOwn>;

/** Decides on candidates: promoted, rejected or failed, each with its evidence, in one commit with the champion's row. */
export const autoPromotion = (services: StageServices) =>
  defineStage({
    ...wiring,
    stage: "promotion",
    work: promotionWork,
    state: { tables: { champions, tiers } },
    wakes: ["EVALUATION_COMPLETED", "PROMOTION_CANDIDATE", "PROMOTION_ROLLED_BACK", "ELO_UPDATED"],
    everyMs: everyMs(services),
    begin: (turn) => ({
      promoted: false,
      model: candidateIn(turn) ?? "",
      champion: turn.row(champions)?.model ?? "",
    }),
    follow: (turn, work) => decide(services, turn, work),
    besides: watchTiers,
    details: (rows) =>
      Object.fromEntries(
        rows.list(champions).map(([key, { model, generation }]) => [key, `${generation}: ${model.slice(0, 12)}`]),
      ),
  });

const candidateIn = ({ row, at }: Turn): string | null => {
  const training = row(trainingWork);
  return training?.iteration === at.iteration ? training.own.model : null;
};

function decide({ store }: StageServices, turn: Turn, work: Work): Work {
  const { row, emit, now, at, configKey: config_key } = turn;
  const evaluation = row(evaluationWork);
  const champion = row(champions)?.model ?? null;
  const candidate = candidateIn(turn);
  const decision = decidePromotion({
    iteration: at.iteration,
    candidate,
    champion,
    evaluation: evaluation?.iteration === at.iteration ? evaluation : undefined,
    withdrawn: withdrawnModels(championHistory(store, config_key)),
  });
  if (decision.kind === "nothing")
    return done(work, now, { evidence: { decision: "nothing", reason: decision.reason } });
  if (decision.kind === "fail") {
    const { code, message } = decision;
    const about = { config_key, error: message, retryable: true, error_code: code };
    if (candidate !== null) emit.PROMOTION_FAILED({ ...about, model_id: candidate });
    return failed(work, now, { code, message, retryable: true });
  }
  emit.PROMOTION_STARTED({
    config_key,
    model_id: decision.model,
    ...defined({ champion_model_id: champion ?? undefined }),
  });
  if (decision.kind === "reject") {
    emitRejected(turn, decision);
    return done(work, now, { evidence: { decision: "rejected", reason: decision.reason } });
  }
  return promote(turn, work, decision);
}

/** Crowns the candidate, if the champion is still the one that it was measured against. */
function promote(turn: Turn, work: Work, decision: PromotionDecision & { kind: "crown" }): Work {
  const { row, emit, now, at, configKey } = turn;
  const { model, cause, expected } = decision;
  const reason = { reason: "the first model of the config" };
  const evidence = cause === "first" ? reason : row(evaluationWork)!.evidence;
  try {
    const { iteration } = at;
    const { generation } = crown(turn, { configKey, model, expected, iteration, cause, by: wiring.name, evidence });
    // An event of a promotion tells of its games; the first champion has none to tell of.
    if (cause === "gate") emitCrowned(turn, decision);
    return done(work, now, {
      own: { ...work.own, promoted: true, champion: work.own.model },
      evidence: { decision: "promoted", cause, generation, previous: expected },
    });
  } catch (thrown) {
    if (!isOperatingError(thrown, "CHAMPION_CHANGED")) throw thrown;
    // The verdict is about a champion that is none any more. The round ends; the next candidate meets the new one.
    const { code, message } = thrown;
    const about = { config_key: configKey, model_id: model };
    emit.PROMOTION_FAILED({ ...about, error: message, retryable: false, error_code: code });
    return done(work, now, { evidence: { decision: "overtaken", reason: message } });
  }
}

const numberIn = (evidence: { readonly [name: string]: unknown }, name: string): number => {
  const value = evidence[name];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
};

function emitCrowned(
  { rows, row, emit, configKey, plan }: Turn,
  { model, expected }: PromotionDecision & { kind: "crown" },
): void {
  const { evidence } = row(evaluationWork)!;
  const budget = budgetOf(plan.evaluation);
  const previous = expected === null ? undefined : ratingOf(rows, configKey, budget, expected);
  const change = numberIn(evidence, "elo");
  emit.MODEL_PROMOTED({
    config_key: configKey,
    model_id: model,
    artifact_hash: model,
    elo: (previous?.elo ?? 0) + change,
    games: numberIn(evidence, "games"),
    elo_change: change,
    win_rate: numberIn(evidence, "score"),
    ...defined({ previous_model_id: expected ?? undefined, previous_elo: previous?.elo }),
  });
}

function emitRejected({ row, emit, configKey }: Turn, { model, reason }: PromotionDecision & { kind: "reject" }): void {
  const { evidence } = row(evaluationWork)!;
  emit.PROMOTION_REJECTED({
    config_key: configKey,
    model_id: model,
    gate: "elo",
    actual: numberIn(evidence, "normalized_elo"),
    required: numberIn(evidence, "elo1"),
    reason,
    ...defined({ games: numberIn(evidence, "games") || undefined }),
  });
}

/** A tier once passed stays passed: it is a milestone, not a state. */
function watchTiers({ rows, row, put, now, configKey, plan }: ConfigLook): void {
  const champion = row(champions)?.model;
  const players = rows.get(ladders, ladderKey(configKey, budgetOf(plan.evaluation)))?.players ?? [];
  const rated = players.find(({ player }) => player === champion);
  if (champion === undefined || rated?.linked !== true) return;
  const passed = row(tiers)?.passed ?? [];
  const fresh = tiersPassed({ champion: rated, anchors: players.filter(({ anchor }) => anchor) }).filter(
    (tier) => !passed.some((known) => known.tier === tier),
  );
  if (fresh.length === 0) return;
  const { elo, low } = rated;
  put(tiers, { passed: [...passed, ...fresh.map((tier) => ({ tier, model: champion, elo, low, at: now }))] });
}
