import type { Wiring } from "../../../../daemons/index.ts";
import { isOperatingError } from "../../../../kernel/index.ts";
import { budgetOf, champions, faultOf, playersOf } from "../../../models/index.ts";
import {
  cancelJobs,
  defineStage,
  done,
  type EvaluationOwn,
  evaluationWork,
  everyMs,
  failed,
  followStageJobs,
  INPUT_LOST,
  JOB_ENDS,
  jobFailure,
  type LostJob,
  type StageFailure,
  type TurnOf,
  trainingWork,
  waiting,
} from "../../../stage/index.ts";
import { evaluationPressures, unusables } from "../../../training/index.ts";
import { batchOf, emptyCounts, gateFor } from "../../gate.ts";
import { VERDICTS_SEEN } from "../../limits.ts";
import { isLasting } from "../../match-results.ts";
import type { EvaluationServices } from "../../services.ts";
import { stabilityUpTo } from "../../stability-up-to.ts";
import { gateVerdicts } from "../../verdicts.ts";
import { conclude } from "./conclude.ts";
import {
  type Batch,
  batchesAhead,
  count,
  lookAtMatch,
  matchOf,
  nextBatch,
  order,
  uncounted,
  type Work,
  withMatch,
} from "./match.ts";
import { watchPressure } from "./pressure.ts";
import { beginTrial, followTrial, trialOf } from "./trial.ts";

const wiring = {
  name: "evaluation_daemon",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "evaluation",
  daemonTypes: ["EVALUATION"],
  alsoKnownAs: ["EvaluationDaemon", "GameGauntlet"],
  pattern: "GET",
  dependsOn: ["model_coordinator", "global_task_coordinator"],
  emits: [
    "WORK_QUEUED",
    "EVALUATION_STARTED",
    "EVALUATION_PROGRESS",
    "EVALUATION_COMPLETED",
    "EVALUATION_FAILED",
    "EVALUATION_BACKPRESSURE",
    "EVALUATION_BACKPRESSURE_RELEASED",
    "MODEL_EVALUATION_BLOCKED",
    "PROMOTION_CANDIDATE",
  ],
} as const satisfies Wiring;

type Turn = TurnOf<typeof wiring>;

/**
 * Plays a candidate against the champion until the sequential test has a verdict. It looks at whole batches only, in their
 * order, so the verdict does not depend on who played what when; what was played beyond the verdict is taken back and never
 * counted. Every counted block is in the match ledger.
 */
export const evaluationDaemon = (services: EvaluationServices) =>
  defineStage({
    ...wiring,
    stage: "evaluation",
    work: evaluationWork,
    state: { tables: { evaluationPressures, unusables } },
    wakes: [
      "TRAINING_COMPLETED",
      "MODEL_PROMOTED",
      "MODEL_UPDATED",
      "MODEL_DISTRIBUTION_COMPLETE",
      "P2P_MODEL_SYNCED",
      ...JOB_ENDS,
    ],
    jobs: "evaluation",
    everyMs: everyMs(services),
    begin: () => NO_MATCH,
    follow: (turn, work) => {
      const trial = trialOf(work);
      if (trial !== undefined)
        return followTrial(services, turn, work, trial, (ended, failure) => refuse(turn, ended, failure));
      return Object.keys(work.jobs).length === 0 ? start(services, turn, work) : follow(services, turn, work);
    },
    leave: (_look, work) => tidy(services, work),
    afterAll: (context) => watchPressure(services, context),
    details: (rows) =>
      Object.fromEntries(
        rows
          .list(evaluationWork)
          .map(([key, { state, own }]) => [key, own.verdict ?? `${state}, ${own.batches} batches`]),
      ),
  });

const NO_MATCH: EvaluationOwn = { candidate: "", opponent: "", counts: [], batches: 0, llr: [], verdict: null };

