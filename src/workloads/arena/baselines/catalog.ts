import { didYouMean, OperatingError } from "../../../kernel/index.ts";
import type { Game } from "../games/game.ts";
import { alphaBeta } from "./alpha-beta.ts";
import { plainMcts } from "./plain-mcts.ts";
import type { Player } from "./player.ts";
import { randomPlayer } from "./random.ts";

const BUILDERS: Readonly<Record<string, (game: Game) => Player>> = {
  random: randomPlayer,
  "mcts-100": (game) => plainMcts(game, 100),
  "mcts-1000": (game) => plainMcts(game, 1000),
  "mcts-5000": (game) => plainMcts(game, 5000),
  "alphabeta-2": (game) => alphaBeta(game, 2),
  "alphabeta-4": (game) => alphaBeta(game, 4),
};

/** Players whose strength never changes, weakest idea first. */
export const BASELINES: readonly string[] = Object.keys(BUILDERS);

export function createBaseline(name: string, game: Game): Player {
  const build = Object.hasOwn(BUILDERS, name) ? BUILDERS[name] : undefined;
  if (!build)
    throw OperatingError.notFound("UNKNOWN_BASELINE", `There is no baseline "${name}".${didYouMean(name, BASELINES)}`, {
      hint: `Known baselines: ${BASELINES.join(", ")}.`,
    });
  return build(game);
}
