import type { Wiring } from "../../../../daemons/index.ts";
import { isOperatingError } from "../../../../kernel/index.ts";
import { disownFile } from "../../../../sync/index.ts";
import { type EvaluationServices, isLasting, resultsFileOf, resultsOf } from "../../../evaluation/index.ts";
import { playersOf } from "../../../models/index.ts";
import {
  cancelJobs,
  defineConfigUnit,
  everyMs,
  followJobs,
  JOB_ENDS,
  jobFailure,
  type LookOf,
  type PartJob,
  putJobs,
  refusedWait,
  type SearchOrder,
  searchOrders,
  seedFor,
  waiting,
} from "../../../stage/index.ts";
import {
  advance,
  beginSearch,
  countPart,
  failSearch,
  failureOf,
  partsOf,
  type SearchPart,
  type SearchRun,
} from "../../search/run.ts";
import { populationRuns, searchRuns } from "../../tables.ts";
import { isPopulation, lookAtPopulation, POPULATION_EVENTS } from "./populations.ts";

const wiring = {
  name: "population_search",
  layer: 8,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "optimization",
  alsoKnownAs: ["PBTOrchestrator", "NASOrchestrator", "ImprovementOptimizer (search)"],
  dependsOn: ["optimization_coordinator"],
  emits: ["WORK_QUEUED", "CMAES_COMPLETED", ...POPULATION_EVENTS],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Carries out the searches that `optimization_coordinator` orders, generation by generation, as jobs of the queue. All that it knows is
 * one row for each config: a process that is killed goes on with the very numbers it had.
 */
export const populationSearch = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { searchRuns, populationRuns } },
    wakes: ["CMAES_TRIGGERED", "NAS_TRIGGERED", "PIPELINE_STAGE_ENTERED", ...JOB_ENDS],
    jobs: ({ work_type }) => work_type === "evaluation" || work_type === "training",
    everyMs: everyMs(services),
    look: async (look) => {
      const ordered = look.row(searchOrders);
      await lookAtPopulation(services, look, ordered);
      // A population has a row of its own.
      const order = ordered !== undefined && isPopulation(ordered) ? undefined : ordered;
      const known = look.row(searchRuns);
      const own = known?.run_id === order?.run_id ? known : undefined;
      if (order === undefined || order.outcome !== null || own?.state === "failed") return tidy(services, look, known);
      if (own?.state === "ended") return;
      const run = own ?? begin(look, order);
      const after = run.state === "failed" ? run : await follow(services, look, order, run);
      if (after.state === "ended") emitEnd(look, after);
      if (after.failure !== null)
        look.log.warn("a search for better parameters failed", { run_id: after.run_id, ...after.failure });
      look.put(searchRuns, after);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries([
        ...rows.list(searchRuns).map(([key, { state, cma }]) => [key, `${state}, generation ${cma.generation}`]),
        ...rows
          .list(populationRuns)
          .map(([key, { method, state, generation }]) => [`${key} ${method}`, `${state}, generation ${generation}`]),
      ]),
    }),
  });

/** Nobody waits for it any more: its games are taken back. */
async function tidy({ queue }: EvaluationServices, look: Look, run: SearchRun | undefined): Promise<void> {
  if (run === undefined || run.state === "ended" || (run.state === "failed" && Object.keys(run.jobs).length === 0))
    return;
  await cancelJobs(queue, Object.values(run.jobs), "its search has ended without them", wiring.name);
  const failure = { code: "SEARCH_GIVEN_UP", message: "nobody waits for it any more", retryable: false };
  look.put(searchRuns, { ...(run.state === "failed" ? run : failSearch(run, failure, look.now)), jobs: {} });
}

