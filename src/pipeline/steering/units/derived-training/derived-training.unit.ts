import type { Wiring } from "../../../../daemons/index.ts";
import { isOperatingError } from "../../../../kernel/index.ts";
import { disownFile } from "../../../../sync/index.ts";
import type { JobView } from "../../../../work/index.ts";
import { type EvaluationServices, isLasting, resultsFileOf, resultsOf } from "../../../evaluation/index.ts";
import { playersOf, students } from "../../../models/index.ts";
import {
  cascadeStarts,
  defineConfigUnit,
  everyMs,
  exportWork,
  followJobs,
  JOB_ENDS,
  jobFailure,
  type LookOf,
  type PartJob,
  putJobs,
  refusedWait,
  syncWork,
  waiting,
} from "../../../stage/index.ts";
import { trainingEvidence } from "../../../training/index.ts";
import { countGames, failureOf, proofOf, proofParts } from "../../search/run.ts";
import { type DerivedRun, derivedRuns } from "../../tables.ts";
import { passOn } from "./cascade.ts";
import { beginDerived, dueRecipe, matchJob, PLAYERS, studentOf, trainingJob } from "./decide.ts";

const wiring = {
  name: "derived_training",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "optimization",
  daemonTypes: ["CASCADE_TRAINING", "DISTILLATION", "NNUE_TRAINING"],
  dependsOn: ["training_trigger"],
  emits: ["WORK_QUEUED", "TRAINING_THRESHOLD_REACHED"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

const TRAINING = "t0";
const pinOf = (configKey: string): string => `students:${configKey}`;

/**
 * Makes networks of another kind from a champion and its games: a smaller one that learns what the champion says (distillation), and a very small one
 * that learns from the games and may search more (NNUE style). Each is measured against the champion, and enters the registry with what came of
 * it. None of them takes part in the loop, so none changes what a seed comes to. And it passes networks on from few players to many: a config
 * of more players begins with what the one before it in its cascade has learned.
 */
export const derivedTraining = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { derivedRuns, students, cascadeStarts } },
    wakes: [
      "NEW_GAMES_AVAILABLE",
      "DATA_SYNC_COMPLETED",
      "CONSOLIDATION_COMPLETE",
      "TRAINING_COMPLETED",
      "EVALUATION_COMPLETED",
      "ELO_UPDATED",
      "MODEL_PROMOTED",
      ...JOB_ENDS,
    ],
    jobs: ({ work_type }) => work_type === "evaluation" || work_type === "training",
    everyMs: everyMs(services),
    look: async (look) => {
      passOn(services, look);
      const known = look.row(derivedRuns);
      const isOpen = known?.state === "training" || known?.state === "playing";
      const run = isOpen ? known : begin(look, known);
      if (run === undefined) return;
      const after = await follow(services, look, run);
      if (after.failure !== null)
        look.log.warn("a derived network was not made", { run_id: after.run_id, ...after.failure });
      look.put(derivedRuns, after);
      hold(services, look, after);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(rows.list(derivedRuns).map(([key, { kind, state }]) => [key, `${kind}, ${state}`])),
    }),
  });

function begin(look: Look, last: DerivedRun | undefined): DerivedRun | undefined {
  const { plan, at, row, now, emit, configKey } = look;
  const exported = row(exportWork);
  // A plan of an older version says nothing of it.
  if (plan.derived === undefined || at?.champion == null || look.paused !== null) return undefined;
  if (exported?.state !== "done" || exported.iteration !== at.iteration || exported.own.window.length === 0)
    return undefined;
  const kind = dueRecipe(plan.derived, at.iteration, last?.begun);
  if (kind === undefined) return undefined;
  const run = beginDerived(kind, { configKey, teacher: at.champion, iteration: at.iteration, last, now }, exported.own);
  const games = row(syncWork)?.own.accepted.reduce((sum, segment) => sum + segment.games, 0) ?? 0;
  emit.TRAINING_THRESHOLD_REACHED({
    ...{ config_key: configKey, games: Math.max(1, games), required_games: 1, training_kind: kind },
    base_model_id: at.champion,
    reason: `every ${plan.derived[kind].every} iterations, by the plan`,
  });
  return run;
}

