/**
 * The whole learning loop with nothing around it: self-play on worker threads, training, a gate, the next round. It is
 * the yardstick for a coordinated loop, which must not be slower or weaker.
 *
 * Everything but the number of rounds follows from the seed: games are seeded one by one, so it does not matter which
 * worker plays which, and the clock only decides when to stop.
 */
import { OperatingError, seededRandom } from "../../../src/kernel/index.ts";
import type { Game } from "../../../src/workloads/arena/games/game.ts";
import { shapeOf } from "../../../src/workloads/arena/net/layout.ts";
import { createNetwork, type Network } from "../../../src/workloads/arena/net/network.ts";
import { joinSamples, type Samples } from "../../../src/workloads/arena/net/samples.ts";
import { createTrainer, type Trainer } from "../../../src/workloads/arena/net/trainer.ts";
import { mixSeed } from "../../../src/workloads/arena/numerics/samplers.ts";
import type { LoopConfig } from "../../../src/workloads/arena/play/defaults.ts";
import { createTally, distinctOpenings, type Tally } from "../../../src/workloads/arena/play/match.ts";
import { type PlayerSpec, specOf } from "./players.ts";
import type { Pool } from "./pool.ts";
import { createReplay, type Replay } from "./replay.ts";
import { sharedCopy } from "./tasks.ts";

export type GateDecision = "promote" | "reject" | "inconclusive" | "continue";

/** Looks at a match after each batch of blocks. */
export type Gate = (counts: readonly number[], redundancy: number) => GateDecision;

export interface RoundReport {
  readonly round: number;
  readonly rows: number;
  readonly policyLoss: number;
  readonly valueLoss: number;
  readonly gateCounts: readonly number[];
  readonly gateScore: number;
  readonly redundancy: number;
  readonly decision: GateDecision;
  readonly promotions: number;
  readonly elapsedMs: number;
  readonly selfPlayMs: number;
  readonly trainMs: number;
  readonly gateMs: number;
}

export interface LoopResult {
  readonly rounds: readonly RoundReport[];
  /** The first network and every one promoted after it, oldest first. */
  readonly champions: readonly Network[];
  readonly games: number;
  readonly rows: number;
}

export interface LoopEdges {
  readonly pool: Pool;
  readonly gate: Gate;
  readonly nowMs: () => number;
  /** Asked before each round, and between batches of a gate: no new round starts once it says yes. */
  readonly stop: (rounds: number, elapsedMs: number) => boolean;
  readonly onRound?: (report: RoundReport) => void;
}

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

/** Plays the games of one round; the rows come in the order of the seeds, whoever played them. */
async function playRound(
  game: Game,
  champion: Network,
  config: LoopConfig,
  pool: Pool,
  round: number,
): Promise<Samples> {
  const base = mixSeed(config.seed, round);
  const seeds = Array.from({ length: config.gamesPerRound }, (_, i) => mixSeed(base, i));
  const results = await Promise.all(
    chunks(seeds, Math.max(1, Math.ceil(seeds.length / (pool.workers * 4)))).map((part) =>
      pool.selfPlay({
        kind: "self-play",
        network: specOf(champion),
        search: config.search,
        selfPlay: config.selfPlay,
        seeds: part,
      }),
    ),
  );
  return joinSamples(
    results.map(({ samples }) => samples),
    game,
  );
}

function trainRound(trainer: Trainer, replay: Replay, config: LoopConfig, newRows: number, round: number) {
  const random = seededRandom(mixSeed(config.seed ^ 0x5bd1e995, round));
  const steps = Math.max(1, Math.ceil((newRows * config.samplesPerRow) / config.trainer.batch));
  let policy = 0;
  let value = 0;
  for (let i = 0; i < steps; i += 1) {
    const losses = trainer.step(replay.samples, () => replay.draw(random), random);
    policy += losses.policy / steps;
    value += losses.value / steps;
  }
  if (!Number.isFinite(policy + value))
    throw OperatingError.internal("ARENA_TRAINING_DIVERGED", `The losses of round ${round} are not numbers.`, {
      hint: "Lower the learning rate.",
    });
  return { policy, value };
}

/** Plays batches of blocks between two players until the gate has seen enough. */
export async function playMatch(
  game: Game,
  pool: Pool,
  candidate: PlayerSpec,
  opponent: PlayerSpec,
  options: { seed: number; batchBlocks: number; openingPlies: number; decide: (tally: Tally) => GateDecision },
): Promise<{ tally: Tally; decision: GateDecision }> {
  const tally = createTally(game.players);
  for (let batch = 1; ; batch += 1) {
    const seeds = distinctOpenings(game, options.openingPlies, options.seed, batch * options.batchBlocks).slice(
      (batch - 1) * options.batchBlocks,
    );
    const parts = chunks(seeds, Math.max(1, Math.ceil(seeds.length / (pool.workers * 2))));
    const results = await Promise.all(
      parts.map((part) =>
        pool.match({ kind: "match", candidate, opponent, openingPlies: options.openingPlies, seeds: part }),
      ),
    );
    tally.add(results.flat());
    const decision = options.decide(tally);
    if (decision !== "continue") return { tally, decision };
  }
}

export async function bareLoop(game: Game, config: LoopConfig, edges: LoopEdges): Promise<LoopResult> {
  const { pool, nowMs } = edges;
  const startMs = nowMs();
  const shape = shapeOf(game, config.wide, config.narrow);
  const trainer = createTrainer(createNetwork(shape, seededRandom(config.seed)), game.symmetries, config.trainer);
  const replay = createReplay(game, config.replay);
  const champions = [sharedCopy(trainer.network)];
  const rounds: RoundReport[] = [];

  while (!edges.stop(rounds.length, nowMs() - startMs)) {
    const round = rounds.length + 1;
    const champion = champions.at(-1)!;
    const roundMs = nowMs();
    const samples = await playRound(game, champion, config, pool, round);
    replay.add(samples);
    const playedMs = nowMs();
    const losses = trainRound(trainer, replay, config, samples.count, round);
    const trainedMs = nowMs();

    const candidate = sharedCopy(trainer.network);
    const spec = (name: string, network: Network): PlayerSpec => ({
      kind: "network",
      name,
      search: config.gateSearch,
      ...specOf(network),
    });
    const { tally, decision } = await playMatch(game, pool, spec("candidate", candidate), spec("champion", champion), {
      seed: mixSeed(config.seed ^ 0x27d4eb2f, round),
      batchBlocks: config.gateBatchBlocks,
      openingPlies: config.gateOpeningPlies,
      decide: ({ counts, redundancy }) => edges.gate(counts, redundancy),
    });
    if (decision === "promote") champions.push(candidate);
    const report: RoundReport = {
      round,
      rows: replay.total,
      policyLoss: losses.policy,
      valueLoss: losses.value,
      gateCounts: [...tally.counts],
      gateScore: tally.score,
      redundancy: tally.redundancy,
      decision,
      promotions: champions.length - 1,
      elapsedMs: nowMs() - startMs,
      selfPlayMs: playedMs - roundMs,
      trainMs: trainedMs - playedMs,
      gateMs: nowMs() - trainedMs,
    };
    rounds.push(report);
    edges.onRound?.(report);
  }
  return { rounds, champions, games: rounds.length * config.gamesPerRound, rows: replay.total };
}
