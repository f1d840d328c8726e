import type { Wiring } from "../../../../daemons/index.ts";
import { defined, isOperatingError, sumOf } from "../../../../kernel/index.ts";
import {
  budgetOf,
  championHistory,
  champions,
  faultOf,
  firstChampion,
  ladderKey,
  ladders,
  playersOf,
  type RatedPlayer,
  withdrawnModels,
} from "../../../models/index.ts";
import {
  defineConfigUnit,
  everyMs,
  followJobs,
  JOB_ENDS,
  type LookOf,
  putChanged,
  putJobs,
  refusedWait,
  type Waiting,
  waiting,
} from "../../../stage/index.ts";
import { pairTallies } from "../../ledger.ts";
import {
  CHECK_BLOCKS,
  MAX_PLAYER_FAILURES,
  MAX_RATED,
  MAX_RATING_JOBS,
  MAX_WANTED_PAIRS,
  RATING_BLOCKS,
  ROSTER_SIZE,
  SIGNIFICANT_ELO,
} from "../../limits.ts";
import { matchJob, recordMatch, resultsOf } from "../../match-jobs.ts";
import { isLasting } from "../../match-results.ts";
import { quietTime } from "../../quiet-time.ts";
import { type RatingWork, ratingGamesLeft, ratingWork } from "../../rating-budget.ts";
import { regressions } from "../../regressions.ts";
import type { EvaluationServices } from "../../services.ts";
import { chooseRatingPair } from "./decide.ts";

const wiring = {
  name: "elo_service",
  layer: 7,
  placement: "leader",
  profiles: ["coordinator"],
  daemonTypes: ["ELO_SYNC", "TOURNAMENT_DAEMON"],
  alsoKnownAs: ["EloService", "EloSyncManager", "TournamentDaemon", "StabilityHeuristic"],
  dependsOn: ["model_coordinator"],
  emits: ["WORK_QUEUED", "ELO_UPDATED", "ELO_SIGNIFICANT_CHANGE"],
} as const satisfies Wiring;

type Look = LookOf<typeof wiring>;

/**
 * Keeps the ladder of every config: orders rating games where they tell most, within their share of all games, and computes
 * ratings anew from the ledger, never mixed over configs or search budgets. Gate games make no ratings: they stop on luck.
 */
export const eloService = (services: EvaluationServices) =>
  defineConfigUnit({
    ...wiring,
    state: { tables: { ladders, ratingWork } },
    wakes: ["PIPELINE_STAGE_ENTERED", "MODEL_PROMOTED", "REGISTRY_UPDATED", "EVALUATION_COMPLETED", ...JOB_ENDS],
    jobs: "evaluation",
    on: {
      // Games whose outcome is known tell least: they are played with others instead.
      OPPONENT_MASTERED({ payload: { config_key, opponent } }, { rows }) {
        const known = rows.get(ratingWork, config_key) ?? NOTHING;
        const mastered = [...new Set([...(known.mastered ?? []), opponent])].sort().slice(0, MAX_RATED);
        putChanged(rows, ratingWork, config_key, { ...known, mastered });
      },
    },
    everyMs: everyMs(services),
    look: async (look) => {
      if (look.row(champions) === undefined || !look.plan.kinds.includes("evaluation")) return;
      const before = look.row(ratingWork) ?? NOTHING;
      const collected = await collect(services, look, before);
      const rated = await rate(services, look, collected);
      const after = look.paused === null ? order(services, look, rated) : rated;
      if (after !== before) look.put(ratingWork, after);
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(ladders).map(([key, { games, players }]) => [key, `${players.length} players, ${games} games`]),
      ),
    }),
  });

const NOTHING: RatingWork = { next: 0, open: {}, failures: {}, wanted: [], told: null, significant: null, waits: [] };

/** Takes in what has come. A job without a result only costs its players a mark. */
async function collect(services: EvaluationServices, look: Look, given: RatingWork): Promise<RatingWork> {
  const jobs = Object.fromEntries(Object.entries(given.open).map(([part, { work_id }]) => [part, work_id]));
  const { completed, failed } = followJobs(services.queue, jobs);
  if (completed.length === 0 && failed.length === 0) return given;
  const open = { ...given.open };
  const failures = { ...given.failures };
  const playersIn = (part: string) => [open[part]!.candidate, open[part]!.opponent];
  const blame = (part: string) => {
    for (const player of playersIn(part)) failures[player] = (failures[player] ?? 0) + 1;
  };
  for (const { part, job } of completed) {
    const match = { ...open[part]!, firstBlock: 0 };
    try {
      const results = await resultsOf(services, look, match, match, job);
      recordMatch(look, "rating", match, match, job, results);
      for (const player of playersIn(part)) delete failures[player];
    } catch (thrown) {
      if (!isOperatingError(thrown)) throw thrown;
      if (!isLasting(thrown)) continue;
      const about = { config_key: look.configKey, work_id: job.work_id, error: thrown.message };
      look.log.warn("rating games gave no result", about);
      blame(part);
    }
    delete open[part];
  }
  for (const { part, code, reason } of failed) {
    if (faultOf(code, reason) !== undefined) blame(part);
    delete open[part];
  }
  return { ...given, open, failures };
}

