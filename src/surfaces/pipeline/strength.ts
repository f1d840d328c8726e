/**
 * How strong the champions were, one after the other. A champion comes long before the ladder has rated it; until then it stands as far
 * above the one that it beat as its gate says. Pure.
 */
import type { ConfigSnapshot, Rated } from "../../pipeline/snapshot.ts";
import type { RatingHistory } from "./wire.ts";

export interface Strength {
  readonly model: string;
  readonly generation: number;
  readonly iteration: number;
  readonly elo: number;
  /** Null while only its gate tells how strong it is. */
  readonly rated: Rated | null;
}

/** What it takes to see how strong they were. */
export interface Shown {
  readonly champions: readonly Pick<ConfigSnapshot["champions"][number], "model" | "generation" | "iteration">[];
  readonly ladder: readonly Rated[];
  readonly gates: readonly {
    readonly candidate: string;
    readonly opponent: string;
    readonly verdict: string | null;
    readonly elo: { readonly estimate: number } | null;
  }[];
}

/** The rating history of a config, one row for each champion, oldest first. */
export function ratingsOf(
  config: Pick<ConfigSnapshot, "config_key" | "champions" | "ladder" | "gates">,
): RatingHistory {
  const since = new Map(config.champions.map((champion) => [champion.generation, champion.since]));
  return {
    config_key: config.config_key,
    ratings: strengthsOf(config).map(({ model, generation, iteration, elo, rated }) => ({
      ...{ model, generation, iteration, elo },
      since: since.get(generation)!,
      low: rated?.low ?? null,
      high: rated?.high ?? null,
      games: rated?.games ?? 0,
    })),
  };
}

export function strengthsOf({ champions, ladder, gates }: Shown): readonly Strength[] {
  const ratings = new Map(ladder.map((rated) => [rated.player, rated]));
  const known = new Map<string, number>();
  return champions.flatMap(({ model, generation, iteration }) => {
    const rated = ratings.get(model) ?? null;
    const gate = gates.findLast(({ candidate, verdict }) => candidate === model && verdict === "promote");
    const below = gate === undefined ? undefined : known.get(gate.opponent);
    const byGate = below === undefined || gate?.elo == null ? undefined : below + gate.elo.estimate;
    const elo = rated?.elo ?? known.get(model) ?? byGate;
    if (elo === undefined) return [];
    known.set(model, elo);
    return [{ model, generation, iteration, elo, rated }];
  });
}
