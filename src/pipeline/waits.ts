import type { StateTable } from "../router/index.ts";
import { parities } from "./data/index.ts";
import { ratingWork, regressions } from "./evaluation/index.ts";
import { champions } from "./models/index.ts";
import { refusalWords, refusedRollbacks } from "./promotion/index.ts";
import { goals, suspects, suspectsIn } from "./selfplay/index.ts";
import {
  type ConfigLook,
  evaluationWork,
  exportWork,
  type Iteration,
  isFor,
  isOpenRebuild,
  isRefusal,
  iterations,
  promotionWork,
  rebuildRows,
  type Stage,
  selfplayWork,
  syncWork,
  trainingWork,
  type Wait,
} from "./stage/index.ts";
import { heldTrainers, trainingGates } from "./training/index.ts";

/** Who waits, and for what: in words, and as the code that they stand for. */
export type UnitWait = Wait & { readonly unit: string; readonly code?: string };

type Row = ConfigLook["row"];

/** Who does a stage, and the row that holds what each of them waits for. */
const WORKERS = {
  selfplay: [["selfplay_orchestrator", selfplayWork]],
  data_sync: [
    ["parity_validator", parities],
    ["quality_monitor_daemon", syncWork],
  ],
  npz_export: [["auto_export_daemon", exportWork]],
  training: [["training_coordinator", trainingWork]],
  evaluation: [["evaluation_daemon", evaluationWork]],
  promotion: [["auto_promotion", promotionWork]],
} as const satisfies Readonly<Record<Stage, readonly (readonly [unit: string, StateTable])[]>>;

/** Who says how much of a stage may be done, beside those who do it. */
const DECIDERS: Partial<Record<Stage, readonly string[]>> = {
  selfplay: ["selfplay_scheduler", "queue_populator"],
  training: ["training_trigger"],
};

/** Whose answer is waited for, by what is waited for, where that is no unit of the stage. */
const ANSWERED_BY: Readonly<Record<string, readonly string[]>> = {
  cascade: ["derived_training"],
  priorities: ["per_orchestrator"],
  search: ["optimization_coordinator", "population_search"],
  architecture: ["gauntlet_feedback"],
};

/** The units without which a config does not leave this stage, and those whose answer it waits for. */
export const unitsOf = (stage: Stage, waits: readonly UnitWait[]): readonly string[] => [
  "pipeline_orchestrator",
  ...(DECIDERS[stage] ?? []),
  ...WORKERS[stage].map(([unit]) => unit),
  ...waits.flatMap(({ code = "" }) => ANSWERED_BY[code] ?? []),
];

/** The jobs of all who do the stage, as the queue numbers them. */
export const jobsOfStage = (row: Row, at: Iteration): string[] =>
  WORKERS[at.stage].flatMap(([, table]) => {
    const work = row<{ iteration: number; attempt: number; jobs: Readonly<Record<string, string>> }>(table as never);
    return isFor(work, at) ? Object.values(work.jobs) : [];
  });

/** What people read for the codes that do not say it themselves. */
const WORDS: Readonly<Record<string, string | ((about: NonNullable<Wait["about"]>, wait: Wait) => string)>> = {
  candidate_node: "a node that holds the candidate",
  match_results: "the results of its games",
  trial: "a trial of the model on nodes that can play",
  second_checker: "a second node that checks games",
  quiet_time: "the end of the training; workers are free until then",
  rating_games: "rating games",
  search: "the search for better parameters",
  priorities: "the priorities of the rows to train on",
  cascade: "the network of a config with fewer players",
  related_champion: "the network of a related config",
  training_lock: "the training lock of the config",
  training_slot: "a training slot",
  person: "a person: another try would not help",
  nothing: "nothing: all iterations are done",
  stage_breaker: ({ stage, failures }) => `the breaker of ${stage}, open after ${failures} failures in a row`,
  next_try: ({ stage }) => `another try of ${stage}`,
  resume: ({ by }) => `${by} to resume it`,
  producer: ({ producer }) => `producer ${producer}`,
  rebuild: ({ what }) => `${what} to be made again`,
  rollback: (_about, wait) => refusalWords(wait),
  given_up: ({ stage, iteration }) => `${stage} to succeed again; iteration ${iteration} was given up`,
  skipped_gate: ({ gate, iteration }) => `${gate}; iteration ${iteration} went on without training`,
  steady_champion: ({ iteration }) => `a champion that stays; iteration ${iteration} went on without promotion`,
};

/** The wait as people read it. */
function inWords(wait: UnitWait): UnitWait {
  const { about = {}, ...rest } = wait;
  const words = WORDS[rest.for] ?? rest.for;
  return { ...rest, code: rest.for, for: typeof words === "string" ? words : words(about, wait) };
}

