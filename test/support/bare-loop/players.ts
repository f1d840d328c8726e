/** Players by their description, which survives a structured clone. */
import { createBaseline } from "../../../src/workloads/arena/baselines/catalog.ts";
import type { Player } from "../../../src/workloads/arena/baselines/player.ts";
import type { Game } from "../../../src/workloads/arena/games/game.ts";
import { layoutOf, shapeOf } from "../../../src/workloads/arena/net/layout.ts";
import type { Network } from "../../../src/workloads/arena/net/network.ts";
import type { SearchConfig } from "../../../src/workloads/arena/search/puct.ts";
import { searchPlayer } from "../../../src/workloads/arena/search/search-player.ts";

/** A network by its weights, best in shared memory so that no worker copies them. */
export interface WeightsSpec {
  readonly wide: number;
  readonly narrow: number;
  readonly weights: Float32Array;
}

export type PlayerSpec =
  | { readonly kind: "baseline"; readonly name: string }
  | ({ readonly kind: "network"; readonly name: string; readonly search: SearchConfig } & WeightsSpec);

export const specOf = ({ layout, weights }: Network): WeightsSpec => ({
  wide: layout.shape.wide,
  narrow: layout.shape.narrow,
  weights,
});

export const networkOf = (game: Game, { wide, narrow, weights }: WeightsSpec): Network => ({
  layout: layoutOf(shapeOf(game, wide, narrow)),
  weights,
});

export const createPlayer = (game: Game, spec: PlayerSpec): Player =>
  spec.kind === "baseline"
    ? createBaseline(spec.name, game)
    : searchPlayer(spec.name, game, networkOf(game, spec), spec.search);
