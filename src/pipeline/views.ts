import { defined, sumOf } from "../kernel/index.ts";
import { createWriteSet, type StateTable, type Store } from "../router/index.ts";
import type { ArtifactCatalog } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";
import { gateFor, gateTallies, gateVerdicts, stabilityUpTo } from "./evaluation/index.ts";
import { budgetOf, championHistory, ladderKey, ladders, trainingRuns } from "./models/index.ts";
import { gamesPerSecond, outlookOf } from "./outlook.ts";
import { qualities, suspects } from "./selfplay/index.ts";
import type {
  BooksView,
  ChampionView,
  ConfigSnapshot,
  GateView,
  LadderView,
  LossPoint,
  PipelineSnapshot,
  Rated,
  StageView,
} from "./snapshot.ts";
import {
  type ConfigLook,
  configs,
  evaluationWork,
  exportWork,
  type Iteration,
  isFor,
  iterations,
  STAGES,
  type StageWork,
  trainingWork,
  workOf,
} from "./stage/index.ts";
import { falsePromotions, waldBounds } from "./statistics/index.ts";
import { steeringOf } from "./steering/index.ts";
import { newestStages } from "./tables.ts";
import { heldTrainers } from "./training/index.ts";
import { breakersOf } from "./units/pipeline-orchestrator/decide.ts";
import { currentStep, deadlineOf, steps } from "./units/progress-watchdog/steps.ts";
import { jobsOfStage, waitsOf } from "./waits.ts";

export interface SnapshotPorts {
  readonly store: Pick<Store, "read">;
  readonly queue: Pick<WorkQueue, "show">;
  readonly catalog: Pick<ArtifactCatalog, "books">;
}

/** One config as it is looked at: its rows, where it is, and where else to look. */
interface View extends SnapshotPorts, Pick<ConfigLook, "configKey" | "plan" | "now" | "row" | "rows"> {
  readonly at: Iteration;
}

/** So many ended stages tell how fast a config goes on: all of a minute, since a round takes longer than a second. */
const MAX_ENDED = 60 * STAGES.length;
/** Points and gates that a snapshot holds of each config, newest last. */
const MAX_POINTS = 500;

/** The work on a stage as far as it is of the turn of now. */
const workNow = <O extends StageWork["own"]>({ row, at }: View, table: StateTable<StageWork<O>>) => {
  const work = row(table);
  return isFor(work, at) ? work : undefined;
};

/** Share of a stage's jobs that is done, with what the running ones say of themselves. */
function progressOf({ queue }: View, { jobs }: Pick<StageWork, "jobs">): number | null {
  const ids = Object.values(jobs);
  if (ids.length === 0) return null;
  const done = ids.reduce((sum, id) => {
    const job = queue.show(id);
    return sum + (job?.state === "completed" ? 1 : (job?.progress ?? 0));
  }, 0);
  return Math.min(1, done / ids.length);
}

function stagesOf(view: View): StageView[] {
  const { at, row, now } = view;
  const current = STAGES.indexOf(at.stage);
  return breakersOf(at, now).map(({ stage, state: breaker }, i) => {
    const work = row(workOf[stage]);
    if (i === current) {
      const own = isFor(work, at) ? work : undefined;
      const state = own?.state === "failed" ? "failed" : at.state === "complete" ? "done" : "running";
      const progress = own === undefined ? null : progressOf(view, own);
      return { stage, state, seconds: (now - at.stage_since) / 1_000, progress, breaker };
    }
    const isBehind = i < current;
    const ended = isBehind && work?.iteration === at.iteration ? work.ended_at : null;
    const seconds = ended == null ? null : (ended - work!.since) / 1_000;
    return { stage, state: isBehind ? "done" : "open", seconds, progress: null, breaker };
  });
}

function runningGate(view: View): GateView[] {
  const { at, plan, store, configKey } = view;
  const work = at.stage === "evaluation" ? workNow(view, evaluationWork) : undefined;
  if (work?.state !== "running") return [];
  const { candidate, opponent, counts, llr } = work.own;
  const gate = gateFor(
    plan.gate,
    gateVerdicts(store, configKey, 50),
    stabilityUpTo(store, configKey, at.iteration - 1)?.weight,
  );
  const players = Math.max(2, counts.length - 1);
  return [
    {
      iteration: at.iteration,
      candidate,
      opponent,
      games: sumOf(counts) * (counts.length === 5 ? 2 : players),
      counts,
      llr,
      ...waldBounds(gate),
      elo0: gate.bounds[0],
      elo1: gate.bounds[1],
      verdict: null,
      elo: null,
      ended_at: null,
    },
  ];
}

