import type { Wiring } from "../../../../daemons/index.ts";
import { champions, checkpointOf } from "../../../models/index.ts";
import {
  configs,
  defineConfigUnit,
  everyMs,
  exportWork,
  iterations,
  type LookOf,
  MAX_SEARCH_MS,
  type SearchOrder,
  type StageServices,
  searchOrders,
  searchRequests,
  type TunedValues,
  trainedWith,
  trainingTunings,
  tunedIn,
  tunings,
} from "../../../stage/index.ts";
import { judgeArchitectures, shapesToTry } from "../../architectures.ts";
import { gatesBefore } from "../../gates.ts";
import { MAX_TUNINGS } from "../../limits.ts";
import { incumbentOf, judgePopulation, type PopulationVerdict } from "../../search/population.ts";
import { judgeSearch, type SearchVerdict } from "../../search/run.ts";
import { valuesOf } from "../../search/space.ts";
import { plateaus, populationRuns, searchRuns } from "../../tables.ts";
import { type Reason, reasonToSearch } from "./decide.ts";

const wiring = {
  name: "optimization_coordinator",
  layer: 8,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "optimization",
  alsoKnownAs: ["OptimizationCoordinator", "ImprovementOptimizer", "NASOrchestrator (trigger)"],
  pattern: "WIRE",
  dependsOn: ["training_coordinator"],
  emits: ["CMAES_TRIGGERED", "NAS_TRIGGERED", "HYPERPARAMETER_UPDATED", "ADAPTIVE_PARAMS_CHANGED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Orders a search, one at a time for each config: for better parameters of self-play, settings of training or a better shape of the network. It
 * applies what was found if games of their own have proven it: the lower end of the 95 % interval of the gain is above zero. What is found
 * counts from the iteration after the one in which the search was begun; `queue_populator` waits for it there, so that one seed still gives
 * one champion.
 */
export const optimizationCoordinator = (services: StageServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { searchOrders, tunings, trainingTunings, plateaus } },
    wakes: ["CMAES_COMPLETED", "PBT_COMPLETED", "NAS_COMPLETED", "PIPELINE_STAGE_ENTERED"],
    everyMs: everyMs(services),
    look: (look) => {
      const order = look.row(searchOrders);
      if (order !== undefined && order.outcome === null) follow(services, look, order);
      else begin(services, look, order);
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

function begin({ store }: StageServices, look: Look, last: SearchOrder | undefined): void {
  const { plan, at, row, now, emit, configKey } = look;
  const model = row(champions)?.model;
  if (model === undefined || at === undefined || look.paused !== null) return;
  const exported = row(exportWork);
  const hasData = exported?.state === "done" && exported.iteration === at.iteration;
  const reason: Reason | undefined = reasonToSearch({
    plan,
    canPlay: plan.kinds.includes("evaluation"),
    iteration: at.iteration,
    hasData,
    last,
    request: row(searchRequests),
    plateau: row(plateaus),
  });
  if (reason === undefined) return;
  const { method, words, requested_at } = reason;
  const number = (last?.number ?? 0) + 1;
  const next = at.iteration + 1;
  const incumbent =
    method === "cmaes"
      ? valuesOf(plan.tuning.parameters, { ...plan.selfplay, ...tunedIn(row(tunings), next) })
      : method === "pbt"
        ? incumbentOf(plan, trainedWith(row(trainingTunings), next))
        : {};
  const run_id = `${configKey}:${method}:${number}`;
  const gates = method === "nas" ? gatesBefore(store, configKey, at.iteration) : [];
  const { weights } = judgeArchitectures(row(trainingTunings), gates, at.iteration);
  const shapes = shapesToTry(plan.architecture?.shapes ?? {}, weights);
  look.put(searchOrders, {
    ...{ run_id, method, number, iteration: at.iteration, model, incumbent, at: now, outcome: null, ended: null },
    begun: { ...last?.begun, [method]: at.iteration },
    data: method === "cmaes" ? null : { ...exported!.own, checkpoint: checkpointOf(store, configKey, model) },
    ...(method === "nas" ? { shapes } : {}),
    reason: words,
    requested_at,
  });
  if (method === "cmaes") emit.CMAES_TRIGGERED({ config_key: configKey, run_id, reason: words, parameters: incumbent });
  if (method === "nas") emit.NAS_TRIGGERED({ config_key: configKey, run_id, reason: words, search_space: shapes });
}

/** Ends the order when its search has ended, or takes too long. */
function follow(services: StageServices, look: Look, order: SearchOrder): void {
  const { row, now, plan } = look;
  const known = order.method === "pbt" || order.method === "nas" ? row(populationRuns) : row(searchRuns);
  const run = known?.run_id === order.run_id ? known : undefined;
  if (run?.state === "ended" || run?.state === "failed") {
    if ("members" in run) concludePopulation(services, look, order, judgePopulation(run, plan));
    else conclude(look, order, judgeSearch(run, plan.tuning.parameters));
  } else if (now - order.at >= MAX_SEARCH_MS)
    end(look, order, { outcome: "failed", why: `it took longer than ${MAX_SEARCH_MS / 60_000} minutes` });
}

function end({ put, log }: Look, order: SearchOrder, { outcome, why }: Pick<SearchVerdict, "outcome" | "why">): void {
  put(searchOrders, { ...order, outcome, ended: why });
  log.info("a search has ended", { run_id: order.run_id, outcome, why });
}

function conclude(look: Look, order: SearchOrder, verdict: SearchVerdict): void {
  const { row, now, emit, configKey } = look;
  end(look, order, verdict);
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
  emitValues(look, order, values, why);
}

/** Settings of training count from the next iteration on; a better network takes the place of the line of training there. */
function concludePopulation(
  { catalog }: StageServices,
  look: Look,
  order: SearchOrder,
  verdict: PopulationVerdict,
): void {
  const { row, now, configKey } = look;
  end(look, order, verdict);
  if (verdict.outcome !== "applied") return;
  const { found, proof, why } = verdict;
  const { name: architecture, model, checkpoint, values } = found;
  const start = order.method === "nas" ? { architecture, model, checkpoint } : null;
  const step = { values, start, from_iteration: order.iteration + 1, run_id: order.run_id, evidence: proof, at: now };
  look.put(trainingTunings, { steps: [...(row(trainingTunings)?.steps ?? []), step].slice(-MAX_TUNINGS) });
  // Until the line has gone on from them, nobody else speaks for its files.
  if (start !== null) catalog.join(look).pin(`architecture:${configKey}`, [model, checkpoint]);
  const before = trainedWith(row(trainingTunings), order.iteration);
  emitValues(look, { ...order, incumbent: { ...before, ...order.incumbent } }, values, why);
}

function emitValues({ emit, configKey }: Look, { incumbent }: SearchOrder, values: TunedValues, reason: string): void {
  for (const [parameter, value] of Object.entries(values))
    if (incumbent[parameter] !== undefined && value !== incumbent[parameter])
      emit.HYPERPARAMETER_UPDATED({
        ...{ config_key: configKey, parameter, value, reason },
        previous_value: incumbent[parameter],
      });
}
