import { createWriteSet, type Store } from "../router/index.ts";
import type { ArtifactCatalog } from "../sync/index.ts";
import type { WorkQueue } from "../work/index.ts";
import { type ConfigRow, configs } from "./config-plan.ts";
import { qualities } from "./data/quality-row.ts";
import { suspects } from "./data/suspects.ts";
import { gateFor } from "./evaluation/gate.ts";
import { ladderKey, ladders } from "./evaluation/ratings-table.ts";
import { budgetOf } from "./evaluation/search-budget.ts";
import { gateVerdicts } from "./evaluation/verdicts.ts";
import { stageHistory } from "./history.ts";
import { type Iteration, iterations } from "./iteration.ts";
import { type Crowned, championHistory } from "./models/champion-rows.ts";
import { falsePromotionsSoFar } from "./models/commands.ts";
import { trainingRuns } from "./models/training-runs.ts";
import { breakersOf, type StagePolicy, stagePolicyDefaults } from "./reconcile.ts";
import type {
  BooksView,
  ChampionView,
  ConfigSnapshot,
  GateView,
  LoopSnapshot,
  LossPoint,
  Rated,
  StageView,
} from "./snapshot.ts";
import { evaluationWork, exportWork, isFor, type StageWork, workOf } from "./stage-work.ts";
import { STAGES } from "./stages.ts";
import { type UnitWait, waitsOf } from "./waits.ts";

export interface SnapshotPorts {
  readonly store: Pick<Store, "read">;
  readonly queue: Pick<WorkQueue, "show">;
  readonly catalog: Pick<ArtifactCatalog, "books">;
  readonly policy?: StagePolicy;
}

type Rows = ReturnType<typeof createWriteSet>;

const MINUTE_MS = 60_000;
/** Points and gates that a snapshot holds of each config, newest last. */
const MOST_POINTS = 500;

const seconds = (ms: number): number => ms / 1_000;

/** Share of a stage's jobs that is done, with what the running ones say of themselves. */
function progressOf(queue: SnapshotPorts["queue"], { jobs }: Pick<StageWork, "jobs">): number | null {
  const ids = Object.values(jobs);
  if (ids.length === 0) return null;
  const done = ids.reduce((sum, id) => {
    const job = queue.show(id);
    return sum + (job?.state === "completed" ? 1 : (job?.progress ?? 0));
  }, 0);
  return Math.min(1, done / ids.length);
}

/** Jobs of the stage of which nobody does any: what is missing is somebody who works. */
function idleJobs(rows: Rows, configKey: string, at: Iteration, queue: SnapshotPorts["queue"]): UnitWait[] {
  const work = rows.get(workOf[at.stage] as typeof workOf.selfplay, configKey);
  if (work === undefined || !isFor(work, at) || at.state !== "running") return [];
  const jobs = Object.values(work.jobs).flatMap((id) => queue.show(id) ?? []);
  const open = jobs.filter(({ state }) => state === "pending" || state === "delayed" || state === "blocked");
  if (open.length === 0 || jobs.some(({ state }) => state === "claimed" || state === "running")) return [];
  const kinds = [...new Set(open.map(({ work_type }) => work_type))].join(", ");
  const since = Math.min(...open.map(({ queued_at }) => queued_at)) * 1_000;
  return [
    {
      unit: "work_queue",
      for: "a worker",
      actual: `${open.length} jobs wait`,
      required: `one that does ${kinds}`,
      since,
    },
  ];
}

function stagesOf(rows: Rows, configKey: string, at: Iteration, ports: SnapshotPorts, now: number): StageView[] {
  const current = STAGES.indexOf(at.stage);
  const breakers = breakersOf(at, ports.policy ?? stagePolicyDefaults, now);
  return STAGES.map((stage, i) => {
    const work = rows.get(workOf[stage] as typeof workOf.selfplay, configKey) as StageWork | undefined;
    const ofThis = work !== undefined && work.iteration === at.iteration ? work : undefined;
    const isHere = stage === at.stage;
    const state = isHere
      ? ofThis?.state === "failed" && isFor(ofThis, at)
        ? "failed"
        : at.state === "complete"
          ? "done"
          : "running"
      : i < current
        ? "done"
        : "open";
    const breaker = breakers.find((each) => each.stage === stage)!.state;
    return {
      stage,
      state,
      seconds: isHere
        ? seconds(now - at.stage_since)
        : ofThis?.ended_at == null || i > current
          ? null
          : seconds(ofThis.ended_at - ofThis.since),
      progress: isHere && ofThis !== undefined && isFor(ofThis, at) ? progressOf(ports.queue, ofThis) : null,
      breaker,
    };
  });
}

function runningGate(
  rows: Rows,
  configKey: string,
  { plan }: ConfigRow,
  at: Iteration,
  store: SnapshotPorts["store"],
): GateView[] {
  const work = rows.get(evaluationWork, configKey);
  if (at.stage !== "evaluation" || work === undefined || !isFor(work, at) || work.state !== "running") return [];
  const { candidate, opponent, counts, llr } = work.own;
  const gate = gateFor(plan.gate, gateVerdicts(store, configKey, 50));
  const players = Math.max(2, counts.length - 1);
  return [
    {
      iteration: at.iteration,
      candidate,
      opponent,
      games: counts.reduce((sum, n) => sum + n, 0) * (counts.length === 5 ? 2 : players),
      counts,
      llr,
      lower: Math.log(gate.beta / (1 - gate.alpha)),
      upper: Math.log((1 - gate.beta) / gate.alpha),
      elo0: gate.bounds[0],
      elo1: gate.bounds[1],
      verdict: null,
      elo: null,
      ended_at: null,
    },
  ];
}

