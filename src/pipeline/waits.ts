import type { ReadRows } from "../daemons/index.ts";
import { waitsOfData } from "./data/waits.ts";
import { ratingWork } from "./evaluation/rating-budget.ts";
import { regressions } from "./evaluation/regressions-table.ts";
import { type Iteration, iterations, type Wait } from "./iteration.ts";
import { champions } from "./models/champion.ts";
import { refusedRollbacks } from "./models/model-rollback.daemon.ts";
import { rebuildRows, waitsOfRebuilds } from "./rebuild-rows.ts";
import { isRefusal } from "./stage-rows.ts";
import { evaluationWork, isFor, promotionWork, type StageWork, trainingWork } from "./stage-work.ts";
import { trainingGates } from "./training/gates-table.ts";

export type UnitWait = Wait & { readonly unit: string };

/** Who waits for what in the loop of a config: every refusal of every stage, with what is there and what must be. */
export function waitsOf(rows: Pick<ReadRows, "get">, configKey: string): UnitWait[] {
  const at = rows.get(iterations, configKey);
  if (at === undefined) return [];
  const own = at.waits.map((wait) => ({ unit: "pipeline_orchestrator", ...wait }));
  const refused = rows.get(refusedRollbacks, configKey);
  const isStillChampion = refused?.generation === rows.get(champions, configKey)?.generation;
  const withdrawn = (isStillChampion ? (refused?.waits ?? []) : []).map((wait) => ({
    unit: "model_rollback",
    ...wait,
  }));
  const of = (unit: string, work: Pick<StageWork, "iteration" | "attempt" | "waits"> | undefined) =>
    work !== undefined && isFor(work, at) ? work.waits.map((wait) => ({ unit, ...wait })) : [];
  const stage = (): UnitWait[] => {
    switch (at.stage) {
      case "training": {
        const gates = rows.get(trainingGates, configKey);
        const shut = gates !== undefined && isFor(gates, at) && gates.verdict === "wait" ? gates.gates : [];
        return [
          ...shut
            .filter(({ passed }) => !passed)
            .map(({ gate, actual, required, since }) => ({
              unit: "training_trigger",
              for: gate,
              actual,
              required,
              since,
            })),
          ...of("training_coordinator", rows.get(trainingWork, configKey)),
        ];
      }
      case "evaluation":
        return of("evaluation_daemon", rows.get(evaluationWork, configKey));
      case "promotion":
        return of("auto_promotion", rows.get(promotionWork, configKey));
      default:
        return waitsOfData(rows, configKey);
    }
  };
  // Games beside the stages may wait for as long as they like; that the queue refuses them is for people to see.
  const refusedGames = (unit: string, waits: readonly Wait[] = []) =>
    waits.filter(isRefusal).map((wait) => ({ unit, ...wait }));
  return [
    ...own,
    ...stage(),
    ...withdrawn,
    ...refusedGames("elo_service", rows.get(ratingWork, configKey)?.waits),
    ...refusedGames("model_performance_watchdog", rows.get(regressions, configKey)?.waits),
    ...waitsOfRebuilds(rows.get(rebuildRows, configKey)),
    ...lastRound(rows, configKey, at),
  ];
}

/** Rounds that went on without what they are for: it is over in a moment, and the reason must be seen all the same. */
function lastRound(
  rows: Pick<ReadRows, "get">,
  configKey: string,
  { iteration, failures }: Pick<Iteration, "iteration" | "failures">,
): UnitWait[] {
  // The next success of the stage strikes them out.
  const givenUp = failures.findLast((failure) => failure.iteration < iteration);
  const isLast = (work: Pick<StageWork, "iteration"> | undefined) =>
    work !== undefined && work.iteration >= iteration - 1;
  const training = rows.get(trainingWork, configKey);
  const skipped = (isLast(training) ? (training?.evidence.skipped ?? []) : []) as unknown as readonly Wait[];
  const promotion = rows.get(promotionWork, configKey);
  const isOvertaken = isLast(promotion) && promotion?.evidence.decision === "overtaken";
  return [
    ...(givenUp === undefined
      ? []
      : [
          {
            unit: "pipeline_orchestrator",
            for: `${givenUp.stage} to succeed again; iteration ${givenUp.iteration} was given up`,
            actual: givenUp.message,
            required: null,
            since: givenUp.at,
          },
        ]),
    ...skipped.map(({ for: gate, actual, required }) => ({
      unit: "training_trigger",
      for: `${gate}; iteration ${training!.iteration} went on without training`,
      actual,
      required,
      since: training!.since,
    })),
    ...(isOvertaken
      ? [
          {
            unit: "auto_promotion",
            for: `a champion that stays; iteration ${promotion.iteration} went on without promotion`,
            actual: String(promotion.evidence.reason),
            required: promotion.own.champion,
            since: promotion.since,
          },
        ]
      : []),
  ];
}