/** What its jobs still need is given up by nobody, until its model is in the registry. */
function hold({ catalog }: EvaluationServices, look: Look, run: DerivedRun): void {
  const isOpen = run.state === "training" || run.state === "playing";
  const files = isOpen
    ? [run.teacher, run.model?.sha256, ...run.window.flatMap(({ sha256, holdout }) => [sha256, holdout?.sha256])]
    : [run.state === "ended" ? run.model?.sha256 : undefined];
  const wanted = [...new Set(files.filter((sha256): sha256 is string => sha256 !== undefined))].sort();
  if (wanted.join() !== catalog.pinnedBy(pinOf(look.configKey)).sort().join())
    catalog.join(look).pin(pinOf(look.configKey), wanted);
}

const fail = (run: DerivedRun, failure: DerivedRun["failure"], now: number): DerivedRun => ({
  ...run,
  ...{ state: "failed", jobs: {}, waits: [], failure, ended_at: now },
});

async function follow(services: EvaluationServices, look: Look, given: DerivedRun): Promise<DerivedRun> {
  const { now, plan, configKey } = look;
  const { completed, failed } = followJobs(services.queue, given.jobs);
  const [lost] = failed;
  if (lost !== undefined) return fail(given, jobFailure("DERIVED_JOB_FAILED", "job", lost), now);
  let run = given;
  try {
    for (const { part, job } of completed)
      run = part === TRAINING ? enter(services, look, run, job) : await count(services, look, run, part, job);
    const parts = proofParts(plan.derived[run.kind].blocks);
    if (run.state === "playing" && parts.every(({ name }) => run.scores[name] !== undefined)) {
      const ended: DerivedRun = { ...run, state: "ended", proof: proofOf(run, playersOf(configKey)), ended_at: now };
      look.put(students, { ...look.row(students), [run.kind]: studentOf(look, ended) });
      return ended;
    }
    return ask(services, look, run);
  } catch (thrown) {
    if (isOperatingError(thrown) && !isLasting(thrown))
      return waiting(given, now, { for: "match_results", actual: thrown.message, required: null });
    return fail(given, failureOf(thrown), now);
  }
}

/** The network enters the books. */
function enter({ catalog }: EvaluationServices, look: Look, run: DerivedRun, job: JobView): DerivedRun {
  const { model, numbers } = trainingEvidence(job, { fresh: false });
  const artifacts = catalog.join(look);
  artifacts.record([
    {
      ...model,
      games: 0,
      config_key: look.configKey,
      producer: job.node_id ?? "unknown",
      parents: [...run.window.map(({ sha256 }) => sha256), run.teacher],
      work_id: job.work_id,
      part: TRAINING,
      iteration: run.iteration,
    },
  ]);
  artifacts.accept([model.sha256]);
  return {
    ...run,
    state: "playing",
    jobs: {},
    model: { ...model, checkpoint: null, work_id: job.work_id },
    losses: numbers,
  };
}

async function count(services: EvaluationServices, look: Look, run: DerivedRun, part: string, job: JobView) {
  const { plan, configKey, rows, now } = look;
  const asked = proofParts(plan.derived[run.kind].blocks).find(({ name }) => name === part)!;
  const results = await resultsOf(services, look, PLAYERS, asked, job);
  const file = resultsFileOf(job);
  const reason = "its match has counted it";
  if (file !== undefined) rows.apply(disownFile({ sha256: file.sha256, bytes: file.bytes, reason, at: now }));
  const { [part]: _job, ...jobs } = run.jobs;
  return { ...run, jobs, ...countGames({ ...run, state: "proving" }, part, results, playersOf(configKey)) };
}

/** Puts out what is lacking: the training, or the match. */
function ask({ queue }: EvaluationServices, look: Look, run: DerivedRun): DerivedRun {
  if (look.paused !== null) return run;
  const wanted: [string, PartJob][] =
    run.state === "training"
      ? [[TRAINING, trainingJob(look.plan, run)]]
      : proofParts(look.plan.derived[run.kind].blocks)
          .filter(({ name }) => run.scores[name] === undefined)
          .map((part) => [part.name, matchJob(look.plan, run, part)]);
  const lacking = wanted.filter(([name]) => run.jobs[name] === undefined);
  if (lacking.length === 0) return run;
  const put = putJobs(queue, look, { batch: run.run_id, by: wiring.name, parts: Object.fromEntries(lacking) });
  if ("refused" in put) return waiting(run, look.now, refusedWait(put.refused));
  return { ...run, jobs: { ...run.jobs, ...put.jobs }, waits: [] };
}
