/** The populations that `optimization_coordinator` orders: their jobs in the queue, their files, and what is told of them. */
import { isOperatingError, OperatingError } from "../../../../kernel/index.ts";
import { disownFile } from "../../../../sync/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { type EvaluationServices, isLasting, resultsFileOf, resultsOf } from "../../../evaluation/index.ts";
import { playersOf } from "../../../models/index.ts";
import {
  type ConfigLook,
  cancelJobs,
  followJobs,
  jobFailure,
  type PartJob,
  putJobs,
  refusedWait,
  type SearchOrder,
  seedFor,
  trainedWith,
  trainingTunings,
  waiting,
} from "../../../stage/index.ts";
import { trainingEvidence } from "../../../training/index.ts";
import {
  advancePopulation,
  beginPopulation,
  bestOf,
  countPlayed,
  countTrained,
  failPopulation,
  type PopulationPart,
  type PopulationRun,
  populationParts,
  type Trained,
} from "../../search/population.ts";
import { failureOf } from "../../search/run.ts";
import { populationRuns } from "../../tables.ts";

export const POPULATION_EVENTS = [
  "PBT_STARTED",
  "PBT_GENERATION_COMPLETE",
  "PBT_COMPLETED",
  "NAS_STARTED",
  "NAS_GENERATION_COMPLETE",
  "NAS_BEST_ARCHITECTURE",
  "NAS_COMPLETED",
] as const;

const BY = "population_search";
type Look = ConfigLook<"WORK_QUEUED" | (typeof POPULATION_EVENTS)[number]>;

export const isPopulation = ({ method }: SearchOrder): boolean => method === "pbt" || method === "nas";

const pinOf = (configKey: string): string => `search:${configKey}`;

/** One look at the population of a config: one more step of the one that is ordered, or the end of one that nobody waits for. */
export async function lookAtPopulation(
  services: EvaluationServices,
  look: Look,
  order: SearchOrder | undefined,
): Promise<void> {
  const known = look.row(populationRuns);
  const own = known !== undefined && known.run_id === order?.run_id ? known : undefined;
  const isWanted = order !== undefined && isPopulation(order) && order.outcome === null;
  if (!isWanted || own?.state === "failed") return tidy(services, look, known);
  if (own?.state === "ended") return;
  const run = own ?? begin(look, order);
  const after = run.state === "failed" ? run : await follow(services, look, order, run);
  if (after.failure !== null) look.log.warn("a population failed", { run_id: after.run_id, ...after.failure });
  look.put(populationRuns, after);
  hold(services, look, order, after);
}

/** Nobody waits for it any more: its jobs are taken back, and its files let go. */
async function tidy({ queue, catalog }: EvaluationServices, look: Look, run: PopulationRun | undefined): Promise<void> {
  if (run === undefined) return;
  if (catalog.pinnedBy(pinOf(look.configKey)).length > 0) catalog.join(look).pin(pinOf(look.configKey), []);
  if (run.state === "ended" || (run.state === "failed" && Object.keys(run.jobs).length === 0)) return;
  await cancelJobs(queue, Object.values(run.jobs), "its search has ended without them", BY);
  const failure = { code: "SEARCH_GIVEN_UP", message: "nobody waits for it any more", retryable: false };
  look.put(populationRuns, { ...(run.state === "failed" ? run : failPopulation(run, failure, look.now)), jobs: {} });
}

function begin({ plan, configKey, now, emit }: Look, order: SearchOrder): PopulationRun {
  const seed = seedFor(plan.seed, "search", order.number);
  const run = beginPopulation(order, plan, seed, playersOf(configKey), now);
  if (run.state === "failed") return run;
  const { run_id, members, generations, method } = run;
  const begun = { run_id, config_key: configKey, population: members.length, generations };
  if (method === "pbt") emit.PBT_STARTED(begun);
  else emit.NAS_STARTED(begun);
  return run;
}