const gatesOf = (store: SnapshotPorts["store"], configKey: string): GateView[] =>
  gateVerdicts(store, configKey, MOST_POINTS)
    .reverse()
    .map((verdict) => ({
      iteration: verdict.iteration,
      candidate: verdict.candidate,
      opponent: verdict.opponent,
      games: verdict.games,
      counts: verdict.counts,
      llr: [verdict.llr],
      lower: Math.log(verdict.beta / (1 - verdict.alpha)),
      upper: Math.log((1 - verdict.beta) / verdict.alpha),
      elo0: verdict.elo0,
      elo1: verdict.elo1,
      verdict: verdict.verdict,
      elo: { estimate: verdict.elo, low: verdict.elo_low, high: verdict.elo_high },
      ended_at: seconds(verdict.at),
    }));

const lossesOf = (store: SnapshotPorts["store"], configKey: string): LossPoint[] =>
  trainingRuns(store, configKey, MOST_POINTS)
    .filter(({ fresh }) => !fresh)
    .reverse()
    .map(({ iteration, losses, loss, ended_at }) => {
      const number = (name: string) => (typeof losses[name] === "number" ? losses[name] : null);
      return {
        iteration,
        policy_loss: number("policy_loss") ?? loss ?? 0,
        value_loss: number("value_loss") ?? 0,
        validation_loss: number("validation_loss"),
        at: seconds(ended_at),
      };
    });

const championView = ({ model, generation, iteration, at, cause }: Crowned): ChampionView => ({
  model,
  generation: generation - 1,
  iteration,
  since: seconds(at),
  by: cause,
});

function ladderView(rows: Rows, configKey: string, { plan }: ConfigRow, champions: readonly ChampionView[]): Rated[] {
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

export const booksView = (catalog: SnapshotPorts["catalog"], configKey: string): BooksView => {
  const [books] = catalog.books(configKey);
  return {
    config_key: configKey,
    produced: books?.produced ?? 0,
    durable: books?.durable ?? 0,
    in_flight: books?.in_flight ?? 0,
    rejected: books?.rejected_by_reason ?? {},
    balanced: books?.balanced ?? true,
  };
};

function configView(
  rows: Rows,
  configKey: string,
  config: ConfigRow,
  ports: SnapshotPorts,
  now: number,
): ConfigSnapshot[] {
  const at = rows.get(iterations, configKey);
  if (at === undefined) return [];
  const { store, catalog } = ports;
  const champions = championHistory(store, configKey).reverse().map(championView);
  const gates = gatesOf(store, configKey);
  const verdicts = { promote: 0, reject: 0, inconclusive: 0 };
  for (const { verdict } of gates) if (verdict !== null) verdicts[verdict] += 1;
  const played = stageHistory(store, { configKey, stage: "selfplay", limit: 200 }).filter(
    ({ state, ended_at }) => state === "done" && now - ended_at < MINUTE_MS,
  );
  const games = played.reduce(
    (sum, { evidence }) => sum + (typeof evidence.games === "number" ? evidence.games : 0),
    0,
  );
  const sinceMs = Math.min(MINUTE_MS, Math.max(1_000, now - Math.min(now, ...played.map(({ since }) => since))));
  const books = booksView(catalog, configKey);
  const quality = rows.get(qualities, configKey);
  return [
    {
      config_key: configKey,
      seed: config.plan.seed,
      iteration: at.iteration,
      state: at.state,
      stage: at.stage,
      attempt: at.attempt,
      stage_since: seconds(at.stage_since),
      deadline: seconds(at.deadline),
      stages: stagesOf(rows, configKey, at, ports, now),
      waits: [...waitsOf(rows, configKey), ...idleJobs(rows, configKey, at, ports.queue)].map((wait) => ({
        ...wait,
        since: seconds(wait.since),
      })),
      failures: at.failures.map(({ code, message, retryable, stage, at: when }) => ({
        code,
        message,
        retryable,
        stage,
        at: seconds(when),
      })),
      games: books.durable,
      games_per_second: games / seconds(sinceMs),
      rows: rows.get(exportWork, configKey)?.own.total_rows ?? 0,
      losses: lossesOf(store, configKey),
      gates: [...gates, ...runningGate(rows, configKey, config, at, store)],
      champion: champions.at(-1) ?? null,
      champions,
      ladder: ladderView(rows, configKey, config, champions),
      verdicts,
      expected_false_promotions: gates.length === 0 ? 0 : falsePromotionsSoFar(store, configKey).expected,
      quality: quality === undefined ? null : { score: quality.score, band: quality.band },
      suspects: Object.values(rows.get(suspects, configKey) ?? {}).map(({ producer, reasons, since }) => ({
        producer,
        reason: reasons.join(", "),
        since: seconds(since),
      })),
      books,
    },
  ];
}

/** The loop of every config, as it is on disk now. */
export function loopSnapshot(ports: SnapshotPorts, now: number): LoopSnapshot {
  const rows = createWriteSet(ports.store);
  return {
    at: seconds(now),
    configs: rows.list(configs).flatMap(([configKey, config]) => configView(rows, configKey, config, ports, now)),
  };
}