const gatesOf = ({ store, configKey }: View) =>
  gateVerdicts(store, configKey, MAX_POINTS)
    .reverse()
    .map(({ iteration, candidate, opponent, games, counts, elo0, elo1, verdict, ...rest }) => ({
      iteration,
      candidate,
      opponent,
      games,
      counts,
      llr: [rest.llr],
      ...waldBounds(rest),
      elo0,
      elo1,
      verdict,
      elo: { estimate: rest.elo, low: rest.elo_low, high: rest.elo_high },
      ended_at: rest.at,
    }));

const lossesOf = ({ store, configKey }: View): LossPoint[] =>
  trainingRuns(store, configKey, MAX_POINTS)
    .filter(({ fresh }) => !fresh)
    .reverse()
    .map(({ iteration, losses, loss, ended_at }) => {
      const metrics = Object.fromEntries(
        Object.entries(losses).filter((each): each is [string, number] => typeof each[1] === "number"),
      );
      return {
        iteration,
        policy_loss: metrics.policy_loss ?? loss ?? 0,
        value_loss: metrics.value_loss ?? 0,
        validation_loss: metrics.validation_loss ?? null,
        loss,
        metrics,
        at: ended_at,
      };
    });

/** The losses of the run under way, as its worker said them last. */
function trainingNow(view: View): Pick<ConfigSnapshot, "training"> {
  const work = view.at.stage === "training" ? workNow(view, trainingWork) : undefined;
  const [job] = work?.state === "running" ? Object.values(work.jobs) : [];
  const metrics = (job === undefined ? undefined : view.queue.show(job)?.metrics) ?? {};
  const { loss, validation_loss = null } = metrics;
  return loss === undefined ? {} : { training: { loss, validation_loss, metrics } };
}

function lastSign({ at, row }: View): Pick<ConfigSnapshot, "last_sign"> {
  const step = at.state === "running" ? currentStep(row(steps), at) : undefined;
  if (step === undefined) return {};
  return { last_sign: { event: step.event, at: step.at, until: deadlineOf(at, step) } };
}

function ladderView({ rows, configKey, plan }: View, champions: readonly ChampionView[]): Rated[] {
  const names = new Map(champions.map(({ model, generation }) => [model, `champion ${generation}`]));
  const ladder = rows.get(ladders, ladderKey(configKey, budgetOf(plan.evaluation)));
  return (ladder?.players ?? [])
    .filter(({ linked }) => linked)
    .map(({ player, elo, low, high, games, anchor }) => ({
      player,
      name: names.get(player) ?? (anchor ? player : player.slice(0, 12)),
      elo,
      low,
      high,
      games,
      is_anchor: anchor,
    }));
}

function booksView({ catalog, configKey }: View): BooksView {
  const [books] = catalog.books(configKey);
  const { produced = 0, durable = 0, in_flight = 0, rejected_by_reason: rejected = {}, balanced = true } = books ?? {};
  return { config_key: configKey, produced, durable, in_flight, rejected, balanced };
}

/** Where a config stands: what says whether it goes on, from a few rows, however long it has trained. */
export type ConfigStanding = Pick<
  ConfigSnapshot,
  "config_key" | "iteration" | "state" | "stage" | "attempt" | "stage_since" | "deadline" | "waits" | "failures"
> &
  Pick<ConfigSnapshot, "last_sign" | "cause">;

function standingOf(view: View): ConfigStanding {
  const { configKey, at, row } = view;
  return {
    config_key: configKey,
    iteration: at.iteration,
    state: at.state,
    stage: at.stage,
    attempt: at.attempt,
    stage_since: at.stage_since,
    deadline: deadlineOf(at, row(steps)),
    ...lastSign(view),
    waits: waitsOf(row),
    failures: at.failures.map(({ iteration, attempt, ...failure }) => failure),
  };
}

const championsOf = ({ store, configKey }: View): ChampionView[] =>
  championHistory(store, configKey)
    .reverse()
    .map(({ model, generation, iteration, at: since, cause }) => ({
      model,
      generation: generation - 1,
      iteration,
      since,
      by: cause,
    }));