/** What its jobs still need is given up by nobody. */
function hold({ catalog }: EvaluationServices, look: Look, { data, model }: SearchOrder, run: PopulationRun): void {
  const files = [
    model,
    data?.checkpoint,
    ...(data?.window ?? []).flatMap(({ sha256, holdout }) => [sha256, holdout?.sha256]),
    ...run.members.flatMap((each) => [each.model, each.checkpoint]),
    ...Object.values(run.trained).flatMap((each) => [each.model, each.checkpoint]),
    ...[run.found?.model, run.found?.checkpoint],
  ].filter((sha256): sha256 is string => sha256 != null);
  const wanted = [...new Set(files)].sort();
  const held = catalog.pinnedBy(pinOf(look.configKey)).sort();
  if (wanted.join() !== held.join()) catalog.join(look).pin(pinOf(look.configKey), wanted);
}

async function follow(services: EvaluationServices, look: Look, order: SearchOrder, given: PopulationRun) {
  const { plan, configKey, now } = look;
  const players = playersOf(configKey);
  const { completed, failed } = followJobs(services.queue, given.jobs);
  const [lost] = failed;
  if (lost !== undefined) return failPopulation(given, jobFailure("SEARCH_JOB_FAILED", "job", lost), now);
  let run = given;
  try {
    const parts = populationParts(run, order, plan);
    for (const { part, job } of completed) {
      const asked = parts.find(({ name }) => name === part)!;
      run =
        asked.kind === "training"
          ? countTrained(run, part, enter(services, look, order, asked, job))
          : countPlayed(run, part, await resultsFor(services, look, asked, job), players);
    }
    const next = advancePopulation(run, parts, plan, players, now);
    const after = next === run ? parts : populationParts(next, order, plan);
    emitSteps(look, run, next);
    return next.state === "ended" ? next : ask(services, look, order, next, after);
  } catch (thrown) {
    if (isOperatingError(thrown) && !isLasting(thrown))
      return waiting(given, now, { for: "match_results", actual: thrown.message, required: null });
    return failPopulation(given, failureOf(thrown), now);
  }
}

/** How the players are called in the results. */
const PLAYERS = { candidate: "candidate", opponent: "incumbent" } as const;

async function resultsFor(services: EvaluationServices, look: Look, asked: PopulationPart, job: JobView) {
  const results = await resultsOf(services, look, PLAYERS, asked, job);
  const file = resultsFileOf(job);
  const reason = "its search has counted it";
  if (file !== undefined) look.rows.apply(disownFile({ sha256: file.sha256, bytes: file.bytes, reason, at: look.now }));
  return results;
}

/** The network of a member enters the books. One that nothing can go on from ends the search. */
function enter(
  { catalog }: EvaluationServices,
  look: Look,
  order: SearchOrder,
  { name, member }: PopulationPart,
  job: JobView,
): Trained {
  const { model, checkpoint } = trainingEvidence(job, { fresh: false });
  if (checkpoint === null)
    throw OperatingError.invalid("POPULATION_WITHOUT_CHECKPOINT", `job ${job.work_id} brought no checkpoint`, {
      hint: "A workload whose populations are searched writes `checkpoint` beside `model`.",
    });
  const files = [model, checkpoint];
  const from = member.checkpoint ?? order.data?.checkpoint ?? null;
  const about = {
    games: 0,
    config_key: look.configKey,
    producer: job.node_id ?? "unknown",
    parents: [...order.data!.window.map(({ sha256 }) => sha256), ...(from === null ? [] : [from])],
    work_id: job.work_id,
    part: name,
    iteration: order.iteration,
  };
  const artifacts = catalog.join(look);
  artifacts.record(files.map((file) => ({ ...file, ...about })));
  artifacts.accept(files.map(({ sha256 }) => sha256));
  return { model: model.sha256, checkpoint: checkpoint.sha256 };
}

