import { hash } from "node:crypto";
import { canonicalJson, type Json, OperatingError } from "../../kernel/index.ts";

const MAX_LENGTH = 120;

/**
 * The name of what both sides of a match may spend, from the parameters of its jobs: results of one name may be compared,
 * those of different names never. Every parameter belongs to it, as any of them may change who wins.
 */
export function budgetOf(parameters: { readonly [name: string]: Json }): string {
  const text = Object.keys(parameters)
    .sort()
    .map((name) => `${name}=${canonicalJson(parameters[name])}`)
    .join(",");
  if (text === "") return "default";
  return text.length <= MAX_LENGTH ? text : `sha256=${hash("sha256", text, "hex").slice(0, 16)}`;
}

/** Players of a config, as its key says. */
export function playersOf(configKey: string): 2 | 3 | 4 {
  const players = Number(/_([234])p$/.exec(configKey)?.[1]);
  if (players === 2 || players === 3 || players === 4) return players;
  throw OperatingError.invalid("INVALID_CONFIG_KEY", `'${configKey}' does not say how many players there are`, {
    hint: "A config is a board and a number of players, for example hex8_2p.",
  });
}

export interface GamesSoFar {
  /** Games of self-play and of gates. */
  readonly others: number;
  /** Games that only served ratings and checks, those on order included. */
  readonly rating: number;
}

/** Games that ratings may still have, so that they are no more than `share` of all. */
export const ratingAllowance = (share: number, { others, rating }: GamesSoFar): number =>
  Math.max(0, Math.floor((share / (1 - share)) * others) - rating);
