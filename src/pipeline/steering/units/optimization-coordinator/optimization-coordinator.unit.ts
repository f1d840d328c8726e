import type { Wiring } from "../../../../daemons/index.ts";
import { champions } from "../../../models/index.ts";
import {
  type ConfigLook,
  configs,
  defineConfigUnit,
  everyMs,
  iterations,
  MAX_SEARCH_MS,
  type SearchOrder,
  type StageServices,
  searchOrders,
  searchRequests,
  tunedIn,
  tunings,
} from "../../../stage/index.ts";
import { MAX_TUNINGS } from "../../limits.ts";
import { judgeSearch, type SearchVerdict } from "../../search/run.ts";
import { valuesOf } from "../../search/space.ts";
import { plateaus, searchRuns } from "../../tables.ts";
import { type Reason, reasonToSearch } from "./decide.ts";

const wiring = {
  name: "optimization_coordinator",
  layer: 8,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "optimization",
  alsoKnownAs: ["OptimizationCoordinator", "ImprovementOptimizer"],
  pattern: "WIRE",
  dependsOn: ["training_coordinator"],
  emits: ["CMAES_TRIGGERED", "HYPERPARAMETER_UPDATED", "ADAPTIVE_PARAMS_CHANGED"],
} as const satisfies Wiring;

type Look = ConfigLook<(typeof wiring.emits)[number]>;

/**
 * Orders a search for better parameters of self-play, one at a time for each config, and applies what it found if games of their own have
 * proven it: the lower end of the 95 % interval of the gain is above zero. What it finds counts from the iteration after the one in which
 * the search was begun; `queue_populator` waits for it there, so that one seed still gives one champion.
 */
export const optimizationCoordinator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { searchOrders, tunings, plateaus } },
    wakes: ["CMAES_COMPLETED", "PIPELINE_STAGE_ENTERED"],
    everyMs: everyMs(services),
    look: (look) => {
      const order = look.row(searchOrders);
      if (order !== undefined && order.outcome === null) follow(look, order);
      else begin(look, order);
    },
    on: {
      PLATEAU_DETECTED({ payload: { config_key, metric_name } }, { rows, now }) {
        if (rows.get(configs, config_key)?.plan.tuning?.on_plateau !== true) return;
        const iteration = rows.get(iterations, config_key)?.iteration ?? 0;
        rows.put(plateaus, config_key, { metric: metric_name, iteration, at: now });
      },
    },
    health: ({ rows }) => {
      const open = rows.list(searchOrders).filter(([, { outcome }]) => outcome === null);
      return { status: "running", message: "", details: { searches: open.map(([, { run_id }]) => run_id) } };
    },
  });

function begin(look: Look, last: SearchOrder | undefined): void {
  const { plan, at, row, now, emit, configKey } = look;
  const model = row(champions)?.model;
  // A plan of an older version says nothing of tuning.
  if (plan.tuning === undefined || model === undefined || at === undefined || look.paused !== null) return;
  const reason: Reason | undefined = reasonToSearch({
    tuning: plan.tuning,
    canPlay: plan.kinds.includes("evaluation"),
    iteration: at.iteration,
    last,
    request: row(searchRequests),
    plateau: row(plateaus),
  });
  if (reason === undefined) return;
  const number = (last?.number ?? 0) + 1;
  const incumbent = valuesOf(plan.tuning.parameters, {
    ...plan.selfplay,
    ...tunedIn(row(tunings), at.iteration + 1),
  });
  const run_id = `${configKey}:cmaes:${number}`;
  look.put(searchOrders, {
    ...{ run_id, number, iteration: at.iteration, model, incumbent, at: now, outcome: null, ended: null },
    reason: reason.words,
    requested_at: reason.requested_at,
  });
  emit.CMAES_TRIGGERED({ config_key: configKey, run_id, reason: reason.words, parameters: incumbent });
}

/** Ends the order when its search has ended, or takes too long. */
function follow(look: Look, order: SearchOrder): void {
  const { row, now, plan } = look;
  const run = row(searchRuns);
  const hasEnded = run?.run_id === order.run_id && (run.state === "ended" || run.state === "failed");
  if (hasEnded) conclude(look, order, judgeSearch(run, plan.tuning.parameters));
  else if (now - order.at >= MAX_SEARCH_MS)
    conclude(look, order, { outcome: "failed", why: `it took longer than ${MAX_SEARCH_MS / 60_000} minutes` });
}

function conclude(look: Look, order: SearchOrder, verdict: SearchVerdict): void {
  const { row, now, emit, configKey, log } = look;
  look.put(searchOrders, { ...order, outcome: verdict.outcome, ended: verdict.why });
  log.info("a search for better parameters has ended", { run_id: order.run_id, ...verdict });
  if (verdict.outcome !== "applied") return;
  const { values, proof, why } = verdict;
  const steps = row(tunings)?.steps ?? [];
  const step = { values, from_iteration: order.iteration + 1, run_id: order.run_id, evidence: proof, at: now };
  look.put(tunings, { steps: [...steps, step].slice(-MAX_TUNINGS) });
  emit.ADAPTIVE_PARAMS_CHANGED({
    config_key: configKey,
    parameters: values,
    previous_parameters: order.incumbent,
    reason: why,
  });
  for (const [parameter, value] of Object.entries(values))
    if (value !== order.incumbent[parameter])
      emit.HYPERPARAMETER_UPDATED({
        ...{ config_key: configKey, parameter, value, reason: why },
        previous_value: order.incumbent[parameter]!,
      });
}