/** Computes the ladder anew when the ledger has grown. */
async function rate(services: EvaluationServices, look: Look, given: RatingWork): Promise<RatingWork> {
  const { rows, now, configKey, plan } = look;
  const { store, engine } = services;
  const budget = budgetOf(plan.evaluation);
  const key = ladderKey(configKey, budget);
  const before = rows.get(ladders, key);
  const anchors = services.anchors(configKey);
  const known = new Set([...anchors, ...championHistory(store, configKey, MAX_RATED).map(({ model }) => model)]);
  const tallies = pairTallies(store, configKey, budget, "rating").filter(
    ({ candidate, opponent }) => known.has(candidate) && known.has(opponent),
  );
  const games = sumOf(tallies, (tally) => tally.games);
  let work = given;
  let players = before?.players ?? [];
  if (games !== (before?.games ?? 0)) {
    const zero = zeroOf(anchors, firstChampion(store, configKey));
    const asked = { players: playersOf(configKey), tallies, zero, anchors, max: MAX_WANTED_PAIRS };
    const answer = await engine.rate(asked);
    players = answer.players;
    rows.put(ladders, key, { config_key: configKey, budget, games, zero, players, at: now });
    work = { ...work, wanted: answer.next };
  }
  const champion = look.row(champions)?.model;
  const rated = players.find(({ player, linked }) => player === champion && linked);
  return rated === undefined || rated.anchor ? work : emitRating(look, rated, work);
}

/** The anchor in the middle of the ladder: its interval is the narrowest, so ratings against it are. */
const zeroOf = (anchors: readonly string[], first: string | undefined): string | null =>
  anchors[Math.floor(anchors.length / 2)] ?? first ?? null;

function emitRating({ emit, configKey }: Look, rated: RatedPlayer, given: RatingWork): RatingWork {
  const { player: model, elo, low, high, games } = rated;
  const { told, significant } = given;
  if (told?.model === model && Math.abs(told.elo - elo) < 1) return given;
  const about = { config_key: configKey, model_id: model, elo, elo_low: low, elo_high: high };
  emit.ELO_UPDATED({ ...about, games, ...defined({ previous_elo: told?.elo }) });
  const now = { model, elo };
  if (significant === null) return { ...given, told: now, significant: now };
  const change = elo - significant.elo;
  // Noise is no news: the old value must lie outside of what is possible now.
  const isOutside = significant.elo < low || significant.elo > high;
  if (Math.abs(change) < SIGNIFICANT_ELO || !isOutside) return { ...given, told: now };
  emit.ELO_SIGNIFICANT_CHANGE({
    ...about,
    previous_elo: significant.elo,
    elo_change: change,
    threshold: SIGNIFICANT_ELO,
  });
  return { ...given, told: now, significant: now };
}

/** Puts out rating games, as many as there is room and allowance for. */
function order(services: EvaluationServices, look: Look, given: RatingWork): RatingWork {
  const { now, configKey, plan } = look;
  const players = playersOf(configKey);
  const perJob = RATING_BLOCKS * players;
  // The check of a new champion comes first: what it will need is not given away in small pieces.
  const check = look.row(regressions);
  const isAwaited = check?.state === "watching" && check.gated && Object.keys(check.jobs).length === 0;
  const reserved = isAwaited ? CHECK_BLOCKS.batch * players : 0;
  // As of the last commit: what has just come in is not in the ledger yet, and still counts as ordered.
  let allowance = ratingGamesLeft(look, services.store) - reserved;
  let work = given;
  const waitFor = (wait: Waiting) => waiting(work, now, wait);
  for (let i = Object.keys(given.open).length; i < MAX_RATING_JOBS; i += 1) {
    if (allowance < perJob) return waitFor({ for: "rating_games", actual: allowance, required: perJob });
    const busy = quietTime(look.at, now);
    if (busy !== undefined) return waitFor(busy);
    const pair = nextPair(services, look, work);
    if (pair === undefined) return { ...work, waits: [] };
    const [candidate, opponent] = pair;
    const part = `r${work.next}`;
    const match = { candidate, opponent, blocks: RATING_BLOCKS };
    const job = matchJob(plan, match, { ...match, firstBlock: 0 }, { urgency: "low", seed: ["rating", work.next] });
    const put = putJobs(services.queue, look, {
      batch: `${configKey}:rating`,
      by: wiring.name,
      parts: { [part]: job },
    });
    if ("refused" in put) return waitFor(refusedWait(put.refused));
    allowance -= perJob;
    const open = { ...work.open, [part]: { work_id: put.jobs[part]!, ...match } };
    work = { ...work, next: work.next + 1, open, waits: [] };
  }
  return work;
}

function nextPair({ store, anchors: anchorsOf }: EvaluationServices, look: Look, work: RatingWork) {
  const { rows, configKey, plan } = look;
  const anchors = anchorsOf(configKey);
  const failed = Object.entries(work.failures).filter(([, count]) => count >= MAX_PLAYER_FAILURES);
  return chooseRatingPair({
    anchors,
    zero: zeroOf(anchors, firstChampion(store, configKey)),
    champions: rosterOf(store, configKey),
    rated: rows.get(ladders, ladderKey(configKey, budgetOf(plan.evaluation)))?.players ?? [],
    next: work.wanted,
    open: Object.values(work.open).map(({ candidate, opponent }) => [candidate, opponent]),
    unplayable: new Set(failed.map(([player]) => player)),
    mastered: new Set(work.mastered),
  });
}

/** Champions that may play, newest first, each once; what was withdrawn plays no more. */
function rosterOf(store: EvaluationServices["store"], configKey: string): string[] {
  const history = championHistory(store, configKey, 4 * ROSTER_SIZE);
  const withdrawn = withdrawnModels(history);
  const first = firstChampion(store, configKey);
  const newest = [...new Set(history.map(({ model }) => model))].filter((model) => !withdrawn.has(model));
  const kept = newest.slice(0, ROSTER_SIZE);
  return first === undefined || kept.includes(first) || withdrawn.has(first) ? kept : [...kept, first];
}
