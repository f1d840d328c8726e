/**
 * arena-process: the built-in games behind the same protocol as anybody's program. A worker starts them like any other
 * workload and trusts them no further.
 *
 * Five kinds of job: `selfplay` makes games and rows, `validation` judges them, `export` makes training files of them,
 * `training` learns from those, `evaluation` plays matches.
 *
 * It guarantees that a job's artifacts and metrics follow from its kind, config, seed, parameters and inputs alone, byte
 * for byte, whatever a resident child remembers; that games and blocks are numbered within their seed, so that a batch may
 * be cut into jobs of any size; that a round made of these jobs is, number for number, a round of the bare loop; and that
 * a result of nothing (no games, no rows, losses that are no numbers) is a typed failure.
 *
 * `faulty/` is the same with harm done on purpose, and a program of its own.
 */
export { ARENA_KINDS, arenaDeclaration } from "./declaration.ts";
export { arenaWorkload } from "./workload.ts";
