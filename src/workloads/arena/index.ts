/**
 * arena: games, a search, a small network and its trainer, and the built-in workload that is made of them. It knows no event
 * and no queue: a worker starts it behind the same protocol as anybody's program, and trusts it no further.
 *
 * It guarantees that every game is proven by perft and by properties; that the same seed, model and config give the
 * same bytes in any process, with or without a JIT; that a file is read whole and checked, or refused with a typed
 * error; and that the baselines never change, so that a rating means the same next year.
 *
 * Games are played on one flat state array (`Game`). `createSearch` is PUCT for two to four players over an
 * `Evaluator`; `createNetwork` and `createTrainer` learn from `Samples`; `selfPlay` makes them. `createArenaConsole` is what the commands talk to.
 *
 * `jobs/` is the program. Five kinds of job: `selfplay` makes games and rows, `validation` judges them, `export` makes
 * training files of them, `training` learns from those, `evaluation` plays matches. A job's artifacts and metrics follow from
 * its kind, config, seed, parameters and inputs alone, byte for byte, whatever a resident child remembers; games and blocks
 * are numbered within their seed, so that a batch may be cut into jobs of any size; a round made of these jobs is, number for
 * number, a round of the bare loop; and a result of nothing (no games, no rows, losses that are no numbers) is a typed failure.
 */
export { type ArenaConsole, createArenaConsole } from "./console/console.ts";
export type { Table } from "./console/table.ts";
export { formatOfName, MODEL_FORMATS } from "./files/foreign-model.ts";
export { decodeModel, encodeModel } from "./files/model-file.ts";
export { decodeNpz, encodeNpz } from "./files/npz.ts";
export { decodeSamples, encodeSamples } from "./files/samples-file.ts";
export { CONFIG_KEYS, createGame, DEFAULT_CONFIG_KEY } from "./games/catalog.ts";
export type { Game } from "./games/game.ts";
export { arenaDeclaration } from "./jobs/declaration.ts";
export { arenaWorkload } from "./jobs/workload.ts";
export { DEFAULT_LOOP } from "./play/defaults.ts";
export type { MadeSegment } from "./reading/segments.ts";
export {
  createStructureReader,
  type FilePlace,
  type ModelRule,
  type StructureReader,
} from "./reading/structure-reader.ts";
