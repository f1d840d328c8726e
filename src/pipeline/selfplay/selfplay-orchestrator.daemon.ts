import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import type { JobView, WorkQueue } from "../../work/index.ts";
import type { ArtifactCatalog } from "../artifacts.port.ts";
import { type ConfigPlan, configs } from "../config-plan.ts";
import { suspects, suspectsIn } from "../data/suspects.ts";
import { awaitedInput, followJobs } from "../followed-jobs.ts";
import { type Iteration, isTurnOf, iterations, type StageFailure } from "../iteration.ts";
import { INPUT_LOST, NO_REBUILDS, rebuildRows } from "../rebuild-rows.ts";
import { failed, putChanged, waiting } from "../stage-rows.ts";
import { beginWork, isFor, type Segment, type SelfplayOwn, type StageWork, selfplayWork } from "../stage-work.ts";
import { goals } from "./goals.ts";
import { byPart } from "./parts.ts";
import { entriesOf, filesOf, isFailure, segmentOf } from "./segments.ts";
import { keptSegments, rejections, rejectionsOf, type SelfplayOrder, selfplayOrders } from "./selfplay-order.ts";

export interface SelfplayOrchestratorPorts {
  readonly queue: Pick<WorkQueue, "show">;
  readonly catalog: Pick<ArtifactCatalog, "join">;
  readonly settings?: { readonly everyMs?: number };
}

type Context = UnitContext<"SELFPLAY_COMPLETE">;
type Work = StageWork<SelfplayOwn>;
type ConfigKey = ConfigPlan["config_key"];

const total = (segments: readonly Segment[], of: (segment: Segment) => number): number =>
  segments.reduce((sum, segment) => sum + of(segment), 0);

function gamesByProducer(segments: readonly Segment[]): Record<string, number> {
  const games = new Map<string, number>();
  for (const segment of segments) games.set(segment.producer, (games.get(segment.producer) ?? 0) + segment.games);
  return Object.fromEntries(games);
}

const secondsOf = ({ started_at, claimed_at, finished_at }: JobView): number =>
  finished_at === null ? 0 : Math.max(0, finished_at - (started_at ?? claimed_at ?? finished_at));

/**
 * Follows the self-play jobs of an iteration, enters their games into the books, and says that the batch is done only when
 * its games are proven. The map has it as a coordinator; it is a daemon, because one that is driven by events alone would
 * wait for ever after the last completion was lost.
 */