async function start(services: EvaluationServices, turn: Turn, given: Work): Promise<Work> {
  const { at, plan, configKey, now, emit } = turn;
  const training = turn.row(trainingWork);
  const candidate = training?.iteration === at.iteration ? training.own.model : null;
  // The champion of now, should it have changed since the iteration began: only that one can be followed.
  const opponent = turn.row(champions)?.model ?? at.champion;
  const skip = (why: string, own: Partial<EvaluationOwn> = {}) =>
    done(given, now, { own: { ...NO_MATCH, ...own }, evidence: { skipped: why } });
  if (candidate === null) return skip("nothing was trained in this iteration");
  if (opponent === null)
    return services.isOfOthers?.(configKey) === true && plan.kinds.includes("evaluation")
      ? beginTrial(services, turn, { ...given, own: { ...NO_MATCH, candidate } }, null)
      : skip("there is no champion yet", { candidate });
  if (candidate === opponent) return skip("the candidate is the champion", { candidate, opponent });
  const players = playersOf(configKey);
  const work: Work = { ...given, own: { ...NO_MATCH, candidate, opponent, counts: emptyCounts(players) } };
  if (!plan.kinds.includes("evaluation"))
    return refuse(turn, work, {
      code: "EVALUATION_NOT_POSSIBLE",
      message: `the workload of ${configKey} plays no evaluations, and nothing is promoted without one`,
      retryable: false,
    });
  const holding = (await services.holders?.(candidate)) ?? 1;
  if (holding < 1) return block(turn, work, holding);
  const verdicts = gateVerdicts(services.store, configKey, VERDICTS_SEEN);
  const gate = gateFor(
    plan.gate,
    verdicts.filter(({ iteration }) => iteration < at.iteration),
    stabilityUpTo(services.store, configKey, at.iteration - 1)?.weight,
  );
  const nothing = { gate, budget: budgetOf(plan.evaluation), games: 0, wins: 0, losses: 0, repeated: 0 };
  const ordered = order(services, turn, withMatch(work, nothing), batchesAhead(services, turn, work, []));
  if (ordered.waits.length === 0)
    emit.EVALUATION_STARTED({
      config_key: configKey,
      job_id: turn.jobId,
      model_id: candidate,
      games_planned: gate.capBlocks * players,
      opponents: [opponent],
    });
  return ordered;
}

/** The candidate cannot be fetched yet. It has begun, so that people see what it waits for. */
function block({ emit, now, configKey }: Turn, work: Work, holding: number): Work {
  const blocked = waiting(work, now, { for: "candidate_node", actual: holding, required: 1 });
  const isKnown = work.waits.some((wait) => wait.for === "candidate_node" && wait.actual === holding);
  if (!isKnown)
    emit.MODEL_EVALUATION_BLOCKED({
      config_key: configKey,
      model_id: work.own.candidate,
      holding_nodes: holding,
      required_nodes: 1,
    });
  return blocked;
}

function refuse({ emit, now, configKey, jobId }: Turn, work: Work, failure: StageFailure): Work {
  const { code, message, retryable } = failure;
  emit.EVALUATION_FAILED({
    config_key: configKey,
    job_id: jobId,
    model_id: work.own.candidate,
    error: message,
    retryable,
    error_code: code,
  });
  return failed(work, now, { code, message, retryable });
}

async function follow(services: EvaluationServices, turn: Turn, given: Work): Promise<Work> {
  const { emit, now, configKey, jobId } = turn;
  const followed = followStageJobs(services.queue, turn, uncounted(given));
  const completed = new Map(followed.completed.map(({ part, job }) => [part, job]));
  let work = given;
  let batch: Batch = [];
  for (;;) {
    let isWhole: boolean;
    try {
      ({ batch, isWhole } = await nextBatch(services, turn, work, completed));
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      const { code, message } = thrown;
      if (isLasting(thrown)) return refuse(turn, work, { code, message, retryable: true });
      // What cannot be read at the moment may be readable soon.
      return waiting(work, now, { for: "match_results", actual: message, required: null });
    }
    if (!isWhole) break;
    work = count(turn, work, batch);
    const look = lookAtMatch(services, turn, work, batch);
    work = { ...work, own: { ...work.own, llr: [...work.own.llr, look.result.llr] } };
    if (look.kind === "redundant")
      return refuse(turn, work, { code: "EVALUATION_REDUNDANT", message: look.result.reason, retryable: false });
    if (look.kind === "verdict") {
      const ended = conclude(turn, work, look.result);
      await tidy(services, work);
      return ended;
    }
    const { gate, games } = matchOf(work);
    emit.EVALUATION_PROGRESS({
      config_key: configKey,
      job_id: jobId,
      model_id: work.own.candidate,
      games,
      games_planned: gate.capBlocks * playersOf(configKey),
    });
  }
  // Only what the next look needs can stop it: what failed beyond it may never be wanted.
  const lostOnes = followed.failed.filter(({ part }) => batchOf(part) === work.own.batches);
  const isFault = ({ code, reason }: LostJob) => code !== INPUT_LOST && faultOf(code, reason) !== undefined;
  const lost = lostOnes.find(isFault) ?? lostOnes[0];
  if (lost !== undefined) {
    const failure = jobFailure("EVALUATION_JOB_FAILED", "job", lost);
    if (!isFault(lost)) return refuse(turn, work, failure);
    // It may be the candidate's fault, or that of those who play: somebody who can play shows which.
    await tidy(services, work);
    return beginTrial(services, turn, work, failure);
  }
  if (work === given && followed.awaited.length > 0) return waiting(given, now, ...followed.awaited);
  return order(services, turn, work, batchesAhead(services, turn, work, batch));
}

const tidy = ({ queue }: EvaluationServices, work: Work): Promise<void> => {
  const jobs = [...Object.values(uncounted(work)), ...Object.values(trialOf(work)?.jobs ?? {})];
  return cancelJobs(queue, jobs, "the evaluation has ended without it", wiring.name);
};
