/** Champions on their way to the nodes that play: what is kept of it, what others ask about it, and what it needs of other rooms. */
import { type Cause, defineTable, type Store } from "../router/index.ts";
import type { Spread, Trial } from "./units/model-distribution/decide.ts";

/** By config_key. Written by `model_distribution_daemon`. */
export const spreads = defineTable<Spread>("sync_spreads");

export interface ChampionFacts {
  readonly configKey: string;
  /** SHA-256 of its file. */
  readonly model: string;
  /** When it became champion. */
  readonly since: number;
  /** What is told of its way to the nodes follows from this; otherwise from whatever woke whoever tells it. */
  readonly cause?: Cause;
}

/** The games of whoever tries a champion: a job like any other, for one node. */
export interface TrialPort {
  /** Asked again with the same name it gives the same job. */
  put(
    trial: ChampionFacts & { readonly nodeId: string; readonly games: number; readonly name: string },
  ): Promise<string>;
  look(workId: string): Trial;
  takeBack(workId: string): Promise<void>;
}

/** What `app` knows of champions and of who works. */
export interface SpreadPorts {
  readonly champions: () => readonly ChampionFacts[];
  /** Nodes that take self-play, and those that do nothing but train. */
  readonly players: () => readonly string[];
  readonly trainers: () => readonly string[];
  readonly trials: TrialPort;
}

/** How far a champion is, in a few words. */
export const standsOf = ({ state, model, proven, delivered, lacking, refused }: Spread) => ({
  model,
  state,
  proven_by: proven,
  nodes_with_it: delivered.length,
  nodes_without_it: Object.keys(lacking).length,
  refused_by: refused.map(({ node_id }) => node_id),
});

/** What others ask about the way of a champion. */
export function createSpreadView(store: Pick<Store, "read">) {
  const of = (configKey: string, model: string): Spread | undefined => {
    const [row] = store.read<{ value: string }>(
      "SELECT value FROM state_rows WHERE table_name = ? AND key = ?",
      spreads.table,
      configKey,
    );
    const found = row && (JSON.parse(row.value) as Spread);
    return found?.model === model ? found : undefined;
  };
  return {
    of,
    /** Nodes that tried it and could not play with it. */
    unfit: (configKey: string, model: string): string[] =>
      (of(configKey, model)?.refused ?? []).map(({ node_id }) => node_id),
    /** Whether somebody can play with it: it went out, or nobody ever said that it cannot be played with. */
    isOut: (configKey: string, model: string): boolean => {
      const state = of(configKey, model)?.state;
      return state === "spreading" || state === "complete";
    },
  };
}

export type SpreadView = ReturnType<typeof createSpreadView>;
