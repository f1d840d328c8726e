import { DEFAULT_NARROW, DEFAULT_WIDE } from "../net/layout.ts";
import { DEFAULT_REPLAY } from "../net/replay.ts";
import { DEFAULT_TRAINER } from "../net/trainer.ts";
import { DEFAULT_SEARCH } from "../search/puct.ts";
import { DEFAULT_SELF_PLAY } from "./self-play.ts";

/** The numbers of a round of play, training and gate. */
export const DEFAULT_LOOP = {
  seed: 1,
  wide: DEFAULT_WIDE,
  narrow: DEFAULT_NARROW,
  gamesPerRound: 480,
  /** Training samples drawn for each new row. */
  samplesPerRow: 8,
  search: { ...DEFAULT_SEARCH, simulations: 96 },
  selfPlay: DEFAULT_SELF_PLAY,
  trainer: DEFAULT_TRAINER,
  replay: DEFAULT_REPLAY,
  /** Search of both sides at the gate, without noise. */
  gateSearch: DEFAULT_SEARCH,
  gateBatchBlocks: 20,
  gateOpeningPlies: 5,
};

export type LoopConfig = Readonly<typeof DEFAULT_LOOP>;
