import { didYouMean, OperatingError } from "../../../kernel/index.ts";
import { connectFour } from "./connect-four.ts";
import type { Game } from "./game.ts";
import { hex } from "./hex.ts";
import { othello } from "./othello.ts";

const BUILDERS: Readonly<Record<string, () => Game>> = {
  othello6_2p: () => othello(6),
  othello8_2p: () => othello(8),
  connect4_7x6_2p: () => connectFour(7, 6, 2),
  connect4_8x7_3p: () => connectFour(8, 7, 3),
  connect4_9x7_4p: () => connectFour(9, 7, 4),
  hex7_2p: () => hex(7),
};

export const DEFAULT_CONFIG_KEY = "othello6_2p";
export const CONFIG_KEYS: readonly string[] = Object.keys(BUILDERS);

/** A fresh game of the given config; every call builds its own tables, so games are never shared between callers. */
export function createGame(configKey: string): Game {
  const build = Object.hasOwn(BUILDERS, configKey) ? BUILDERS[configKey] : undefined;
  if (!build)
    throw OperatingError.notFound(
      "UNKNOWN_GAME",
      `There is no built-in game "${configKey}".${didYouMean(configKey, CONFIG_KEYS)}`,
      {
        hint: `Known games: ${CONFIG_KEYS.join(", ")}.`,
      },
    );
  return build();
}