function configView(view: View): ConfigSnapshot {
  const { configKey, plan, at, row, rows, store, now } = view;
  const champions = championsOf(view);
  const champion = champions.at(-1) ?? null;
  const ladder = ladderView(view, champions);
  const steering = steeringOf(rows, configKey);
  const ended = newestStages(store, { configKey, withEvidence: "selfplay", limit: MAX_ENDED });
  const gates = gatesOf(view);
  const verdicts = { promote: 0, reject: 0, inconclusive: 0 };
  for (const { verdict } of gates) verdicts[verdict] += 1;
  const books = booksView(view);
  const quality = row(qualities);
  const exported = row(exportWork)?.own;
  return {
    ...standingOf(view),
    seed: plan.seed,
    stages: stagesOf(view),
    games: books.durable,
    games_per_second: gamesPerSecond(
      ended.filter(({ stage, state }) => stage === "selfplay" && state === "done"),
      now,
    ),
    outlook: outlookOf(ended, ended.length < MAX_ENDED, now, {
      plan,
      isComplete: at.state === "complete",
      iteration: at.iteration,
      elo: ladder.find(({ player }) => player === champion?.model)?.elo,
      eloPerRound: steering.trends.find(({ metric }) => metric === "elo")?.slope?.estimate,
    }),
    rows: exported?.total_rows ?? 0,
    window: {
      rows: sumOf(exported?.window ?? [], (shard) => shard.rows),
      shards: exported?.window.length ?? 0,
    },
    losses: lossesOf(view),
    ...trainingNow(view),
    gates: [...gates, ...runningGate(view)],
    champion,
    champions,
    ladder,
    ...defined({ stability: stabilityUpTo(store, configKey) }),
    verdicts,
    expected_false_promotions: falsePromotions(gateTallies(store, configKey)).expected,
    quality: quality === undefined ? null : { score: quality.score, band: quality.band },
    steering,
    suspects: [
      ...Object.values(row(suspects) ?? {}).map(({ producer, reasons, since }) => ({
        producer,
        reason: reasons.join(", "),
        since,
      })),
      ...heldTrainers(row, at.iteration).map(({ producer, reason, since }) => ({ producer, reason, since })),
    ],
    books,
  };
}

/** The jobs of the stage at which a config is, by its key. */
export function stageJobs({ store }: Pick<SnapshotPorts, "store">, configKey: string): string[] {
  const rows = createWriteSet(store);
  const at = rows.get(iterations, configKey);
  return at === undefined ? [] : jobsOfStage((table) => rows.get(table, configKey), at);
}

/** The configs that are looked at: all, or the one that is named. */
function viewsOf(ports: SnapshotPorts, now: number, only?: string): View[] {
  const rows = createWriteSet(ports.store);
  return rows.list(configs).flatMap(([key, { plan }]) => {
    if (only !== undefined && only !== plan.config_key) return [];
    const at = rows.get(iterations, key);
    const row: ConfigLook["row"] = (table) => rows.get(table, key);
    return at === undefined ? [] : [{ ...ports, rows, row, configKey: plan.config_key, plan, at, now }];
  });
}

/** The loop of every config, or of one, as it is on disk now. */
export const pipelineSnapshot = (ports: SnapshotPorts, now: number, only?: string): PipelineSnapshot => ({
  at: now,
  configs: viewsOf(ports, now, only).map(configView),
});

/** The ladder of one config, without its history; undefined where it is not planned. */
export function ladderOf(ports: SnapshotPorts, now: number, configKey: string): LadderView | undefined {
  const [view] = viewsOf(ports, now, configKey);
  if (view === undefined) return undefined;
  const champions = championsOf(view);
  return {
    config_key: configKey,
    champion: champions.at(-1) ?? null,
    ladder: ladderView(view, champions),
    ...defined({ stability: stabilityUpTo(view.store, configKey) }),
  };
}

/** Where every config stands. */
export const pipelineStandings = (ports: SnapshotPorts, now: number): ConfigStanding[] =>
  viewsOf(ports, now).map(standingOf);

/** The books of every config that is planned here. */
export const plannedBooks = (ports: SnapshotPorts, now: number): BooksView[] => viewsOf(ports, now).map(booksView);
