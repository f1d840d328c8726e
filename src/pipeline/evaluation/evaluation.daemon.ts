import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { isOperatingError, type OperatingError } from "../../kernel/index.ts";
import { defineTable, type Store } from "../../router/index.ts";
import type { JobView, WorkQueue } from "../../work/index.ts";
import { type ConfigPlan, configs } from "../config-plan.ts";
import { awaitedInput, followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations, type Wait } from "../iteration.ts";
import { champions } from "../models/champion.ts";
import { type ConfigKey, cancelJobs, doneWork, eachConfig, failedWork, sameWaits } from "../models/loop-parts.ts";
import { INPUT_LOST, NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { seedFor } from "../seeds.ts";
import { putChanged, putJobs, refusedWait, undertakingOf, waitsSince } from "../stage-rows.ts";
import { beginWork, type EvaluationOwn, evaluationWork, isFor, type StageWork, trainingWork } from "../stage-work.ts";
import {
  addBlocks,
  batchOf,
  eloOfGate,
  emptyCounts,
  type GatePlan,
  gateFor,
  lookAtGate,
  looksDecided,
  type MatchPart,
  partsOfBatch,
  redundancyOfMatch,
} from "./gate.ts";
import { appendMatches, openingsOf } from "./ledger.ts";
import { type MatchResults, matchResults, type ReadArtifact } from "./match-results.ts";
import { ratingOf } from "./ratings-table.ts";
import { budgetOf, playersOf } from "./search-budget.ts";
import { type SprtResult, shapeOfCounts } from "./statistics/index.ts";
import { type GateVerdict, gateVerdicts, recordVerdict } from "./verdicts.ts";

export interface EvaluationDaemonPorts {
  readonly queue: Pick<WorkQueue, "join" | "show" | "cancel">;
  readonly store: Pick<Store, "read">;
  readonly readArtifact: ReadArtifact;
  /** Nodes from which a model can be fetched; without it every model counts as there. */
  readonly holders?: (sha256: string) => number | Promise<number>;
  /** Jobs that workers would take at once, now; without it as many as there are. */
  readonly freeSlots?: () => number;
  readonly settings?: Partial<EvaluationSettings>;
}

export interface EvaluationSettings {
  readonly everyMs: number;
  /** Jobs that a batch is cut into. */
  readonly partsPerBatch: number;
  /** Batches that lie ready beyond the one that is looked at next, where workers would wait for the look. */
  readonly batchesAhead: number;
  /** Jobs under way, over all configs, that hold training back, and how few let it go on. */
  readonly pressureAt: number;
  readonly releaseAt: number;
}

export const evaluationDefaults: EvaluationSettings = {
  everyMs: 2_000,
  partsPerBatch: 2,
  batchesAhead: 1,
  pressureAt: 60,
  releaseAt: 20,
};

/** Whether evaluation holds training back, since when, and how much is under way. By scope, which is `evaluation`. */
export type EvaluationPressure = { readonly on: boolean; readonly depth: number; readonly since: number };
export const evaluationPressures = defineTable<EvaluationPressure>("pipeline_evaluation_pressure");
export const EVALUATION_SCOPE = "evaluation";

type Said =
  | "WORK_QUEUED"
  | "EVALUATION_STARTED"
  | "EVALUATION_PROGRESS"
  | "EVALUATION_COMPLETED"
  | "EVALUATION_FAILED"
  | "EVALUATION_BACKPRESSURE"
  | "EVALUATION_BACKPRESSURE_RELEASED"
  | "MODEL_EVALUATION_BLOCKED"
  | "PROMOTION_CANDIDATE";
type Context = UnitContext<Said>;
type Work = StageWork<EvaluationOwn>;

/** What is kept beside the counts while a match is under way. */
interface MatchEvidence {
  readonly gate: GatePlan;
  readonly budget: string;
  readonly games: number;
  readonly wins: number;
  readonly losses: number;
  /** Games times redundancy, over the jobs. */
  readonly repeated: number;
}

/** A whole batch that has come in, in the order of its parts. */
type Batch = readonly { readonly part: MatchPart; readonly job: JobView; readonly results: MatchResults }[];

const planOf = (evidence: Work["evidence"]) => evidence as unknown as MatchEvidence;
const UNIT = "evaluation_daemon";

/** Jobs whose blocks no look has counted: the others are complete, and there may be hundreds of them. */
const uncounted = ({ jobs, own }: Work): Work["jobs"] =>
  Object.fromEntries(Object.entries(jobs).filter(([part]) => batchOf(part) >= own.batches));

/**
 * Plays a candidate against the champion until the sequential test has a verdict. It looks at whole batches only, in their
 * order, so the verdict does not depend on who played what when; what was played beyond the verdict is taken back and never
 * counted. Every counted block is in the match ledger.
 */
export const evaluationDaemon = (ports: EvaluationDaemonPorts) => {
  const { queue, store, readArtifact, holders, freeSlots = () => Number.POSITIVE_INFINITY } = ports;
  const settings = { ...evaluationDefaults, ...ports.settings };

  const partsUpTo = ({ batchBlocks, capBlocks }: GatePlan, batches: number): MatchPart[] =>
    Array.from({ length: Math.min(batches, capBlocks / batchBlocks) }, (_, batch) =>
      partsOfBatch(batch, batchBlocks, settings.partsPerBatch),
    ).flat();

  /** The work with the jobs that must be there by now; those that it has already are left alone. */
  const order = (configKey: ConfigKey, plan: ConfigPlan, work: Work, ahead: number, context: Context): Work => {
    const { candidate, opponent, batches } = work.own;
    const batch_id = undertakingOf(configKey, work, "evaluation");
    const parts = partsUpTo(planOf(work.evidence).gate, batches + 1 + ahead).filter(
      ({ name }) => work.jobs[name] === undefined,
    );
    if (parts.length === 0) return { ...work, waits: [] };
    const put = putJobs(
      queue,
      context,
      parts.map(({ name, firstBlock, blocks }) => ({
        work_type: "evaluation",
        config_key: configKey,
        urgency: "normal" as const,
        payload: {
          parameters: { ...plan.evaluation, blocks, first_block: firstBlock, candidate, opponent },
          seed: seedFor(plan.seed, "gate", work.iteration),
          inputs: [
            { name: "candidate", sha256: candidate },
            { name: "opponent", sha256: opponent },
          ],
        },
        batch_id,
        dedup_key: `${batch_id}:${name}`,
        requested_by: UNIT,
      })),
    );
    if ("refused" in put) return { ...work, waits: waitsSince(work.waits, context.now, [refusedWait(put.refused)]) };
    const jobs = Object.fromEntries(parts.map(({ name }, i) => [name, put.added[i]!.work_id]));
    return { ...work, jobs: { ...work.jobs, ...jobs }, waits: [] };
  };

  /** Ends the stage without a match, because there is nothing to compare. */
  const skip = (
    configKey: string,
    iteration: Iteration,
    why: string,
    own: Partial<EvaluationOwn>,
    context: Context,
  ) => {
    const blank = { candidate: "", opponent: "", counts: [], batches: 0, llr: [], verdict: null, ...own };
    const work = beginWork<EvaluationOwn>(iteration, context.now, blank);
    context.rows.put(evaluationWork, configKey, doneWork(work, context.now, { evidence: { skipped: why } }));
  };

  const refuse = (
    configKey: ConfigKey,
    work: Work,
    error: Pick<OperatingError, "code" | "message" | "retryable">,
    context: Context,
  ) => {
    const { code, message, retryable } = error;
    context.rows.put(evaluationWork, configKey, failedWork(work, context.now, { code, message, retryable }));
    context.emit.EVALUATION_FAILED({
      config_key: configKey,
      job_id: undertakingOf(configKey, work, "evaluation"),
      model_id: work.own.candidate,
      error: message,
      retryable,
      error_code: code,
    });
  };

  const begin = async (configKey: ConfigKey, iteration: Iteration, context: Context) => {
    const { rows, emit, now } = context;
    const { plan } = rows.get(configs, configKey)!;
    const training = rows.get(trainingWork, configKey);
    const candidate = training?.iteration === iteration.iteration ? training.own.model : null;
    // The champion of now, should it have changed since the iteration began: only that one can be followed.
    const opponent = rows.get(champions, configKey)?.model ?? iteration.champion;
    if (candidate === null) return skip(configKey, iteration, "nothing was trained in this iteration", {}, context);
    if (opponent === null) return skip(configKey, iteration, "there is no champion yet", { candidate }, context);
    if (candidate === opponent)
      return skip(configKey, iteration, "the candidate is the champion", { candidate, opponent }, context);
    const players = playersOf(configKey);
    const own = { candidate, opponent, counts: emptyCounts(players), batches: 0, llr: [], verdict: null };
    const blank = beginWork<EvaluationOwn>(iteration, now, own);
    if (!plan.kinds.includes("evaluation"))
      return refuse(
        configKey,
        blank,
        {
          code: "EVALUATION_NOT_POSSIBLE",
          message: `the workload of ${configKey} plays no evaluations, and nothing is promoted without one`,
          retryable: false,
        },
        context,
      );
    const holding = holders === undefined ? 1 : await holders(candidate);
    if (holding < 1) return block(configKey, blank, holding, context);
    const gate = gateFor(
      plan.gate,
      gateVerdicts(store, configKey, 40).filter((verdict) => verdict.iteration < iteration.iteration),
    );
    const evidence: MatchEvidence = {
      gate,
      budget: budgetOf(plan.evaluation),
      games: 0,
      wins: 0,
      losses: 0,
      repeated: 0,
    };
    const known = rows.get(evaluationWork, configKey);
    const waits = isFor(known, iteration) ? known!.waits : [];
    const work = order(
      configKey,
      plan,
      { ...blank, waits, evidence: evidence as unknown as Work["evidence"] },
      isRoomy() ? settings.batchesAhead : 0,
      context,
    );
    putChanged(rows, evaluationWork, configKey, { ...work, since: isFor(known, iteration) ? known!.since : now });
    if (work.waits.length > 0) return;
    emit.EVALUATION_STARTED({
      config_key: configKey,
      job_id: undertakingOf(configKey, iteration, "evaluation"),
      model_id: candidate,
      games_planned: gate.capBlocks * players,
      opponents: [opponent],
    });
  };

  /** The candidate cannot be fetched yet. It has begun, so that people see what it waits for. */
  const block = (configKey: ConfigKey, work: Work, holding: number, { rows, emit, now }: Context) => {
    const known = rows.get(evaluationWork, configKey);
    const before = isFor(known, work) ? known!.waits : [];
    const wait = { for: "a node that holds the candidate", actual: holding, required: 1 };
    const waits = waitsSince(before, now, [wait]);
    if (sameWaits(before, waits)) return;
    rows.put(evaluationWork, configKey, { ...work, waits });
    emit.MODEL_EVALUATION_BLOCKED({
      config_key: configKey,
      model_id: work.own.candidate,
      holding_nodes: holding,
      required_nodes: 1,
    });
  };

  /** Whether workers would have nothing to do if only one batch lay ready. */
  const isRoomy = () => freeSlots() > settings.partsPerBatch;

  /** The parts of the next batch that are in, in their order. */
  const nextBatch = async (configKey: ConfigKey, work: Work, completed: ReadonlyMap<string, JobView>) => {
    const { gate } = planOf(work.evidence);
    const { candidate, opponent, batches } = work.own;
    const parts = partsOfBatch(batches, gate.batchBlocks, settings.partsPerBatch);
    const batch: Batch[number][] = [];
    for (const part of parts) {
      const job = completed.get(part.name);
      if (job === undefined) continue;
      const expected = { candidate, opponent, blocks: part.blocks, players: playersOf(configKey) };
      batch.push({ part, job, results: await matchResults(readArtifact, job, expected) });
    }
    return { batch, isWhole: batch.length === parts.length };
  };

  /** Batches to have ready: none beyond one that will probably be the last, unless workers had nothing else to do. */
  const batchesAhead = (configKey: ConfigKey, work: Work, begun: Batch): number => {
    if (isRoomy()) return settings.batchesAhead;
    if (begun.length === 0) return 0;
    const blocks = begun.flatMap(({ results }) => results.blocks);
    const isLast = looksDecided(work.own.counts, blocks, playersOf(configKey), planOf(work.evidence).gate);
    return isLast ? 0 : settings.batchesAhead;
  };

  /** Adds a batch to the ledger and to the counts. */
  const count = (configKey: ConfigKey, work: Work, batch: Batch, { rows, now }: Context): Work => {
    const { candidate, opponent, counts } = work.own;
    const before = planOf(work.evidence);
    for (const { part, job, results } of batch)
      rows.apply(
        appendMatches({
          config_key: configKey,
          budget: before.budget,
          purpose: "gate",
          work_id: job.work_id,
          candidate,
          opponent,
          blocks: results.blocks.map((block) => ({ ...block, block: part.firstBlock + block.block })),
          at: now,
        }),
      );
    const blocks = batch.flatMap(({ results }) => results.blocks);
    const scores = blocks.flatMap((block) => block.scores);
    const evidence: MatchEvidence = {
      ...before,
      games: before.games + scores.length,
      wins: before.wins + scores.filter((score) => score === 1).length,
      losses: before.losses + scores.filter((score) => score === 0).length,
      repeated: before.repeated + batch.reduce((sum, { results }) => sum + results.games * results.redundancy, 0),
    };
    const own = {
      ...work.own,
      counts: addBlocks(counts, blocks, playersOf(configKey)),
      batches: work.own.batches + 1,
    };
    return { ...work, own, evidence: evidence as unknown as Work["evidence"] };
  };

  /** Openings of all batches that were counted; the newest is not on disk yet. */
  const openingsUpTo = (work: Work, batch: Batch): string[] => {
    const earlier = Object.entries(work.jobs)
      .filter(([part]) => batchOf(part) < work.own.batches - 1)
      .map(([, workId]) => workId);
    return [
      ...openingsOf(store, earlier),
      ...batch.flatMap(({ results }) => results.blocks.map(({ opening }) => opening)),
    ];
  };

  const conclude = (configKey: ConfigKey, work: Work, result: SprtResult, context: Context): Work => {
    const { rows, emit, now } = context;
    const { candidate, opponent, counts } = work.own;
    const { gate, budget, games, wins, losses } = planOf(work.evidence);
    const players = playersOf(configKey);
    const verdict = result.decision as Exclude<SprtResult["decision"], "continue">;
    const measured = eloOfGate(counts, players, gate);
    const { scores } = shapeOfCounts(players, counts.length);
    const score = counts.reduce((sum, n, cell) => sum + n * scores[cell]!, 0) / result.blocks;
    const { method, ...elo } = measured;
    const numbers = {
      budget,
      verdict,
      reason: result.reason,
      blocks: result.blocks,
      games,
      score,
      counts,
      llr: result.llr,
      elo0: gate.bounds[0],
      elo1: gate.bounds[1],
      alpha: gate.alpha,
      beta: gate.beta,
      redundancy: result.redundancy,
      ...elo,
    } satisfies Partial<GateVerdict>;
    const { iteration, attempt } = work;
    rows.apply(recordVerdict({ config_key: configKey, iteration, attempt, candidate, opponent, ...numbers, at: now }));
    // On the scale of the ladder where the champion has a place on it, and as a difference to it where not.
    const base = ratingOf(rows, configKey, budget, opponent)?.elo ?? 0;
    const shared = { config_key: configKey, model_id: candidate, games, win_rate: score, elo: base + measured.elo };
    emit.EVALUATION_COMPLETED({
      ...shared,
      job_id: undertakingOf(configKey, work, "evaluation"),
      passed: verdict === "promote",
      win_rates: { [opponent]: score },
      elo_low: base + measured.elo_low,
      elo_high: base + measured.elo_high,
      duration_seconds: (now - work.since) / 1_000,
    });
    if (verdict === "promote")
      emit.PROMOTION_CANDIDATE({
        ...shared,
        artifact_hash: candidate,
        champion_model_id: opponent,
        win_rates: { [opponent]: score },
      });
    return doneWork(work, now, {
      own: { ...work.own, verdict },
      evidence: { ...numbers, wins, losses, draws: games - wins - losses, method },
    });
  };

  const follow = async (configKey: ConfigKey, given: Work, context: Context) => {
    const { rows, emit } = context;
    const { plan } = rows.get(configs, configKey)!;
    const players = playersOf(configKey);
    const followed = followJobs(queue, uncounted(given), rows.get(rebuildRows, configKey) ?? NO_REBUILDS);
    const completed = new Map(followed.completed.map(({ part, job }) => [part, job]));
    let work = given;
    let batch: Batch = [];
    for (;;) {
      let isWhole: boolean;
      try {
        ({ batch, isWhole } = await nextBatch(configKey, work, completed));
      } catch (thrown) {
        if (!isOperatingError(thrown)) throw thrown;
        if (thrown.code.startsWith("MATCH_") || !thrown.retryable)
          return refuse(configKey, work, { ...thrown, message: thrown.message, retryable: true }, context);
        // What cannot be read at the moment may be readable soon.
        return wait(
          configKey,
          work,
          { for: "the results of its games", actual: thrown.message, required: null },
          context,
        );
      }
      if (!isWhole) break;
      work = count(configKey, work, batch, context);
      const { gate, games, repeated } = planOf(work.evidence);
      const redundancy = redundancyOfMatch([{ games, redundancy: repeated / games }], openingsUpTo(work, batch));
      const look = lookAtGate(work.own.counts, players, gate, redundancy);
      work = { ...work, own: { ...work.own, llr: [...work.own.llr, look.result.llr] } };
      if (look.kind === "redundant") {
        const error = { code: "EVALUATION_REDUNDANT", message: look.result.reason, retryable: false };
        return refuse(configKey, work, error, context);
      }
      if (look.kind === "verdict") {
        rows.put(evaluationWork, configKey, conclude(configKey, work, look.result, context));
        return tidy(work);
      }
      emit.EVALUATION_PROGRESS({
        config_key: configKey,
        job_id: undertakingOf(configKey, work, "evaluation"),
        model_id: work.own.candidate,
        games,
        games_planned: gate.capBlocks * players,
      });
    }
    // Only what the next look needs can stop it: what failed beyond it may never be wanted.
    const lost = followed.failed.find(({ part }) => batchOf(part) === work.own.batches);
    if (lost !== undefined) {
      const message = `job ${lost.workId} (${lost.part}) failed: ${lost.reason}`;
      const code = lost.code === INPUT_LOST ? INPUT_LOST : "EVALUATION_JOB_FAILED";
      refuse(configKey, work, { code, message, retryable: true }, context);
      return;
    }
    const [awaited] = awaitedInput(followed);
    if (work === given && awaited !== undefined) return wait(configKey, given, awaited, context);
    const ahead = batchesAhead(configKey, work, batch);
    putChanged(rows, evaluationWork, configKey, order(configKey, plan, work, ahead, context));
  };

  const wait = (configKey: ConfigKey, work: Work, what: Omit<Wait, "since">, { rows, now }: Context) => {
    putChanged(rows, evaluationWork, configKey, { ...work, waits: waitsSince(work.waits, now, [what]) });
  };

  const tidy = (work: Work) =>
    cancelJobs(queue, Object.values(uncounted(work)), "the evaluation has ended without it", UNIT);

  const reconcile = async (configKey: ConfigKey, context: Context) => {
    const iteration = context.rows.get(iterations, configKey);
    const work = context.rows.get(evaluationWork, configKey);
    // Jobs of an attempt that is over: its verdict came before them, or somebody gave it up.
    const isOver =
      work !== undefined && (work.state !== "running" || (iteration !== undefined && !isFor(work, iteration)));
    if (isOver) await tidy(work);
    if (!isTurnOf("evaluation", iteration)) return;
    if (!isFor(work, iteration) || (work!.state === "running" && Object.keys(work!.jobs).length === 0))
      await begin(configKey, iteration, context);
    else if (work!.state === "running") await follow(configKey, work!, context);
  };

  /** Both edges are told once: pressure comes at one depth and goes at a lower one. */
  const watchPressure = ({ rows, emit, now }: Context) => {
    const depth = rows
      .list(evaluationWork)
      .filter(([, { state }]) => state === "running")
      .reduce((sum, [, work]) => sum + followJobs(queue, uncounted(work)).open.length, 0);
    const before = rows.get(evaluationPressures, EVALUATION_SCOPE);
    const on = before?.on === true ? depth > settings.releaseAt : depth >= settings.pressureAt;
    if (on === (before?.on ?? false)) return;
    rows.put(evaluationPressures, EVALUATION_SCOPE, { on, depth, since: now });
    const payload = {
      scope: EVALUATION_SCOPE,
      queue_depth: depth,
      threshold: settings.pressureAt,
      release_threshold: settings.releaseAt,
    };
    if (on) emit.EVALUATION_BACKPRESSURE(payload);
    else emit.EVALUATION_BACKPRESSURE_RELEASED(payload);
  };

  return defineDaemon({
    name: UNIT,
    layer: 7,
    placement: "leader",
    alsoKnownAs: ["EVALUATION", "EvaluationDaemon", "GameGauntlet"],
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
    state: { tables: { evaluationWork, evaluationPressures } },
    on: {
      ...onEach(["PIPELINE_STAGE_ENTERED", "TRAINING_COMPLETED", "MODEL_PROMOTED"], ({ payload }, context: Context) =>
        reconcile(payload.config_key, context),
      ),
      async MODEL_DISTRIBUTION_COMPLETE({ payload: { config_key } }, context) {
        if (config_key !== undefined) await reconcile(config_key, context);
      },
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], async ({ payload }, context: Context) => {
        if (payload.work_type === "evaluation" && payload.config_key !== undefined)
          await reconcile(payload.config_key, context);
      }),
    },
    loop: {
      everyMs: settings.everyMs,
      async tick(context) {
        await eachConfig(context.rows, (configKey) => reconcile(configKey, context));
        watchPressure(context);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(evaluationWork);
      const details = Object.fromEntries(
        all.map(([key, { state, own }]) => [key, own.verdict ?? `${state}, ${own.batches} batches`]),
      );
      const failed = all.filter(([, { state }]) => state === "failed").map(([key]) => key);
      return failed.length === 0
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `no verdict for ${failed.join(", ")}`, details };
    },
  });
};