/** Puts out the jobs that are lacking. */
function ask(
  { queue }: EvaluationServices,
  look: Look,
  order: SearchOrder,
  run: PopulationRun,
  parts: readonly PopulationPart[],
): PopulationRun {
  const isIn = (name: string) => run.scores[name] !== undefined || run.trained[name] !== undefined;
  const lacking = parts.filter(({ name }) => run.jobs[name] === undefined && !isIn(name));
  if (lacking.length === 0 || look.paused !== null) return run;
  const put = putJobs(queue, look, {
    batch: run.run_id,
    by: BY,
    parts: Object.fromEntries(lacking.map((part) => [part.name, jobOf(look, order, run, part)])),
  });
  if ("refused" in put) return waiting(run, look.now, refusedWait(put.refused));
  return { ...run, jobs: { ...run.jobs, ...put.jobs }, waits: [] };
}

const numbered = (name: string, at: number) => `${name}-${String(at).padStart(4, "0")}`;

function jobOf(look: Look, order: SearchOrder, run: PopulationRun, part: PopulationPart): PartJob {
  const { plan, row } = look;
  const { member, purpose } = part;
  const seed = seedFor(plan.seed, ...purpose);
  if (part.kind === "match") {
    const { evaluation } = run.method === "nas" ? plan.architecture : plan.population;
    const { blocks, firstBlock: first_block } = part;
    return {
      work_type: "evaluation",
      urgency: "normal",
      payload: {
        parameters: { ...plan.evaluation, ...evaluation, ...PLAYERS, blocks, first_block },
        seed,
        inputs: [
          { name: "candidate", sha256: member.model! },
          { name: "opponent", sha256: part.opponent! },
        ],
      },
    };
  }
  const { window, total_rows, new_rows, checkpoint } = order.data!;
  const { base, share, most } = plan.window;
  const inputs = window.map(({ sha256 }, n) => ({ name: numbered("samples", n), sha256 }));
  for (const [n, { holdout }] of window.entries())
    if (holdout !== null) inputs.push({ name: numbered("holdout", n), sha256: holdout.sha256 });
  // Settings are tried from where the champion stands; a shape begins with nothing.
  const from = member.checkpoint ?? (run.method === "pbt" ? checkpoint : null);
  if (from !== null) inputs.push({ name: "checkpoint", sha256: from });
  else if (run.method === "pbt") inputs.push({ name: "model", sha256: order.model });
  const settings = { ...plan.training, ...trainedWith(row(trainingTunings), order.iteration + 1), ...member.values };
  const rows = { new_rows, total_rows, window_base: base, window_share: share, window_most: most };
  return {
    work_type: "training",
    urgency: "normal",
    payload: {
      parameters: { ...settings, ...rows, network_seed: seedFor(plan.seed, "network"), steps: part.steps },
      seed,
      inputs,
    },
  };
}

/** What one step of a population tells: a generation that was played, a network that is better than all before, and the end. */
function emitSteps({ emit, configKey: config_key, now }: Look, before: PopulationRun, after: PopulationRun): void {
  const { run_id, method, generation } = after;
  const best = bestOf(after);
  if (generation > before.generation && best !== undefined) {
    const told = { run_id, generation, best_score: best.score!, config_key };
    if (method === "pbt") emit.PBT_GENERATION_COMPLETE(told);
    else emit.NAS_GENERATION_COMPLETE(told);
    const last = bestOf(before);
    if (method === "nas" && (last === undefined || best.score! > last.score!))
      emit.NAS_BEST_ARCHITECTURE({
        ...{ run_id, config_key, architecture: best.name, best_score: best.score! },
        architecture_spec: { ...best.values, model_id: best.model },
      });
  }
  if (after.state !== "ended" || before.state === "ended") return;
  const { name, values, model } = after.found!;
  const { score: best_score } = after.proof!;
  const end = { run_id, config_key, best_score, generations: generation };
  const duration_seconds = (now - after.since) / 1_000;
  if (method === "pbt") emit.PBT_COMPLETED({ ...end, best_parameters: values, duration_seconds, model_id: model });
  else emit.NAS_COMPLETED({ ...end, architecture: name, evaluations: after.evaluations, duration_seconds });
}
