/**
 * arena: games, a search, a small network and its trainer, with no dependency but Node. It knows no event and no queue.
 *
 * It guarantees that every game is proven by perft and by properties; that the same seed, model and config give the
 * same bytes in any process, with or without a JIT; that a file is read whole and checked, or refused with a typed
 * error; and that the baselines never change, so that a rating means the same next year.
 *
 * Games are played on one flat state array (`Game`). `createSearch` is PUCT for two to four players over an
 * `Evaluator`; `createNetwork` and `createTrainer` learn from `Samples`; `selfPlay` makes them. `bareLoop` is the whole
 * cycle on worker threads, with the gate as an argument. `createArenaConsole` is what the commands talk to.
 */
export { BASELINES, createBaseline } from "./baselines/catalog.ts";
export type { Player } from "./baselines/player.ts";
export {
  type ArenaConsole,
  createArenaConsole,
  type GameDetails,
  type GameSummary,
  type TableRequest,
} from "./console/console.ts";
export type { Table } from "./console/table.ts";
export { type Checkpoint, decodeCheckpoint, encodeCheckpoint } from "./files/checkpoint-file.ts";
export { type EncodedFile, MOST_FILE_BYTES } from "./files/container.ts";
export type { FileFault } from "./files/errors.ts";
export { decodeGames, decodeUnplayedGames, encodeGames, faultOfGame, type GamesFile } from "./files/games-file.ts";
export { decodeModel, encodeModel, type Model } from "./files/model-file.ts";
export { decodeNpz, encodeNpz } from "./files/npz.ts";
export { decodeSamples, encodeSamples, type SamplesFile } from "./files/samples-file.ts";
export { readWithin, writeOnce } from "./files/store.ts";
export { CONFIG_KEYS, createGame, DEFAULT_CONFIG_KEY } from "./games/catalog.ts";
export { fingerprint, type Game, isOver, OUTCOME, PLY, type State, scores, TURN } from "./games/game.ts";
export { perft } from "./games/perft.ts";
export {
  bareLoop,
  DEFAULT_LOOP,
  type Gate,
  type GateDecision,
  type LoopConfig,
  type LoopEdges,
  type LoopResult,
  playMatch,
  type RoundReport,
} from "./loop/bare-loop.ts";
export { type LadderMatch, type LadderPlan, playLadder, rungsOf } from "./loop/ladder.ts";
export {
  type BlockResult,
  createTally,
  distinctOpenings,
  playBlock,
  playGame,
  playOpening,
  type Tally,
} from "./loop/match.ts";
export { createPool, type Pool } from "./loop/pool.ts";
export {
  DEFAULT_SELF_PLAY,
  type GameRecord,
  type SelfPlayConfig,
  type SelfPlayResult,
  selfPlay,
} from "./loop/self-play.ts";
export { sprtGate } from "./loop/sprt-gate.ts";
export { createPlayer, type MatchTask, type PlayerSpec, type SelfPlayTask, sharedCopy, specOf } from "./loop/tasks.ts";
export { shapeOf } from "./net/layout.ts";
export { createNetwork, type Network } from "./net/network.ts";
export { createReplay, DEFAULT_REPLAY, type Replay, type ReplayConfig, windowRows } from "./net/replay.ts";
export { copySamples, emptySamples, joinSamples, type Samples } from "./net/samples.ts";
export {
  createTrainer,
  DEFAULT_TRAINER,
  type Losses,
  type Measure,
  type Momentum,
  type Trainer,
  type TrainerConfig,
} from "./net/trainer.ts";
export { log } from "./numerics/exp-log.ts";
export { mixSeed } from "./numerics/samplers.ts";
export { networkEvaluator } from "./search/evaluator.ts";
export { createSearch, DEFAULT_SEARCH, type Search, type SearchConfig } from "./search/puct.ts";
export { searchPlayer } from "./search/search-player.ts";
