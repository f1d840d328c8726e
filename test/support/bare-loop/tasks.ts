/** What a worker thread can be asked to compute. Everything here survives a structured clone. */
import type { Game } from "../../../src/workloads/arena/games/game.ts";
import type { Network } from "../../../src/workloads/arena/net/network.ts";
import { type BlockResult, playBlock } from "../../../src/workloads/arena/play/match.ts";
import { type SelfPlayConfig, type SelfPlayResult, selfPlay } from "../../../src/workloads/arena/play/self-play.ts";
import { networkEvaluator } from "../../../src/workloads/arena/search/evaluator.ts";
import { createSearch, type SearchConfig } from "../../../src/workloads/arena/search/puct.ts";
import { createPlayer, networkOf, type PlayerSpec, type WeightsSpec } from "./players.ts";

export interface SelfPlayTask {
  readonly kind: "self-play";
  readonly network: WeightsSpec;
  readonly search: SearchConfig;
  readonly selfPlay: SelfPlayConfig;
  readonly seeds: readonly number[];
}

export interface MatchTask {
  readonly kind: "match";
  readonly candidate: PlayerSpec;
  readonly opponent: PlayerSpec;
  readonly openingPlies: number;
  readonly seeds: readonly number[];
}

/** A copy of a network's weights that threads can share. */
export function sharedCopy({ layout, weights }: Network): Network {
  const shared = new Float32Array(new SharedArrayBuffer(weights.byteLength));
  shared.set(weights);
  return { layout, weights: shared };
}

export function runSelfPlay(game: Game, task: SelfPlayTask): SelfPlayResult {
  const evaluator = networkEvaluator(game, networkOf(game, task.network));
  return selfPlay(game, createSearch(game, evaluator, task.search), task.selfPlay, task.seeds);
}

export function runMatch(game: Game, task: MatchTask): BlockResult[] {
  const candidate = createPlayer(game, task.candidate);
  const opponents = Array.from({ length: game.players - 1 }, () => createPlayer(game, task.opponent));
  return task.seeds.map((seed) => playBlock(game, candidate, opponents, task.openingPlies, seed));
}