export const selfplayOrchestrator = ({ queue, catalog, settings = {} }: SelfplayOrchestratorPorts) => {
  const begin = ({ rows, now }: Context, configKey: string, iteration: Iteration): Work => {
    const rejected = rejectionsOf(rows.get(rejections, configKey), iteration.iteration);
    const away = suspectsIn(rows.get(suspects, configKey), iteration.iteration);
    const guilty = rejected.filter(({ reason }) => reason !== "corrupt").map(({ producer }) => producer);
    return beginWork(iteration, now, {
      segments: keptSegments(rows.get(selfplayWork, configKey), rejected, iteration.iteration),
      excluded: [...new Set([...away, ...guilty])].sort(),
    });
  };

  /** One more part is there: it enters the books and is told. */
  const enter = (
    context: Context,
    configKey: ConfigKey,
    order: SelfplayOrder,
    segment: Segment,
    job: JobView,
  ): void => {
    const { model, iteration } = order;
    const artifacts = catalog.join(context);
    artifacts.produced(configKey, segment.producer, segment.work_id, segment.games);
    artifacts.record(entriesOf(segment, { configKey, iteration, model }));
    context.emit.SELFPLAY_COMPLETE({
      config_key: configKey,
      task_id: `${job.work_id}.${job.fence}`,
      node_id: segment.producer,
      games: segment.games,
      artifact_hash: (segment.games_file ?? segment.samples_file).sha256,
      duration_seconds: secondsOf(job),
      model_id: model,
      ...(segment.rows > 0 ? { samples: segment.rows } : {}),
    });
  };

  /** Takes what has come in, and says how far the batch is. */
  const follow = (context: Context, configKey: ConfigKey, work: Work, order: SelfplayOrder): Work => {
    const { now } = context;
    const have = new Set(work.own.segments.map(({ part }) => part));
    const followed = followJobs(
      queue,
      Object.fromEntries(Object.entries(order.jobs).filter(([part]) => !have.has(part))),
      context.rows.get(rebuildRows, configKey) ?? NO_REBUILDS,
    );
    const segments = [...work.own.segments];
    const failures: StageFailure[] = followed.failed.map(({ part, workId, reason, code }) => ({
      code: code === INPUT_LOST ? INPUT_LOST : "SELFPLAY_JOB_FAILED",
      message: `job ${workId} of part ${part} failed (${code}): ${reason}`,
      retryable: true,
    }));
    for (const { part, job } of followed.completed.toSorted(byPart)) {
      const found = segmentOf(part, job);
      if (isFailure(found)) failures.push(found);
      else {
        segments.push(found);
        enter(context, configKey, order, found, job);
      }
    }
    segments.sort(byPart);
    const next: Work = { ...work, jobs: order.jobs, own: { ...work.own, segments } };
    const games = total(segments, (segment) => segment.games);
    if (segments.length === order.parts.length)
      return {
        ...next,
        state: "done",
        ended_at: now,
        waits: [],
        outputs: segments.flatMap(filesOf),
        evidence: {
          games,
          rows: total(segments, ({ rows }) => rows),
          jobs: segments.length,
          producers: gamesByProducer(segments),
          wanted_games: order.parts.reduce((sum, part) => sum + part.games, 0),
        },
      };
    // What still runs is brought home first: the next attempt then only plays what failed.
    if (failures.length > 0 && followed.open.length === 0) return failed(next, now, failures[0]!);
    return waiting(next, now, [
      { for: "games", actual: games, required: order.parts.reduce((sum, part) => sum + part.games, 0) },
      ...(failures.length === 0
        ? []
        : [{ for: "open_jobs", actual: `${followed.open.length} run, and ${failures[0]!.message}`, required: 0 }]),
      ...awaitedInput(followed),
    ]);
  };

  const reconcile = (context: Context, configKey: string): void => {
    const { rows, now } = context;
    const config = rows.get(configs, configKey);
    const iteration = rows.get(iterations, configKey);
    if (config === undefined || !isTurnOf("selfplay", iteration)) return;
    const known = rows.get(selfplayWork, configKey);
    const work = known !== undefined && isFor(known, iteration) ? known : begin(context, configKey, iteration);
    if (work.state !== "running") return;
    const order = rows.get(selfplayOrders, configKey);
    if (order !== undefined && isFor(order, iteration))
      putChanged(rows, selfplayWork, configKey, follow(context, config.plan.config_key, work, order));
    else {
      const [why] = rows.get(goals, configKey)?.waits ?? [];
      const actual = why === undefined ? "none yet" : `${why.for}: ${why.actual}`;
      putChanged(
        rows,
        selfplayWork,
        configKey,
        waiting(work, now, [{ for: "jobs", actual, required: "in the queue" }]),
      );
    }
  };

  return defineDaemon({
    name: "selfplay_orchestrator",
    layer: 5,
    placement: "leader",
    alsoKnownAs: ["SelfplayOrchestrator"],
    pattern: "WIRE",
    dependsOn: ["task_coordinator"],
    emits: ["SELFPLAY_COMPLETE"],
    state: { tables: { selfplayWork } },
    on: {
      PIPELINE_STAGE_ENTERED: ({ payload }, context: Context) => {
        if (payload.pipeline_stage === "selfplay") reconcile(context, payload.config_key);
      },
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], ({ payload }, context: Context) => {
        if (payload.work_type === "selfplay" && payload.config_key !== undefined)
          reconcile(context, payload.config_key);
      }),
      BATCH_DISPATCHED: ({ payload: { config_key } }, context: Context) => reconcile(context, config_key),
    },
    loop: {
      everyMs: settings.everyMs ?? 2_000,
      tick(context) {
        for (const [key] of context.rows.list(configs)) reconcile(context, key);
      },
    },
    health: ({ rows }) => {
      const all = rows.list(selfplayWork);
      const [broken] = all.filter(([, { state }]) => state === "failed");
      const details = { running: all.filter(([, { state }]) => state === "running").length, configs: all.length };
      return broken === undefined
        ? { status: "running", message: "", details }
        : { status: "degraded", message: `${broken[0]}: ${broken[1].failure?.message}`, details };
    },
  });
};