const by = (unit: string, waits: readonly Wait[] = []): UnitWait[] => waits.map((wait) => ({ unit, ...wait }));

/** Producers that play nothing of the config for now. */
const awayFrom = (row: Row, iteration: number): UnitWait[] => {
  const known = row(suspects) ?? {};
  return suspectsIn(known, iteration).map((producer) => ({
    unit: "quality_monitor_daemon",
    for: "producer",
    about: { producer },
    actual: `it plays nothing: ${known[producer]!.reasons.join(", ")}`,
    required: `iteration ${known[producer]!.until_iteration}`,
    since: known[producer]!.since,
  }));
};

/** Nodes that train nothing of the config for now. */
const heldFrom = (row: Row, iteration: number): UnitWait[] =>
  heldTrainers(row, iteration).map(({ producer, reason, until_iteration, since }) => ({
    unit: "evaluation_daemon",
    for: "producer",
    about: { producer },
    actual: `it trains nothing: ${reason}`,
    required: `iteration ${until_iteration}`,
    since,
  }));

const closedGates = (row: Row, at: Iteration): UnitWait[] => {
  const judged = row(trainingGates);
  if (!isFor(judged, at) || judged.verdict !== "wait") return [];
  const closed = judged.gates.filter(({ passed }) => !passed);
  return closed.map(({ gate, actual, required, since }) => ({
    unit: "training_trigger",
    for: gate,
    actual,
    required,
    since,
  }));
};

/** Those who do the stage, and those who say how much of it may be done. */
function waitsOfStage(row: Row, at: Iteration): UnitWait[] {
  const workers = WORKERS[at.stage].flatMap(([unit, table]) => {
    const work = row<{ iteration: number; attempt: number; waits: readonly Wait[] }>(table as never);
    return isFor(work, at) ? by(unit, work.waits) : [];
  });
  if (at.stage === "training") return [...closedGates(row, at), ...workers, ...heldFrom(row, at.iteration)];
  if (at.stage !== "selfplay") return workers;
  return [...by("queue_populator", row(goals)?.waits), ...workers, ...awayFrom(row, at.iteration)];
}

/** Who waits for what in the loop of a config: every refusal of every stage, with what is there and what must be. */
export function waitsOf(row: Row): UnitWait[] {
  const at = row(iterations);
  if (at === undefined) return [];
  const refused = row(refusedRollbacks);
  const isStillChampion = refused?.generation === row(champions)?.generation;
  // Games beside the stages may wait for as long as they like; that the queue refuses them is for people to see.
  const refusedGames = (unit: string, waits: readonly Wait[] = []) => by(unit, waits.filter(isRefusal));
  const rebuilds = Object.values(row(rebuildRows)?.rebuilds ?? {}).filter(isOpenRebuild);
  return [
    ...by("pipeline_orchestrator", at.waits),
    ...waitsOfStage(row, at),
    ...by("model_rollback", isStillChampion ? refused?.waits : []),
    ...refusedGames("elo_service", row(ratingWork)?.waits),
    ...refusedGames("model_performance_watchdog", row(regressions)?.waits),
    ...rebuilds.map(({ what, why, since }) => ({
      unit: "auto_export_daemon",
      for: "rebuild",
      about: { what },
      actual: why,
      required: "there",
      since,
    })),
    ...lastRound(row, at),
  ].map(inWords);
}

/** Rounds that went on without what they are for: it is over in a moment, and the reason must be seen all the same. */
function lastRound(row: Row, { iteration, failures }: Iteration): UnitWait[] {
  // The next success of the stage strikes them out.
  const givenUp = failures.findLast((failure) => failure.iteration < iteration);
  const isLast = (work: { readonly iteration: number }) => work.iteration >= iteration - 1;
  const trained = [row(trainingWork)].filter((work) => work !== undefined).filter(isLast);
  const promoted = [row(promotionWork)].filter((work) => work !== undefined).filter(isLast);
  return [
    ...(givenUp === undefined ? [] : [givenUp]).map((failure) => ({
      unit: "pipeline_orchestrator",
      for: "given_up",
      about: { stage: failure.stage, iteration: failure.iteration },
      actual: failure.message,
      required: null,
      since: failure.at,
    })),
    ...trained.flatMap(({ iteration: round, since, evidence }) =>
      ((evidence.skipped ?? []) as unknown as readonly Wait[]).map(({ for: gate, actual, required }) => ({
        unit: "training_trigger",
        for: "skipped_gate",
        about: { gate, iteration: round },
        actual,
        required,
        since,
      })),
    ),
    ...promoted
      .filter(({ evidence }) => evidence.decision === "overtaken")
      .map(({ iteration: round, since, evidence, own }) => ({
        unit: "auto_promotion",
        for: "steady_champion",
        about: { iteration: round },
        actual: String(evidence.reason),
        required: own.champion,
        since,
      })),
  ];
}
