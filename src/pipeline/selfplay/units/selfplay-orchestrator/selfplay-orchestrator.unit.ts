import type { Wiring } from "../../../../daemons/index.ts";
import { defined, sumOf } from "../../../../kernel/index.ts";
import type { JobView } from "../../../../work/index.ts";
import {
  defineStage,
  done,
  everyMs,
  failed,
  followStageJobs,
  isFailure,
  isFor,
  JOB_ENDS,
  jobFailure,
  type Segment,
  type SelfplayOwn,
  type StageServices,
  type StageWork,
  selfplayWork,
  type Turn,
  waiting,
} from "../../../stage/index.ts";
import { byPart } from "../../cut-into-jobs.ts";
import { keptSegments } from "../../orders.ts";
import { entriesOf, filesOf, segmentOf } from "../../segments.ts";
import {
  goals,
  rejections,
  rejectionsOf,
  type SelfplayOrder,
  selfplayOrders,
  suspects,
  suspectsIn,
} from "../../tables.ts";

const wiring = {
  name: "selfplay_orchestrator",
  layer: 5,
  placement: "leader",
  profiles: ["coordinator"],
  feature: "selfplay",
  alsoKnownAs: ["SelfplayOrchestrator"],
  pattern: "WIRE",
  dependsOn: ["task_coordinator"],
  emits: ["SELFPLAY_COMPLETE"],
} as const satisfies Wiring;

type Work = StageWork<SelfplayOwn>;

/**
 * Follows the self-play jobs of an iteration, enters their games into the books, and says that the batch is done only when
 * its games are proven. The map has it as a coordinator; it is a daemon, because one that is driven by events alone would
 * wait for ever after the last completion was lost.
 */
export const selfplayOrchestrator = (services: StageServices) =>
  defineStage({
    ...wiring,
    stage: "selfplay",
    work: selfplayWork,
    wakes: [...JOB_ENDS, "BATCH_DISPATCHED"],
    jobs: "selfplay",
    everyMs: everyMs(services),
    begin: ({ row, at: { iteration } }) => {
      const rejected = rejectionsOf(row(rejections), iteration);
      const guilty = rejected.filter(({ reason }) => reason !== "corrupt").map(({ producer }) => producer);
      return {
        segments: keptSegments(row(selfplayWork), rejected, iteration),
        excluded: [...new Set([...suspectsIn(row(suspects), iteration), ...guilty])].sort(),
      };
    },
    follow: (turn, work) => {
      const order = turn.row(selfplayOrders);
      if (isFor(order, turn.at)) return follow(services, turn, work, order);
      const [why] = turn.row(goals)?.waits ?? [];
      const actual = why === undefined ? "none yet" : `${why.for}: ${why.actual}`;
      return waiting(work, turn.now, { for: "jobs", actual, required: "in the queue" });
    },
  });

/** Takes what has come in, and says how far the batch is. */
function follow(services: StageServices, turn: Turn<"SELFPLAY_COMPLETE">, work: Work, order: SelfplayOrder): Work {
  const { now } = turn;
  const have = new Set(work.own.segments.map(({ part }) => part));
  const asked = Object.entries(order.jobs).filter(([part]) => !have.has(part));
  const followed = followStageJobs(services.queue, turn, Object.fromEntries(asked));
  const failures = followed.failed.map((lost) => jobFailure("SELFPLAY_JOB_FAILED", "job", lost));
  const segments = [...work.own.segments];
  for (const { part, job } of followed.completed.toSorted(byPart)) {
    const found = segmentOf(part, job);
    if (isFailure(found)) failures.push(found);
    else {
      const segment = { ...found, ...defined({ model: order.played_by?.[part] }) };
      segments.push(segment);
      enter(services, turn, order, segment, job);
    }
  }
  segments.sort(byPart);
  const next: Work = { ...work, jobs: order.jobs, own: { ...work.own, segments } };
  const games = sumOf(segments, (segment) => segment.games);
  const wanted_games = sumOf(order.parts, (part) => part.games);
  if (segments.length === order.parts.length)
    return done(next, now, {
      outputs: segments.flatMap(filesOf),
      evidence: {
        games,
        rows: sumOf(segments, ({ rows }) => rows),
        jobs: segments.length,
        producers: gamesByProducer(segments),
        wanted_games,
      },
    });
  const [failure] = failures;
  // What still runs is brought home first: the next attempt then only plays what failed.
  if (failure !== undefined && followed.open.length === 0) return failed(next, now, failure);
  const open = { for: "open_jobs", actual: `${followed.open.length} run, and ${failure?.message}`, required: 0 };
  return waiting(
    next,
    now,
    { for: "games", actual: games, required: wanted_games },
    ...(failure === undefined ? [] : [open]),
    ...followed.awaited,
  );
}

/** One more part is there: it enters the books and is told. */
function enter(
  { catalog }: StageServices,
  turn: Turn<"SELFPLAY_COMPLETE">,
  { model, iteration }: SelfplayOrder,
  segment: Segment,
  job: JobView,
): void {
  const { configKey, emit } = turn;
  const artifacts = catalog.join(turn);
  artifacts.produced(configKey, segment.producer, segment.work_id, segment.games);
  artifacts.record(entriesOf(segment, { configKey, iteration, model }));
  emit.SELFPLAY_COMPLETE({
    config_key: configKey,
    task_id: `${job.work_id}.${job.fence}`,
    node_id: segment.producer,
    games: segment.games,
    artifact_hash: (segment.games_file ?? segment.samples_file).sha256,
    duration_seconds: secondsOf(job),
    model_id: model,
    ...defined({ samples: segment.rows || undefined }),
  });
}

function gamesByProducer(segments: readonly Segment[]): Record<string, number> {
  const games: Record<string, number> = {};
  for (const segment of segments) games[segment.producer] = (games[segment.producer] ?? 0) + segment.games;
  return games;
}

const secondsOf = ({ started_at, claimed_at, finished_at }: JobView): number =>
  finished_at === null ? 0 : Math.max(0, finished_at - (started_at ?? claimed_at ?? finished_at)) / 1_000;