function begin({ plan, configKey, now }: Look, order: SearchOrder): SearchRun {
  const seed = seedFor(plan.seed, "search", order.number);
  const players = playersOf(configKey);
  try {
    return beginSearch(order, plan.tuning, seed, players, now);
  } catch (thrown) {
    const failure = failureOf(thrown);
    const cma = { seed, generation: 0, population: 0, mean: [], sigma: 0, covariance: [], path_sigma: [], path_c: [] };
    const start = { mean: [], sigma: 0 };
    const nothing = { scores: {}, counts: [], repeated: 0, evaluations: 0, games: 0, found: null, proof: null };
    const run = { run_id: order.run_id, state: "searching", cma: { ...cma, start, bounds: null }, ...nothing } as const;
    return failSearch({ ...run, jobs: {}, failure: null, waits: [], since: now, ended_at: null }, failure, now);
  }
}

async function follow(services: EvaluationServices, look: Look, order: SearchOrder, given: SearchRun) {
  const { plan, configKey, now, rows } = look;
  const players = playersOf(configKey);
  const { completed, failed } = followJobs(services.queue, given.jobs);
  const [lost] = failed;
  if (lost !== undefined) return failSearch(given, jobFailure("SEARCH_JOB_FAILED", "job", lost), now);
  let run = given;
  try {
    let parts = partsOf(run, order, plan.tuning);
    for (const { part, job } of completed) {
      const asked = parts.find(({ name }) => name === part)!;
      run = countPart(run, part, await resultsOf(services, look, PLAYERS, asked, job), players);
      // What it says stands in the row from now on.
      const file = resultsFileOf(job);
      const reason = "its search has counted it";
      if (file !== undefined) rows.apply(disownFile({ sha256: file.sha256, bytes: file.bytes, reason, at: now }));
    }
    const next = advance(run, parts, plan.tuning, players, now);
    if (next !== run) parts = partsOf(next, order, plan.tuning);
    run = next;
    return run.state === "ended" ? run : ask(services, look, order, run, parts);
  } catch (thrown) {
    if (isOperatingError(thrown) && !isLasting(thrown))
      return waiting(given, now, { for: "match_results", actual: thrown.message, required: null });
    return failSearch(given, failureOf(thrown), now);
  }
}

/** How the players are called in the results. */
const PLAYERS = { candidate: "candidate", opponent: "incumbent" } as const;

/** Puts out the games that are lacking. */
function ask(
  { queue }: EvaluationServices,
  look: Look,
  order: SearchOrder,
  run: SearchRun,
  parts: readonly SearchPart[],
): SearchRun {
  const lacking = parts.filter(({ name }) => run.jobs[name] === undefined && run.scores[name] === undefined);
  if (lacking.length === 0 || look.paused !== null) return run;
  const put = putJobs(queue, look, {
    batch: run.run_id,
    by: wiring.name,
    parts: Object.fromEntries(lacking.map((part) => [part.name, jobOf(look, order, part)])),
  });
  if ("refused" in put) return waiting(run, look.now, refusedWait(put.refused));
  return { ...run, jobs: { ...run.jobs, ...put.jobs }, waits: [] };
}

/** One model plays itself, each side with parameters of its own. */
function jobOf({ plan }: Look, order: SearchOrder, { values, firstBlock, blocks, purpose }: SearchPart): PartJob {
  return {
    work_type: "evaluation",
    urgency: "normal",
    payload: {
      parameters: {
        ...plan.evaluation,
        ...plan.tuning.evaluation,
        ...PLAYERS,
        ...{ blocks, first_block: firstBlock, candidate_search: values, opponent_search: order.incumbent },
      },
      seed: seedFor(plan.seed, ...purpose),
      inputs: [
        { name: "candidate", sha256: order.model },
        { name: "opponent", sha256: order.model },
      ],
    },
  };
}

function emitEnd({ emit, configKey, now }: Look, run: SearchRun): void {
  emit.CMAES_COMPLETED({
    config_key: configKey,
    run_id: run.run_id,
    best_score: run.proof!.score,
    best_parameters: run.found!,
    evaluations: run.evaluations,
    generations: run.cma.generation,
    duration_seconds: (now - run.since) / 1_000,
  });
}
