/** What a worker thread can be asked to compute. Everything here survives a structured clone. */
import { createBaseline } from "../baselines/catalog.ts";
import type { Player } from "../baselines/player.ts";
import type { Game } from "../games/game.ts";
import { layoutOf, shapeOf } from "../net/layout.ts";
import type { Network } from "../net/network.ts";
import { networkEvaluator } from "../search/evaluator.ts";
import { createSearch, type SearchConfig } from "../search/puct.ts";
import { searchPlayer } from "../search/search-player.ts";
import { type BlockResult, playBlock } from "./match.ts";
import { type SelfPlayConfig, type SelfPlayResult, selfPlay } from "./self-play.ts";

/** A network by its weights, best in shared memory so that no worker copies them. */
export interface WeightsSpec {
  readonly wide: number;
  readonly narrow: number;
  readonly weights: Float32Array;
}

export type PlayerSpec =
  | { readonly kind: "baseline"; readonly name: string }
  | ({ readonly kind: "network"; readonly name: string; readonly search: SearchConfig } & WeightsSpec);

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

export const specOf = ({ layout, weights }: Network): WeightsSpec => ({
  wide: layout.shape.wide,
  narrow: layout.shape.narrow,
  weights,
});

/** A copy of a network's weights that threads can share. */
export function sharedCopy({ layout, weights }: Network): Network {
  const shared = new Float32Array(new SharedArrayBuffer(weights.byteLength));
  shared.set(weights);
  return { layout, weights: shared };
}

const networkOf = (game: Game, { wide, narrow, weights }: WeightsSpec): Network => ({
  layout: layoutOf(shapeOf(game, wide, narrow)),
  weights,
});

export const createPlayer = (game: Game, spec: PlayerSpec): Player =>
  spec.kind === "baseline"
    ? createBaseline(spec.name, game)
    : searchPlayer(spec.name, game, networkOf(game, spec), spec.search);

export function runSelfPlay(game: Game, task: SelfPlayTask): SelfPlayResult {
  const evaluator = networkEvaluator(game, networkOf(game, task.network));
  return selfPlay(game, createSearch(game, evaluator, task.search), task.selfPlay, task.seeds);
}

export function runMatch(game: Game, task: MatchTask): BlockResult[] {
  const candidate = createPlayer(game, task.candidate);
  const opponents = Array.from({ length: game.players - 1 }, () => createPlayer(game, task.opponent));
  return task.seeds.map((seed) => playBlock(game, candidate, opponents, task.openingPlies, seed));
}
