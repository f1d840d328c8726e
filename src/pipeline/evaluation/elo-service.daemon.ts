import { defineDaemon, onEach, type UnitContext } from "../../daemons/index.ts";
import { isOperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";
import type { WorkQueue } from "../../work/index.ts";
import { type ConfigPlan, configs } from "../config-plan.ts";
import { followJobs } from "../followed-jobs.ts";
import { iterations, type Wait } from "../iteration.ts";
import { champions, withdrawnModels } from "../models/champion.ts";
import { championHistory } from "../models/champion-rows.ts";
import { type ConfigKey, eachConfig, sameWaits } from "../models/loop-parts.ts";
import { seedFor } from "../seeds.ts";
import { putJobs, refusedWait, waitsSince } from "../stage-rows.ts";
import { appendMatches, pairTallies } from "./ledger.ts";
import { matchResults, type ReadArtifact } from "./match-results.ts";
import { quietTime } from "./quiet-time.ts";
import { type RatingWork, ratingGamesLeft, ratingWork, type ToldRating } from "./rating-budget.ts";
import { chooseRatingPair } from "./rating-choice.ts";
import type { RatingEngine } from "./rating-engine.ts";
import { ladderKey, ladders, type RatedLadder, type RatedPlayer } from "./ratings-table.ts";
import { checkPolicyDefaults, faultOf } from "./regression-check.ts";
import { regressions } from "./regressions-table.ts";
import { budgetOf, playersOf } from "./search-budget.ts";

export interface EloServicePorts {
  readonly queue: Pick<WorkQueue, "join" | "show">;
  readonly store: Pick<Store, "read">;
  readonly readArtifact: ReadArtifact;
  readonly engine: Pick<RatingEngine, "rate">;
  /** Baselines that the workload of a config can play by name, weakest first; the middle one is the zero of the ladder. */
  readonly anchors: (configKey: string) => readonly string[];
  readonly settings?: Partial<EloServiceSettings>;
}

export interface EloServiceSettings {
  readonly everyMs: number;
  readonly blocksPerJob: number;
  /** Rating jobs of a config at a time. */
  readonly mostOpen: number;
  /** Champions that still play for their ratings: the newest, and the first. */
  readonly rosterSize: number;
  /** Change of the champion's rating that others should think about. */
  readonly significantElo: number;
  /** Blocks that are left for the check of a new champion. */
  readonly reservedBlocks: number;
  /** Jobs of a player that may fail before it is no longer asked to play. */
  readonly mostFailures: number;
}

export const eloServiceDefaults: EloServiceSettings = {
  everyMs: 2_000,
  blocksPerJob: 8,
  mostOpen: 2,
  rosterSize: 48,
  significantElo: 25,
  reservedBlocks: checkPolicyDefaults.batchBlocks,
  mostFailures: 3,
};

type Said = "WORK_QUEUED" | "ELO_UPDATED" | "ELO_SIGNIFICANT_CHANGE";
type Context = UnitContext<Said>;

const NOTHING: RatingWork = { next: 0, open: {}, failures: {}, wanted: [], told: null, significant: null, waits: [] };
const UNIT = "elo_service";
/** Champions that a ladder holds; with the anchors it stays within what the statistics take. */
const MOST_RATED = 500;
const SHA256 = /^[0-9a-f]{64}$/;

/** The anchor in the middle of the ladder: its interval is the narrowest, so ratings against it are. */
const zeroOf = (anchors: readonly string[], firstChampion: string | undefined): string | null =>
  anchors[Math.floor(anchors.length / 2)] ?? firstChampion ?? null;

/**
 * Keeps the ladder of every config: orders rating games where they tell most, within their share of all games, and computes
 * ratings anew from the ledger, never mixed over configs or search budgets. Gate games make no ratings: they stop on luck.
 */
export const eloService = (ports: EloServicePorts) => {
  const { queue, store, readArtifact, engine, anchors } = ports;
  const settings = { ...eloServiceDefaults, ...ports.settings };

  const firstChampion = (configKey: string): string | undefined =>
    store.read<{ model: string }>(
      "SELECT model FROM champion_history WHERE config_key = ? AND generation = 1",
      configKey,
    )[0]?.model;

  /** Champions that may play, newest first, each once; what was withdrawn plays no more. */
  const rosterOf = (configKey: string): string[] => {
    const history = championHistory(store, configKey, 4 * settings.rosterSize);
    const withdrawn = withdrawnModels(history);
    const first = firstChampion(configKey);
    const newest = [...new Set(history.map(({ model }) => model))].filter((model) => !withdrawn.has(model));
    const kept = newest.slice(0, settings.rosterSize);
    return first === undefined || kept.includes(first) || withdrawn.has(first) ? kept : [...kept, first];
  };

  /** Takes in what has come. A job without a result only costs its players a mark. */
  const collect = async (
    configKey: ConfigKey,
    plan: ConfigPlan,
    given: RatingWork,
    context: Context,
  ): Promise<RatingWork> => {
    const { rows, now, log } = context;
    const jobs = Object.fromEntries(Object.entries(given.open).map(([part, { work_id }]) => [part, work_id]));
    const { completed, failed } = followJobs(queue, jobs);
    if (completed.length === 0 && failed.length === 0) return given;
    const open = { ...given.open };
    const failures = { ...given.failures };
    const blame = (part: string) => {
      const { candidate, opponent } = open[part]!;
      for (const player of [candidate, opponent]) failures[player] = (failures[player] ?? 0) + 1;
    };
    for (const { part, job } of completed) {
      const { candidate, opponent, blocks } = open[part]!;
      try {
        const expected = { candidate, opponent, blocks, players: playersOf(configKey) };
        const results = await matchResults(readArtifact, job, expected);
        const budget = budgetOf(plan.evaluation);
        rows.apply(
          appendMatches({
            config_key: configKey,
            budget,
            purpose: "rating",
            work_id: job.work_id,
            candidate,
            opponent,
            blocks: results.blocks,
            at: now,
          }),
        );
        for (const player of [candidate, opponent]) delete failures[player];
      } catch (thrown) {
        if (!isOperatingError(thrown)) throw thrown;
        if (thrown.retryable && !thrown.code.startsWith("MATCH_")) continue;
        log.warn("rating games brought no result", {
          config_key: configKey,
          work_id: job.work_id,
          error: thrown.message,
        });
        blame(part);
      }
      delete open[part];
    }
    for (const { part, code, reason } of failed) {
      if (faultOf(code, reason) !== undefined) blame(part);
      delete open[part];
    }
    return { ...given, open, failures };
  };

  const order = (configKey: ConfigKey, plan: ConfigPlan, given: RatingWork, context: Context): RatingWork => {
    const { rows, now } = context;
    const players = playersOf(configKey);
    const names = anchors(configKey);
    const budget = budgetOf(plan.evaluation);
    const perJob = settings.blocksPerJob * players;
    // The check of a new champion comes first: what it will need is not given away in small pieces.
    const check = rows.get(regressions, configKey);
    const isAwaited = check?.state === "watching" && check.gated && Object.keys(check.jobs).length === 0;
    const reserved = isAwaited ? settings.reservedBlocks * players : 0;
    // As of the last commit: what has just come in is not in the ledger yet, and still counts as ordered.
    let allowance = ratingGamesLeft(rows, store, configKey, plan) - reserved;
    let work = given;
    const waitFor = (wait: Omit<Wait, "since">): RatingWork => {
      const waits = waitsSince(work.waits, now, [wait]);
      return sameWaits(work.waits, waits) ? work : { ...work, waits };
    };
    for (let i = Object.keys(given.open).length; i < settings.mostOpen; i += 1) {
      if (allowance < perJob)
        return waitFor({ for: "games that ratings may have", actual: allowance, required: perJob });
      const busy = quietTime(rows.get(iterations, configKey), now);
      if (busy !== undefined) return waitFor(busy);
      const pair = chooseRatingPair({
        anchors: names,
        zero: zeroOf(names, firstChampion(configKey)),
        champions: rosterOf(configKey),
        rated: rows.get(ladders, ladderKey(configKey, budget))?.players ?? [],
        next: work.wanted,
        open: Object.values(work.open).map(({ candidate, opponent }) => [candidate, opponent]),
        unplayable: new Set(
          Object.entries(work.failures)
            .filter(([, count]) => count >= settings.mostFailures)
            .map(([player]) => player),
        ),
      });
      if (pair === undefined) return work.waits.length === 0 ? work : { ...work, waits: [] };
      const [candidate, opponent] = pair;
      const part = `r${work.next}`;
      const inputs = (["candidate", "opponent"] as const)
        .map((name) => ({ name, sha256: name === "candidate" ? candidate : opponent }))
        .filter(({ sha256 }) => SHA256.test(sha256));
      const { blocksPerJob: blocks } = settings;
      const put = putJobs(queue, context, [
        {
          work_type: "evaluation",
          config_key: configKey,
          urgency: "low",
          payload: {
            parameters: { ...plan.evaluation, blocks, first_block: 0, candidate, opponent },
            seed: seedFor(plan.seed, "rating", work.next),
            inputs,
          },
          batch_id: `${configKey}:rating`,
          dedup_key: `${configKey}:rating:${part}`,
          requested_by: UNIT,
        },
      ]);
      if ("refused" in put) return waitFor(refusedWait(put.refused));
      const open = { ...work.open, [part]: { work_id: put.added[0]!.work_id, candidate, opponent, blocks } };
      allowance -= perJob;
      work = { ...work, next: work.next + 1, open, waits: [] };
    }
    return work;
  };

  const tell = (configKey: ConfigKey, rated: RatedPlayer, given: RatingWork, { emit }: Context): RatingWork => {
    const { player: model, elo, low, high, games } = rated;
    const { told, significant } = given;
    if (told?.model === model && Math.abs(told.elo - elo) < 1) return given;
    emit.ELO_UPDATED({
      config_key: configKey,
      model_id: model,
      elo,
      games,
      elo_low: low,
      elo_high: high,
      ...(told === null ? {} : { previous_elo: told.elo }),
    });
    const now: ToldRating = { model, elo };
    if (significant === null) return { ...given, told: now, significant: now };
    const change = elo - significant.elo;
    // Noise is no news: the old value must lie outside of what is possible now.
    const isOutside = significant.elo < low || significant.elo > high;
    if (Math.abs(change) < settings.significantElo || !isOutside) return { ...given, told: now };
    emit.ELO_SIGNIFICANT_CHANGE({
      config_key: configKey,
      model_id: model,
      elo,
      previous_elo: significant.elo,
      elo_change: change,
      threshold: settings.significantElo,
      elo_low: low,
      elo_high: high,
    });
    return { ...given, told: now, significant: now };
  };

  /** Computes the ladder anew when the ledger has grown. */
  const rate = async (
    configKey: ConfigKey,
    plan: ConfigPlan,
    given: RatingWork,
    context: Context,
  ): Promise<RatingWork> => {
    const { rows, now } = context;
    const budget = budgetOf(plan.evaluation);
    const champion = rows.get(champions, configKey)?.model;
    const key = ladderKey(configKey, budget);
    const before = rows.get(ladders, key);
    const names = anchors(configKey);
    const known = new Set([...names, ...championHistory(store, configKey, MOST_RATED).map(({ model }) => model)]);
    const tallies = pairTallies(store, configKey, budget, "rating").filter(
      ({ candidate, opponent }) => known.has(candidate) && known.has(opponent),
    );
    const games = tallies.reduce((sum, tally) => sum + tally.games, 0);
    let work = given;
    let players = before?.players ?? [];
    if (games !== (before?.games ?? 0)) {
      const zero = zeroOf(names, firstChampion(configKey));
      const answer = await engine.rate({ players: playersOf(configKey), tallies, zero, anchors: names, most: 20 });
      const row: RatedLadder = { config_key: configKey, budget, games, zero, players: answer.players, at: now };
      rows.put(ladders, key, row);
      players = answer.players;
      work = { ...work, wanted: answer.next };
    }
    const rated = players.find(({ player, linked }) => player === champion && linked);
    return rated === undefined || rated.anchor ? work : tell(configKey, rated, work, context);
  };

  const reconcile = async (configKey: ConfigKey, context: Context) => {
    const { rows } = context;
    const config = rows.get(configs, configKey);
    if (config === undefined || rows.get(champions, configKey) === undefined) return;
    if (!config.plan.kinds.includes("evaluation")) return;
    const before = rows.get(ratingWork, configKey) ?? NOTHING;
    let work = await collect(configKey, config.plan, before, context);
    work = await rate(configKey, config.plan, work, context);
    if (config.paused === null) work = order(configKey, config.plan, work, context);
    if (work !== before) rows.put(ratingWork, configKey, work);
  };

  return defineDaemon({
    name: UNIT,
    layer: 7,
    placement: "leader",
    alsoKnownAs: [
      "ELO_SYNC",
      "TOURNAMENT_DAEMON",
      "EloService",
      "EloSyncManager",
      "TournamentDaemon",
      "StabilityHeuristic",
    ],
    dependsOn: ["model_coordinator"],
    emits: ["WORK_QUEUED", "ELO_UPDATED", "ELO_SIGNIFICANT_CHANGE"],
    state: { tables: { ladders, ratingWork } },
    on: {
      ...onEach(["PIPELINE_STAGE_ENTERED", "MODEL_PROMOTED", "EVALUATION_COMPLETED"], ({ payload }, context: Context) =>
        reconcile(payload.config_key, context),
      ),
      ...onEach(["WORK_COMPLETED", "WORK_FAILED", "WORK_CANCELLED"], async ({ payload }, context: Context) => {
        if (payload.work_type === "evaluation" && payload.config_key !== undefined)
          await reconcile(payload.config_key, context);
      }),
    },
    loop: {
      everyMs: settings.everyMs,
      tick: (context) => eachConfig(context.rows, (configKey) => reconcile(configKey, context)),
    },
    health: ({ rows }) => ({
      status: "running",
      message: "",
      details: Object.fromEntries(
        rows.list(ladders).map(([key, { games, players }]) => [key, `${players.length} players, ${games} games`]),
      ),
    }),
  });
};
